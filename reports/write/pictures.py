# SPDX-License-Identifier: Apache-2.0
"""All pictures of a run's report taken out, for slides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from reports.analysis import Analysis, analyse
from reports.checks.sections import check_parts
from reports.load.loading import load_run
from reports.show.choice.pictures import factors_picture, forest, score_picture
from reports.show.invalid import invalid_picture
from reports.show.panel import Picture
from reports.show.slides import write_pictures


def take_out(run_dir: Path, folder: Path, checks: Sequence[Path] = ()) -> list[Path]:
    """Write each picture of the run's report into `folder` as SVG and PNG; gives the files.

    Raises AssayError as load_run does, InfrastructureError when a file cannot be written.
    """
    analysis = analyse(load_run(run_dir))
    found = list(_of_choice(analysis))
    parts, _ = check_parts(analysis, checks)
    found += [picture for part in parts for picture in part.pictures]
    return write_pictures(found, analysis.looks, folder)


def _of_choice(analysis: Analysis) -> Iterator[Picture]:
    score = score_picture(analysis)
    if score is not None:
        caption = "Σ w·T over that of the reference; bars: intervals; in brackets: places."
        yield Picture("picture-score", "Overall cost of each environment", caption, [score], [])
    for make in (factors_picture, forest, invalid_picture):
        if (picture := make(analysis)) is not None:
            yield picture
