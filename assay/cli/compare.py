# SPDX-License-Identifier: Apache-2.0
"""`assay compare`: a run beside another run of its campaign."""

from __future__ import annotations

import argparse
from pathlib import Path

from assay.cli import arguments as shared
from assay.cli.arguments import HISTORY, JSON, argument
from assay.run.named_runs import MOST_OFFERED, fitting, run_of, unsaid
from assay.screens.pages import show_as_asked
from records.errors import ExitStatus
from records.run.run_directory import RunDirectory, open_run
from reports.verdicts.comparison.compare import compare
from reports.verdicts.comparison.result import comparison_result


def compare_command(arguments: argparse.Namespace) -> int:
    """`assay compare`: print and write the comparison of two runs."""
    found = compare(*_two_runs(arguments), arguments.history)
    result = comparison_result(found)
    show_as_asked(result, arguments)
    return ExitStatus.PASS


def _two_runs(arguments: argparse.Namespace) -> tuple[Path, Path]:
    """The runs that are compared. Raises AssayError with pairs that could be."""
    if arguments.run_a is None:
        newest, pairs = dict[str, str](), list[tuple[str, str]]()
        for run in fitting():
            campaign, name = run.plan().campaign, run.path.name
            if campaign in newest:
                pairs.append((f"assay compare {name} {newest[campaign]}", campaign))
            newest[campaign] = name
        none = "" if pairs else " No campaign has two runs below results/."
        raise unsaid(f"compare: which runs?{none}", ("runs of one campaign", pairs[:MOST_OFFERED]))
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
        argument("run_a RUN", "without any it is listed which runs are alike", nargs="?"),
        argument("run_b RUN", "default: the newest other run of the campaign", nargs="?"),
        argument("--html FILE", "also write it as a page", type=Path),
        argument("--markdown FILE", "also write it as Markdown", type=Path),
        *(HISTORY, JSON),
    )
