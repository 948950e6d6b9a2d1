# SPDX-License-Identifier: Apache-2.0
"""Tell if nodes are fit."""

from records.plugins import Command, Plugin

PLUGIN = Plugin(
    name="vetting",
    commands={
        "vet": Command(
            "whether nodes are fit, in a minute: facts and figures against their peers and before",
            "plugins.vetting.command:declare",
        )
    },
)
