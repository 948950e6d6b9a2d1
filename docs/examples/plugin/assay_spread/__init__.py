"""A plugin from outside: `assay spread RUN` names the value that varies most."""

from records.plugins import Command, Plugin

PLUGIN = Plugin(
    name="spread",
    commands={"spread": Command("the value that varies most", "assay_spread.verdict:declare")},
    hooks={"report_section": "assay_spread.verdict:section"},
)
