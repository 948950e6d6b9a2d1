# SPDX-License-Identifier: Apache-2.0
"""`assay compare`: a run beside another run of its campaign."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from assay.cli import arguments as shared
from assay.cli.arguments import HISTORY, JSON, RUN, argument
from assay.run.named_runs import run_of
from assay.screens.pages import print_result
from records.errors import ExitStatus
from records.run.run_directory import RunDirectory, open_run
from reports.render import html
from reports.render.files import write_file
from reports.verdicts.comparison import compare, comparison_result


def compare_command(arguments: argparse.Namespace) -> int:
    """`assay compare`: print and write the comparison of two runs."""
    comparison = compare(*_two_runs(arguments), arguments.history)
    result = comparison_result(comparison)
    print_result(result, as_json=arguments.json)
    if arguments.html:
        write_file(html.page(result), arguments.html)
        print(arguments.html, file=sys.stderr)
    return ExitStatus.PASS


def _two_runs(arguments: argparse.Namespace) -> tuple[Path, Path]:
    """The runs that are compared."""
    first = open_run(arguments.run_a)
    campaign = first.plan().campaign

    def fits(other: RunDirectory) -> bool:
        return other.plan().campaign == campaign and not other.path.samefile(first.path)

    kind = f"other run of {campaign}"
    return first.path, run_of(arguments.run_b, fits, kind, f"assay run {campaign}").path


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `assay compare`."""
    shared.declare(
        parser,
        compare_command,
        argument("run_a RUN", RUN),
        argument("run_b RUN", "default: the newest other run of the campaign", nargs="?"),
        argument("--html FILE", "also write it as a page", type=Path),
        *(HISTORY, JSON),
    )
