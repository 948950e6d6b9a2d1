# SPDX-License-Identifier: Apache-2.0
"""`assay report` and the end of `assay run`: a run's answer, its tables and plots in files.

`assay compare`: two runs of a campaign. `assay export`: a run or a history for monitoring.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from assay.cli.arguments import HISTORY, JSON, NEWEST, RUN, argument, declared, pictures
from assay.documents.report import FORMATS, Report, build_report, take_out
from assay.run.status import StatusForm, failed_for, run_of
from assay.screens.pages import print_or_write, print_result
from assay.screens.screen import Screen
from assay.screens.status import reasons, show_status
from records.errors import AssayError, ExitStatus
from records.forms import Form, as_text, key
from records.history import DEFAULT_HISTORY
from records.history.reading import read_history
from records.history.store import Store, no_nights
from records.run.run_directory import RunDirectory, open_run
from reports.analysis.run import analyse, bad_launches
from reports.load.loading import load_run
from reports.render import html
from reports.render.files import find_browser, write_file
from reports.render.formats import openmetrics
from reports.render.terminal import show
from reports.result import ON_TERMINAL, Sample, Section
from reports.verdicts.choice.forms import ReportForm, count_samples, report_form, run_samples
from reports.verdicts.comparison import compare, comparison_result
from reports.verdicts.nightly.judge import newest_night
from reports.verdicts.nightly.result import night_result


class RunForm(Form, kw_only=True):
    """`assay run`: how the run ended, and what it says."""

    status: Annotated[StatusForm, key("Progress of the run.")]
    report: Annotated[ReportForm | None, key("The answer and the report; null: none was written.")]
    exit_status: Annotated[
        int, key("0: every launch ended well; 1: some did not, or some are missing.")
    ]


def report_command(arguments: argparse.Namespace) -> int:
    """`assay report`: write the files, print the answer."""
    run = run_of(arguments.run_name)
    if arguments.pictures is not None:
        if arguments.json:
            raise AssayError("--pictures writes no report, of which --json tells; leave one out")
        written = take_out(run.path, arguments.pictures)
        print(*written, sep="\n")
        return ExitStatus.PASS
    formats = tuple(arguments.format or (FORMATS if find_browser() else FORMATS[:-1]))
    made = build_report(run.path, arguments.out, formats)
    if arguments.json:
        print(as_text(report_form(made.analysis, made.files)), end="")
    else:
        _show(made)
    if not arguments.format and "pdf" not in formats:
        print("no report.pdf: no Chromium found (apt-get install chromium)", file=sys.stderr)
    return ExitStatus.PASS


def _show(made: Report) -> None:
    """The answer with what carries it, bad launches by reason, the page and the files with it."""
    screen, run = Screen(), made.analysis.run
    launches = [(one, run.case(one)) for one in bad_launches(run)]
    bad = [(one.status, one.reason, case.environment, case.check, None) for one, case in launches]
    why = reasons(failed_for(bad), str(run.directory), screen.width)
    section = Section("reasons", "", lambda: why, shown_on=ON_TERMINAL)
    show(replace(made.result, sections=[*made.result.sections, section]), screen)
    page = made.files.get("html")
    others = [path for name, path in made.files.items() if name != "html"]
    if page:
        screen.line(("page: ", "quiet"), page, indent=2, hang=2)
        names = ", ".join(Path(path).name for path in others)
        if names:
            screen.line(("with it: ", "quiet"), names, indent=2, hang=2)
        return
    for path in others:
        screen.line(path, indent=2)


def end(status: StatusForm, code: ExitStatus, *, report: bool, as_json: bool) -> None:
    """Tell how a run ended and what it says; it stays as it is if its report cannot be written."""
    made = _report_of(status.run) if report else None
    if as_json:
        told = report_form(made.analysis, made.files) if made else None
        form = RunForm(status=status, report=told, exit_status=int(code))
        print(as_text(form), end="")
    elif made is None:
        show_status(Screen(), status)
    else:
        _show(made)


def _report_of(run: str) -> Report | None:
    """All files but the PDF, which takes a browser's time: `assay report` prints it."""
    try:
        return build_report(Path(run))
    except AssayError as error:
        print(f"assay: no report: {error}; try again: assay report {run}", file=sys.stderr)
        return None


declare = declared(
    report_command,
    NEWEST,
    argument("--format", None, action="append", choices=FORMATS),
    argument("--out", "folder; default: RUN/report", type=Path),
    pictures("of the page", only=True),
    JSON,
)


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


declare_compare = declared(
    compare_command,
    argument("run_a RUN", RUN),
    argument("run_b RUN", "default: the newest other run of the campaign", nargs="?"),
    argument("--html FILE", "also write it as a page", type=Path),
    *(HISTORY, JSON),
)


def export_command(arguments: argparse.Namespace) -> int:
    """Print or write the export."""
    source = Path(arguments.source)
    if source.is_file() or source.suffix == ".sqlite":
        samples = [*_history(source)]
    else:
        analysis = analyse(load_run(open_run(arguments.source).path))
        samples = [*run_samples(analysis)]
    return print_or_write(openmetrics(samples), arguments.output)


def _history(source: Path) -> Iterator[Sample]:
    """The campaigns of the file, each on its site, also one without a night."""
    with Store(source) as store:
        counts = {(site, campaign): count for site, campaign, count in store.groups()}
        missed = Counter((night.site, night.campaign) for night in store.missed(None, None))
        groups = dict.fromkeys([*missed, *counts])
        if not groups:
            raise no_nights(source)
        for whose in groups:
            yield from count_samples(*whose, counts.get(whose, 0), missed[whose])
            if whose in counts:
                history = read_history(store, *whose)
                yield from night_result(newest_night(history, str(source))).samples()


declare_export = declared(
    export_command,
    argument(
        "source RUN",
        f"a run directory, a run id, or a history; default: {DEFAULT_HISTORY}",
        nargs="?",
        default=str(DEFAULT_HISTORY),
    ),
    argument("--output FILE", "write it there, whole or not at all", type=Path),
)
