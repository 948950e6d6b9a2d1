# SPDX-License-Identifier: Apache-2.0
"""The table of commands, and the parser made from it."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from importlib import import_module
from typing import Any

#: Command → the module whose `add_arguments` declares its arguments and sets `run`, and its help.
#: `run` is a function, or its name "module:function" where that module is slow to load.
COMMANDS = {
    "doctor": ("assay.cli.doctor", "missing requirements, and the command that fixes each"),
    "cluster": ("virtual_cluster.command", "a virtual Slurm cluster on this machine"),
    "plan": ("assay.cli.plan", "what would run on a site, and what it costs"),
    "checks": ("assay.cli.checks", "list checks; with NAME, its parameters and metrics"),
    "build": ("assay.cli.build", "build a site's MPI libraries and our programs on each"),
    "mirror": ("assay.cli.mirror", "the source mirror, for builds without the web"),
    "run": ("assay.cli.run", "run a campaign on a site, or go on with a run"),
    "status": ("assay.cli.status", "progress, failures, time left of a run"),
    "raw": ("assay.cli.raw", "the raw output of one launch, proven against its record"),
    "report": ("assay.cli.report", "tables, plots and verdicts of a run"),
    "compare": ("assay.cli.compare", "two runs of one campaign side by side"),
    "paper": ("assay.cli.paper", "a published study compared with a run: tables, figures, claims"),
    "predict": ("assay.cli.predict", "time on node counts that a run did not measure"),
    "export": ("assay.cli.export", "a run or a history for Prometheus and InfluxDB"),
    "history": ("assay.cli.history", "nightly series: is tonight worse, since when"),
    "site": ("assay.cli.site", "write a site's configuration, or prove it again"),
    "nightly": ("assay.cli.nightly", "the nightly run and its schedule"),
    "accept": ("assay.cli.accept", "acceptance verdict and document of a run"),
    "verify": (
        "assay.cli.verify",
        "recompute the checksums and every verdict of an acceptance from the records",
    ),
    "schema": (
        "assay.cli.schema",
        "print the JSON Schema of what people write, or of what --json prints",
    ),
    "completion": ("assay.cli.completion", "completion for bash and zsh"),
}
_EPILOG = (
    "exit status: 0 done and PASS, 1 judged FAIL or launches failed, 2 bad input or usage,"
    " 3 INCONCLUSIVE, 4 the infrastructure failed"
)


class _Parser(argparse.ArgumentParser):
    """Without the colours of newer versions of Python: what is printed is plain."""

    def __init__(self, *words: Any, **options: Any) -> None:
        super().__init__(*words, **options)
        self.color = False


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from importlib.metadata import version  # slow: parsers of mail and archives

        print(f"assay {version('assay')}")
        parser.exit()


def make_parser(complete: Collection[str]) -> argparse.ArgumentParser:
    """The parser of all commands; those in `complete` get their arguments, others only a name.

    Declaring a command's arguments imports what the command needs, some of it slow to load.
    """
    parser = _Parser(
        prog="assay", description="Evaluation campaigns for HPC clusters.", epilog=_EPILOG
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (module, text) in COMMANDS.items():
        command = subparsers.add_parser(name, help=text, description=text)
        if name in complete:
            import_module(module).add_arguments(command)
    return parser
