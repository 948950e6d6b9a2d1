# SPDX-License-Identifier: Apache-2.0
"""Suites of ReFrame, and its logs."""

from records.plugins import Command, Plugin

PLUGIN = Plugin(
    name="reframe",
    commands={
        "reframe": Command(
            "suites of ReFrame, its logs imported and surveyed, runs exported to it",
            "plugins.reframe.command:declare",
        )
    },
    forms={
        "reframe-import": "plugins.reframe.survey.forms:ImportForm",
        "reframe-suite": "plugins.reframe.suite_on_site:SuiteForm",
        "reframe-survey": "plugins.reframe.survey.forms:SurveyForm",
    },
)
