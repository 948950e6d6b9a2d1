# SPDX-License-Identifier: Apache-2.0
"""Profile of what an application asks of MPI."""

from records.plugins import Command, Plugin

PLUGIN = Plugin(
    name="profile",
    commands={
        "profile": Command(
            "what an application asks of MPI: calls, sizes, ranks, time, wait; in one small file",
            "plugins.profile.command:declare",
        )
    },
    hooks={
        "check_parts": "plugins.profile.pictures:check_parts",
        "mpi_profile": "plugins.profile.rank_profile:read_profile",
    },
    forms={"profile": "plugins.profile.application_profile:ApplicationProfile"},
)
