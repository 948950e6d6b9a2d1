# SPDX-License-Identifier: Apache-2.0
"""Commands in the order of use, each with the function that declares its arguments, and the parser
of the command line."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from typing import Any

from records.errors import AssayError, ExitStatus
from records.plugins import Command, loaded, plugins

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
    "status": Command("progress, failures, time left of a run", "assay.cli.status:declare"),
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
    "export": Command("a run or a history for Prometheus", "assay.cli.export:declare"),
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
    "raw": "`unzip -p RUN/raw/bBLOCK.zip 'CASE.*'`; `assay verify RUN` proves it",
}


def plugin_commands() -> dict[str, Command]:
    """Commands that plugins add."""
    every = (plugin.commands.items() for plugin in plugins().values())
    return dict(item for items in every for item in items)


_EPILOG = "\n".join(["exit status:", *(f"  {one:d}  {one.meaning}" for one in ExitStatus)])


class _Parser(argparse.ArgumentParser):
    """Without the colours of newer versions of Python: what is printed is plain."""

    def __init__(self, *words: Any, **options: Any) -> None:
        super().__init__(*words, **options)
        self.color = False


def _formatter(prog: str) -> argparse.HelpFormatter:
    """Lines of the epilog as they are, and each command in a line with its help."""
    found = argparse.RawDescriptionHelpFormatter(prog)
    found._action_max_length = 4 + max(map(len, COMMANDS))
    return found


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from importlib.metadata import version  # slow: parsers of mail and archives

        print(f"assay {version('assay')}")
        parser.exit()


class _Completion(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *given: Any) -> None:
        from assay.cli import completion  # slow: campaigns, checks

        if self.dest == "names":
            completion.print_names(given[1])
        else:
            completion.print_script(make_parser({*COMMANDS, *plugin_commands()}), given[1])
        parser.exit()


def make_parser(complete: Collection[str]) -> argparse.ArgumentParser:
    """The parser of all commands; those in `complete` get their arguments, others only a name.

    Raises AssayError where `complete` has the former name of a command.
    """
    further = plugin_commands()
    for word in complete:
        if word in RENAMED and word not in further:
            raise AssayError(f"{word}: this command is now {RENAMED[word]}")
    parser = _Parser(
        prog="assay",
        description="Evaluation campaigns for HPC clusters.",
        epilog=f"commands of plugins: {', '.join(further)}\n\n{_EPILOG}",
        formatter_class=_formatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    parser.add_argument(
        "--print-completion",
        action=_Completion,
        choices=["bash", "zsh"],
        help="print the completion script of a shell and exit",
    )
    parser.add_argument("--names", action=_Completion, help=argparse.SUPPRESS)
    subparsers = parser.add_subparsers(
        title="commands, in the order of use", dest="command", required=True, metavar="COMMAND"
    )
    for name, command in {**COMMANDS, **further}.items():
        below = subparsers.add_parser(name, help=command.text, description=command.text)
        if name in complete:
            loaded(command.declare)(below)
    return parser
