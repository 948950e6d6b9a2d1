# SPDX-License-Identifier: Apache-2.0
"""`assay export`: a run or a history for monitoring."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
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
from reports.render.formats import openmetrics
from reports.result import Sample
from reports.verdicts.choice.forms import count_samples, run_samples
from reports.verdicts.nightly.check import newest_night
from reports.verdicts.nightly.result import night_result


def export_command(arguments: argparse.Namespace) -> int:
    """Print or write the export."""
    source = Path(arguments.source)
    if source.is_file() or source.suffix == ".sqlite":
        samples = [*_history(source, arguments.site, arguments.campaign)]
    else:
        analysis = analyse(load_run(open_run(arguments.source).path))
        samples = [*run_samples(analysis, every=arguments.every)]
    return print_or_write(openmetrics(samples), arguments.output)


def _history(source: Path, site: str | None, campaign: str | None) -> Iterator[Sample]:
    """The campaigns of the file that are meant, each on its site, also one without a night."""
    with Store(source) as store:
        counts = {(of, name): count for of, name, count in store.groups(site, campaign)}
        missed = store.missed(site, campaign)
        groups = dict.fromkeys([*((one.site, one.campaign) for one in missed), *counts])
        if not groups:
            raise no_nights(source)
        for whose in groups:
            lost = [one for one in missed if (one.site, one.campaign) == whose]
            yield from count_samples(*whose, counts.get(whose, 0), len(lost))
            if whose in counts:
                history = read_history(store, *whose)
                yield from night_result(newest_night(history, str(source))).samples()


def declare_export(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `assay export`."""
    only = "of a history only this one; default: all"
    shared.declare(
        parser,
        export_command,
        argument(
            "source RUN",
            f"a run directory, a run id, or a history; default: {DEFAULT_HISTORY}",
            nargs="?",
            default=str(DEFAULT_HISTORY),
        ),
        flag("--every", "of a run all metrics, not the deciding ones alone"),
        argument("--campaign CAMPAIGN", only),
        site(None, only),
        argument("--output FILE", "write it there, whole or not at all", type=Path),
    )
