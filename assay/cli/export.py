# SPDX-License-Identifier: Apache-2.0
"""`assay export`: a run or a history for monitoring, or for those who use ReFrame."""

from __future__ import annotations

import argparse
from pathlib import Path

from assay.nightly.silence import campaigns_of
from assay.terminal import say
from plugins.reframe.export import (
    performance_logs,
    references,
    references_text,
    reframe_report,
)
from plugins.reframe.importing import surveyed_history, surveys_of
from plugins.reframe.survey.survey import LEAST_OF_A_LIMIT
from records.errors import AssayError, ExitStatus, InfrastructureError
from records.files import write_whole
from records.forms import as_text
from records.history.reading import read_history
from records.history.store import Store, no_nights
from records.run.run_directory import open_run
from reports.analysis.run import analyse
from reports.load.loading import load_run
from reports.render.files import write_folder
from reports.render.metrics import openmetrics
from reports.result import Sample
from reports.verdicts.export import (
    Point,
    count_samples,
    line_protocol,
    missed_points,
    night_points,
    run_points,
    run_samples,
)
from reports.verdicts.nightly.check import newest_night
from reports.verdicts.nightly.result import night_result


def export_command(arguments: argparse.Namespace) -> int:
    """Print or write the export."""
    if arguments.source == "references":
        return _references(arguments)
    if arguments.reframe:
        return _reframe(arguments)
    source = Path(arguments.source)
    is_history = source.is_file() or source.suffix == ".sqlite"
    text = _history(arguments, source) if is_history else _run(arguments)
    return _written(text, arguments.output)


def _written(text: str, output: Path | None) -> int:
    """Print the text, or write it whole or not at all."""
    if output is None:
        print(text, end="")
        return ExitStatus.PASS
    try:
        write_whole(output, text.encode())
    except OSError as error:
        raise InfrastructureError(
            f"{output}: could not be written ({error.strerror}); give another file"
        ) from error
    return ExitStatus.PASS


def _references(arguments: argparse.Namespace) -> int:
    """`assay export references`: those that a history supports."""
    history = surveyed_history(arguments.history)
    found = references(surveys_of(history, arguments.site, arguments.campaign))
    if not found:
        raise AssayError(
            f"{history} has no figure with {LEAST_OF_A_LIMIT} imported launches at its present"
            " level; import more: assay history import"
        )
    suffix = arguments.output.suffix if arguments.output else ""
    return _written(references_text(found, suffix), arguments.output)


def _reframe(arguments: argparse.Namespace) -> int:
    """`assay export RUN --reframe`: a report and performance logs, in a folder."""
    run = open_run(arguments.source)
    report = reframe_report(run.records(), run.provenance(), run.path.name)
    folder = arguments.output or run.path / "reframe"
    files = {"report.json": as_text(report), **performance_logs(report)}
    write_folder(folder, files)
    for name in files:
        say(str(folder / name))
    return ExitStatus.PASS


def _run(arguments: argparse.Namespace) -> str:
    analysis = analyse(load_run(open_run(arguments.source).path))
    if arguments.format == "influx":
        return line_protocol(run_points(analysis, every=arguments.every))
    return openmetrics(run_samples(analysis, every=arguments.every))


def _history(arguments: argparse.Namespace, source: Path) -> str:
    """The campaigns of the file that are meant, each on its site, also one without a night."""
    samples, points = list[Sample](), list[Point]()
    with Store(source) as store:
        with_nights = {(site, campaign) for site, campaign, _ in store.groups()}
        groups = campaigns_of(store, arguments.site, arguments.campaign)
        for whose in groups:
            history = read_history(store, *whose) if whose in with_nights else None
            missed, nights = store.missed(*whose), len(history.nights) if history else 0
            if arguments.format == "influx":
                points += [*(night_points(history) if history else ()), *missed_points(missed)]
                continue
            samples += count_samples(*whose, nights, len(missed))
            if history:
                samples += night_result(newest_night(history, str(source))).samples()
    if not groups:
        raise no_nights(source)
    return line_protocol(points) if arguments.format == "influx" else openmetrics(samples)
