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
    hooks={
        "brought_check": "plugins.reframe.classes:BROUGHT",
        "campaign": "plugins.reframe.suites:with_suites",
        "session_configure": "plugins.reframe.classes.derived:configure",
        "session_prepare": "plugins.reframe.classes.derived:install",
        "session_test": "plugins.reframe.classes.derived:maker_of",
        "session_task_end": "plugins.reframe.classes.outcomes:report",
    },
    forms={
        "reframe-import": "plugins.reframe.survey_launches:ImportForm",
        "reframe-suite": "plugins.reframe.suite_cases:SuiteForm",
        "reframe-survey": "plugins.reframe.survey_launches:SurveyForm",
    },
)
