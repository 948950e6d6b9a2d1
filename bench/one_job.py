# SPDX-License-Identifier: Apache-2.0
"""A campaign with a job for each launch, and again in one job (goal: no verdict contradicted).

python -m bench one_job [CAMPAIGN] [OPTION of assay run …]; without words `quick`. Brings a cluster
of four nodes up, runs the campaign in both ways and prints wall times, what a launch costs beyond
itself, and the verdicts side by side. Needs root. Exits 1 where one way calls faster what the other
calls slower.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.on_cluster import assay, on_cluster, run
from bench.overhead import gap_row, gaps_s
from bench.rows import Row, printed
from records.record import read_records
from virtual_cluster import ClusterSpec

_OPPOSITE = {"faster": "slower", "slower": "faster"}


@dataclass(frozen=True)
class Way:
    """One run of the campaign: its folder, its wall time, its verdicts."""

    run: Path
    wall_s: float
    verdicts: dict[str, Any]

    def words(self) -> dict[str, str]:
        """The verdict of each comparison, overall and of each check."""
        choice = self.verdicts["choice"]
        found = [*choice["overall"], *choice["groups"]]
        names = ("scope", "label", "environment", "reference")
        return {", ".join(str(one[name]) for name in names): one["verdict"] for one in found}


def rows(words: list[str]) -> Iterator[Row]:
    """What both ways give."""
    with on_cluster(ClusterSpec(f"one-{os.getpid()}", nodes=4)) as (cluster, folder):
        site = ("--site", f"virtual:{cluster.name}")
        asked = [*(words or ["quick"]), *site, "--no-report"]
        jobs = _ran(folder, asked)
        one_job = _ran(folder, [*asked, "--in-one-job"])
        for what, way in (("a job each", jobs), ("one job", one_job)):
            kinds = [record.status for record in read_records(way.run / "records.jsonl")]
            told = f"{way.wall_s:.0f} s, {len(kinds)} records, {kinds.count('ok')} ok"
            yield Row(f"{what}: wall time, builds among it", "", told)
            yield gap_row("… a launch beyond itself", gaps_s(way.run))
            yield Row("… its answer", "", way.verdicts["answer"]["sentence"])
        yield Row(
            "wall time of the first over the second", "", f"{jobs.wall_s / one_job.wall_s:.2f}"
        )
        yield from _held(jobs.words(), one_job.words())


def _ran(folder: Path, words: list[str]) -> Way:
    begun = time.monotonic()
    made = run(folder, *words)
    wall_s = time.monotonic() - begun
    assay(folder, "report", str(made))
    return Way(made, wall_s, json.loads((made / "report/verdicts.json").read_text()))


def _held(one: dict[str, str], other: dict[str, str]) -> Iterator[Row]:
    """Verdicts of both ways that are the same, that contradict each other."""
    same = sum(one[what] == other.get(what) for what in one)
    yield Row("verdicts that are the same", "", f"{same} of {len(one)}")
    against = [what for what, word in one.items() if other.get(what) == _OPPOSITE.get(word, "?")]
    found = "; ".join(against) or "none"
    yield Row("verdicts that contradict each other", "none", found, not against, not against)


def main(arguments: list[str]) -> int:
    """Entry point; see the module's docstring."""
    return printed(rows(arguments))
