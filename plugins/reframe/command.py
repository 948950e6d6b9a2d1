# SPDX-License-Identifier: Apache-2.0
"""`assay reframe`: suites listed, logs imported and surveyed, runs and references exported."""

from __future__ import annotations

import argparse
from pathlib import Path

from assay.cli.arguments import JSON, NEWEST, Verbs, argument, flag, repeated, site
from assay.run.named_runs import run_of
from assay.screens.pages import print_form, print_or_write, show_pages
from assay.terminal import say
from plugins.reframe.export import performance_logs, references, references_text, reframe_report
from plugins.reframe.importing import import_files, surveyed_history, surveys_of
from plugins.reframe.suite_listing import suite_command
from plugins.reframe.survey.result import survey_result
from plugins.reframe.survey.survey import LEAST_OF_A_LIMIT
from records.errors import AssayError, ExitStatus
from records.forms import as_text
from records.history import DEFAULT_HISTORY, IMPORTED_HISTORY
from reports.notation.units import count_text
from reports.render.files import write_folder


def import_command(arguments: argparse.Namespace) -> int:
    """`assay reframe import`: take in what ReFrame logged."""
    form = import_files(arguments.history, arguments.paths, arguments.zone)
    unread = [f"  {one.file}, line {one.line}: {one.reason}" for one in form.unread_parts[:10]]
    more = form.unread - len(unread)
    return print_form(
        form,
        f"{form.history}: {count_text(form.added, 'launch')} added,"
        f" {form.known} known already, of {count_text(form.files, 'file')}:"
        f" {count_text(form.nights, 'night')}, {count_text(form.series, 'series')}",
        f"no number: {count_text(form.not_numbers, 'figure')}" if form.not_numbers else "",
        f"not read: {count_text(form.unread, 'line')}" if form.unread else "",
        *unread,
        f"  and {more} more; --json lists a hundred" if more else "",
        as_json=arguments.json,
    )


def survey_command(arguments: argparse.Namespace) -> int:
    """`assay reframe survey`: a history as a whole."""
    history = surveyed_history(arguments.history)
    result = survey_result(surveys_of(history, arguments.site, arguments.campaign))
    folder = arguments.out or history.parent / "reframe-survey"
    show_pages(result, folder, as_json=arguments.json)
    return ExitStatus.PASS


def references_command(arguments: argparse.Namespace) -> int:
    """`assay reframe references`: those that a history supports."""
    history = surveyed_history(arguments.history)
    found = references(surveys_of(history, arguments.site, arguments.campaign))
    if not found:
        raise AssayError(
            f"{history} has no figure with {LEAST_OF_A_LIMIT} imported launches at its present"
            " level; import more: assay reframe import"
        )
    suffix = arguments.output.suffix if arguments.output else ""
    return print_or_write(references_text(found, suffix), arguments.output)


def export_command(arguments: argparse.Namespace) -> int:
    """`assay reframe export`: a report and performance logs, in a folder."""
    run = run_of(arguments.run_name)
    report = reframe_report(run.records(), run.provenance(), run.path.name)
    folder = arguments.output or run.path / "reframe"
    files = {"report.json": as_text(report), **performance_logs(report)}
    write_folder(folder, files)
    for name in files:
        say(str(folder / name))
    return ExitStatus.PASS


_HISTORY = argument(
    "--history", f"default: {IMPORTED_HISTORY} if it is there, else {DEFAULT_HISTORY}", type=Path
)
_OF_ONE = (
    argument("--campaign CAMPAIGN", "only this one; default: all"),
    site(None, "only this one; default: all"),
)


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the commands below `assay reframe`."""
    verbs = Verbs(parser)
    verbs.add(
        "suite",
        "list the test classes of a suite, and which of them a site can run",
        suite_command,
        argument(
            "path PATH",
            "a folder or a file; each file is loaded by a process of its own with your rights",
            type=Path,
        ),
        site(None, "say which classes this site can run"),
        repeated("--env NAME=VALUE", "a variable that the suite's files read; may be repeated"),
        flag("--network", "let the suite's files use the network while they are loaded"),
        JSON,
    )
    verbs.add(
        "import",
        "take in performance logs, reports or the database of ReFrame",
        import_command,
        argument("paths PATH", "a file, or a folder of such", type=Path, nargs="+"),
        argument("--history", f"default: {IMPORTED_HISTORY}", type=Path, default=IMPORTED_HISTORY),
        argument(
            "--zone ZONE", "of times without one, e.g. Europe/Zurich; default: this machine's"
        ),
        JSON,
    )
    verbs.add(
        "survey",
        "one page of a history: changes, noise, references, slow nodes, flaky tests",
        survey_command,
        _HISTORY,
        *_OF_ONE,
        argument("--out", "folder of the page; default: next to the history", type=Path),
        JSON,
    )
    verbs.add(
        "references",
        "references that an imported history supports",
        references_command,
        _HISTORY,
        *_OF_ONE,
        argument("--output FILE", "write it there: .py, .yaml or .json", type=Path),
    )
    verbs.add(
        "export",
        "a run as ReFrame's report and performance logs",
        export_command,
        NEWEST,
        argument("--output DIR", "default: RUN/reframe", type=Path),
    )
