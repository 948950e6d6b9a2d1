# SPDX-License-Identifier: Apache-2.0
"""`assay export`: a run or a history for monitoring."""

from __future__ import annotations

import argparse
from pathlib import Path

from assay.cli import arguments as shared
from assay.cli.arguments import argument, flag, site
from assay.screens.pages import print_or_write
from records.history import DEFAULT_HISTORY
from records.history.reading import read_history
from records.history.store import Store, no_nights
from records.run.run_directory import open_run
from reports.analysis.run import analyse
from reports.load.loading import load_run
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
    source = Path(arguments.source)
    is_history = source.is_file() or source.suffix == ".sqlite"
    text = _history(arguments, source) if is_history else _run(arguments)
    return print_or_write(text, arguments.output)


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
        groups = _campaigns(store, arguments.site, arguments.campaign)
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


def _campaigns(store: Store, site: str | None, campaign: str | None) -> list[tuple[str, str]]:
    """Site and campaign of each history that is meant, the one added last at the end; before them
    those that never had a night."""
    known = [(its_site, its_campaign) for its_site, its_campaign, _ in store.groups(site, campaign)]
    tried = dict.fromkeys((one.site, one.campaign) for one in store.missed(site, campaign))
    return [*(whose for whose in tried if whose not in known), *known]


EXPORT_FORMATS = ("openmetrics", "influx")
_ONLY = "of a history only this one; default: all"


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `assay export`."""
    shared.declare(
        parser,
        export_command,
        argument(
            "source RUN",
            f"a run directory, a run id, or a history; default: {DEFAULT_HISTORY}",
            nargs="?",
            default=str(DEFAULT_HISTORY),
        ),
        argument(
            "--format", "default: %(default)s", choices=EXPORT_FORMATS, default=EXPORT_FORMATS[0]
        ),
        flag("--every", "of a run all metrics, not the deciding ones alone"),
        argument("--campaign CAMPAIGN", _ONLY),
        site(None, _ONLY),
        argument(
            "--output FILE",
            "write it there, whole or not at all",
            type=Path,
        ),
    )
