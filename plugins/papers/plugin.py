# SPDX-License-Identifier: Apache-2.0
"""Five published studies compared with runs."""

from records.plugins import Command, Plugin

PLUGIN = Plugin(
    name="papers",
    commands={
        "paper": Command(
            "a published study compared with a run: tables, figures, claims",
            "plugins.papers.command:declare",
        )
    },
    hooks={
        "check_parts": "plugins.papers.originals:check_parts",
        "next_command": "plugins.papers.result:next_command",
        "report_section": "plugins.papers.result:report_section",
    },
    forms={"paper": "plugins.papers.result:PaperForm"},
)
