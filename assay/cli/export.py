# SPDX-License-Identifier: Apache-2.0
"""`assay export`: a run or a history for monitoring."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from assay.nightly.silence import campaigns_of
from records.errors import AssayError, ExitStatus, InfrastructureError
from records.files import write_whole
from records.history.model import History, Missed
from records.history.reading import read_history
from records.history.store import Store
from records.run.run_directory import open_run
from reports.analysis import analyse
from reports.export import (
    Point,
    count_samples,
    line_protocol,
    missed_points,
    night_points,
    run_points,
    run_samples,
)
from reports.load.loading import load_run
from reports.render.metrics import openmetrics
from reports.result import Sample
from reports.verdicts.nightly.check import newest_night
from reports.verdicts.nightly.result import night_result


@dataclass(frozen=True)
class _Group:
    """A campaign on a site with its nights, None where it never had one."""

    site: str
    campaign: str
    history: History | None
    missed: list[Missed]


def export_command(arguments: argparse.Namespace) -> int:
    """Print or write the export."""
    source = Path(arguments.source)
    told = _history(arguments, source) if _is_history(source) else _run(arguments)
    if arguments.output is None:
        print(told, end="")
        return ExitStatus.PASS
    try:
        write_whole(arguments.output, told.encode())
    except OSError as error:
        raise InfrastructureError(
            f"{arguments.output}: could not be written ({error.strerror}); give another file"
        ) from error
    return ExitStatus.PASS


def _is_history(source: Path) -> bool:
    """Whether a history is meant: a file, or the name of one."""
    return source.is_file() or source.suffix == ".sqlite"


def _run(arguments: argparse.Namespace) -> str:
    analysis = analyse(load_run(open_run(arguments.source).path))
    if arguments.format == "influx":
        return line_protocol(run_points(analysis, every=arguments.every))
    return openmetrics(run_samples(analysis, every=arguments.every))


def _history(arguments: argparse.Namespace, source: Path) -> str:
    with Store(source) as store:
        groups = list(_groups(arguments, store))
    if not groups:
        raise AssayError(f"{source} holds no nights of this; see: assay history show")
    if arguments.format == "influx":
        points = chain.from_iterable(map(_points, groups))
        return line_protocol(points)
    return openmetrics(chain.from_iterable(_samples(group, str(source)) for group in groups))


def _samples(group: _Group, source: str) -> Iterator[Sample]:
    nights = len(group.history.nights) if group.history else 0
    yield from count_samples(group.site, group.campaign, nights, len(group.missed))
    if group.history:
        yield from night_result(newest_night(group.history, source)).samples()


def _points(group: _Group) -> Iterator[Point]:
    if group.history:
        yield from night_points(group.history)
    yield from missed_points(group.missed)


def _groups(arguments: argparse.Namespace, store: Store) -> Iterator[_Group]:
    """Each campaign in the file that is meant."""
    with_nights = {(site, campaign) for site, campaign, _ in store.groups()}
    for whose in campaigns_of(store, arguments.site, arguments.campaign):
        history = read_history(store, *whose) if whose in with_nights else None
        yield _Group(*whose, history, store.missed(*whose))
