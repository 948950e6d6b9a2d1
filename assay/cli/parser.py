# SPDX-License-Identifier: Apache-2.0
"""The table of commands, and the parser made from it."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection
from importlib import import_module
from typing import Any

from assay.cli import declarations

#: Command → the function that declares its arguments and sets `run`, and its help. Both functions
#: may be named "module:function", to be loaded when they are called.
COMMANDS: dict[str, tuple[Callable[[argparse.ArgumentParser], None] | str, str]] = {
    "doctor": (declarations.doctor, "missing requirements, and the command that fixes each"),
    "cluster": ("virtual_cluster.command:add_arguments", "a virtual Slurm cluster on this machine"),
    "plan": (declarations.plan, "what would run on a site, and what it costs"),
    "checks": (declarations.checks, "list checks; with NAME, its parameters and metrics"),
    "build": (declarations.build, "build a site's MPI libraries and our programs on each"),
    "mirror": (declarations.mirror, "the source mirror, for builds without the web"),
    "run": (declarations.run, "run a campaign on a site, or go on with a run"),
    "status": (declarations.status, "progress, failures, time left of a run"),
    "raw": (declarations.raw, "the raw output of one launch, proven against its record"),
    "report": (declarations.report, "tables, plots and verdicts of a run"),
    "compare": (declarations.compare, "two runs of one campaign side by side"),
    "paper": (declarations.paper, "a published study compared with a run: tables, figures, claims"),
    "predict": (declarations.predict, "time on node counts that a run did not measure"),
    "export": (declarations.export, "a run or a history for Prometheus and InfluxDB"),
    "history": (declarations.history, "nightly series: is tonight worse, since when"),
    "site": (declarations.site, "write a site's configuration, or prove it again"),
    "nightly": (declarations.nightly, "the nightly run and its schedule"),
    "accept": ("assay.cli.accept:add_arguments", "acceptance verdict and document of a run"),
    "verify": (
        declarations.verify,
        "recompute the checksums and every verdict of an acceptance from the records",
    ),
    "schema": (
        declarations.schema,
        "print the JSON Schema of what people write, or of what --json prints",
    ),
    "completion": (declarations.completion, "completion for bash and zsh"),
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


def loaded(function: Callable[..., Any] | str) -> Callable[..., Any]:
    """The function, imported if it is named "module:function"."""
    if not isinstance(function, str):
        return function
    module, _, name = function.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), name)
    return found


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from importlib.metadata import version  # slow: parsers of mail and archives

        print(f"assay {version('assay')}")
        parser.exit()


def make_parser(complete: Collection[str]) -> argparse.ArgumentParser:
    """The parser of all commands; those in `complete` get their arguments, others only a name."""
    parser = _Parser(
        prog="assay", description="Evaluation campaigns for HPC clusters.", epilog=_EPILOG
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (declare, text) in COMMANDS.items():
        command = subparsers.add_parser(name, help=text, description=text)
        if name in complete:
            loaded(declare)(command)
    return parser
