# SPDX-License-Identifier: Apache-2.0
"""A campaign with a job for each launch, and again in one job (goal: no verdict contradicted).

python -m bench one_job [CAMPAIGN] [OPTION of assay run …]; without words `quick`. Brings a cluster
of four nodes up, runs the campaign in both ways and prints wall times, what a launch costs beyond
itself, and the verdicts side by side. Exits 1 where one way calls faster what the other
calls slower.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator

from bench.on_cluster import assay, on_cluster, run
from bench.overhead import gap_row, gaps_s
from bench.rows import Row, printed
from records.run.record import read_records
from virtual_cluster import ClusterSpec

_OPPOSITE = {"faster", "slower"}
_KEYS = ("scope", "label", "environment", "reference")


def rows(words: list[str]) -> Iterator[Row]:
    """What both ways give."""
    took, verdicts = {}, []
    with on_cluster(ClusterSpec(f"one-{os.getpid()}", nodes=4)) as (cluster, folder):
        asked = [*(words or ["quick"]), "--site", f"virtual:{cluster.name}", "--no-report"]
        for what, options in (("a job each", []), ("one job", ["--in-one-job"])):
            begun = time.monotonic()
            made = run(folder, *asked, *options)
            took[what] = time.monotonic() - begun
            assay(folder, "report", str(made))
            found = json.loads((made / "report/verdicts.json").read_text())
            kinds = [record.status for record in read_records(made / "records.jsonl")]
            text = f"{took[what]:.0f} s, {len(kinds)} records, {kinds.count('ok')} ok"
            yield Row(f"{what}: wall time, builds among it", "", text)
            yield gap_row("… a launch beyond itself", gaps_s(made))
            yield Row("… its answer", "", found["answer"]["sentence"])
            compared = [*found["choice"]["overall"], *found["choice"]["groups"]]
            verdicts.append({", ".join(str(one[key]) for key in _KEYS): one for one in compared})
    ratio = took["a job each"] / took["one job"]
    yield Row("wall time of the first over the second", "", f"{ratio:.2f}")
    pairs = [(what, one["verdict"], verdicts[1].get(what)) for what, one in verdicts[0].items()]
    same = sum(one == (other and other["verdict"]) for _, one, other in pairs)
    yield Row("verdicts that are the same", "", f"{same} of {len(pairs)}")
    against = [what for what, one, other in pairs if other and {one, other["verdict"]} == _OPPOSITE]
    found = "; ".join(against) or "none"
    yield Row("verdicts that contradict each other", "none", found, not against, not against)


def main(arguments: list[str]) -> int:
    """Entry point; see the module's docstring."""
    return printed(rows(arguments))
