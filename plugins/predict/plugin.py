# SPDX-License-Identifier: Apache-2.0
"""Times on node counts that were not measured."""

from records.plugins import Command, Plugin

PLUGIN = Plugin(
    name="predict",
    commands={
        "predict": Command(
            "time on node counts that a run did not measure", "plugins.predict.command:declare"
        )
    },
    hooks={"check_parts": "plugins.predict.fits:check_parts"},
    forms={"predict": "plugins.predict.outcome:PredictionForm"},
)
