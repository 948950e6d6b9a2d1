# SPDX-License-Identifier: Apache-2.0
"""Names of commands, in the order of use, each with the function that declares its arguments."""

from __future__ import annotations

from records.plugins import Command, plugins

COMMANDS = {
    "doctor": Command(
        "missing requirements, and the command that fixes each", "assay.cli.doctor:declare"
    ),
    "site": Command(
        "describe a site, proven by jobs; lay out a folder of your own", "assay.cli.site:declare"
    ),
    "cluster": Command(
        "a virtual Slurm cluster on this machine", "virtual_cluster.command:add_arguments"
    ),
    "build": Command(
        "build a site's MPI libraries and our programs on each", "assay.cli.build:declare"
    ),
    "checks": Command(
        "list checks, and what each measures; with CHECK all of one", "assay.cli.checks:declare"
    ),
    "plan": Command(
        "what would run on a site, and what it costs; without CAMPAIGN list them",
        "assay.cli.campaign:declare_plan",
    ),
    "run": Command(
        "run a campaign on a site, or go on with a run", "assay.cli.campaign:declare_run"
    ),
    "status": Command("progress, failures, time left of a run", "assay.cli.status:declare_status"),
    "raw": Command(
        "the raw output of one launch, proven against its record", "assay.cli.status:declare_raw"
    ),
    "report": Command("tables, plots and verdicts of a run", "assay.cli.report:declare"),
    "compare": Command("two runs of one campaign side by side", "assay.cli.compare:declare"),
    "accept": Command("acceptance verdict and document of a run", "assay.cli.accept:declare"),
    "verify": Command(
        "recompute checksums and verdicts of an acceptance", "assay.cli.verify:declare"
    ),
    "nightly": Command(
        "nightly runs: a schedule, a history, and whether tonight is worse, since when",
        "assay.cli.nightly:declare",
    ),
    "export": Command("a run or a history for Prometheus or InfluxDB", "assay.cli.export:declare"),
    "schema": Command(
        "the JSON Schema of what people write, or of what --json prints", "assay.cli.schema:declare"
    ),
}
#: Former names of commands → what serves now.
RENAMED = {
    "acceptance": "`assay contract`",
    "advise": "a campaign that runs the program on each library (docs/your-benchmark.md)",
    "campaigns": "`assay plan` without a campaign",
    "completion": "`assay --print-completion SHELL`",
    "history": "`assay nightly`; for import and report `assay reframe`",
    "init": "`assay site folder`",
    "mirror": "`assay build --mirror`",
}


def plugin_commands() -> dict[str, Command]:
    """Commands that plugins add."""
    every = (plugin.commands.items() for plugin in plugins().values())
    return dict(item for items in every for item in items)
