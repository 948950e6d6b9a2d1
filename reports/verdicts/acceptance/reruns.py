# SPDX-License-Identifier: Apache-2.0
"""What is run once more: cases as planned, or of a scan of pairs only those that are undecided.

Beside them good pairs are measured anew, by which the conditions of the re-run are known: what a
block shares is told from what one pair has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from records.run.rerun import CHECKS_OF_PAIRS, MOST_BYTES_OF_PAIRS, MOST_PAIRS, argument_bytes
from records.site.pair_places import Indices, positions_of
from reports.verdicts.acceptance.model import Item, JudgedCriterion
from reports.verdicts.acceptance.values import Evidence

#: Good pairs that are measured beside undecided ones, at least; else twice as many as those, or as
#: many where no more fit.
LEAST_GOOD = 20
#: A node's link is measured again over this many of its pairs where it has so many.
SAMPLED_PAIRS, SAMPLED_FROM = 50, 250
#: Where more of all pairs would be run, the whole case is.
MOST_SHARE = 0.5

#: For each case to run again the pairs that are enough, "n1:n2"; none: as planned.
Wanted = dict[str, tuple[str, ...]]


def cases_to_rerun(results: Sequence[JudgedCriterion], evidence: Evidence) -> Wanted:
    """Cases to run once more: suspects, and until it fails what is undecided."""
    items: dict[str, list[Item]] = {}
    for item in _undecided(results):
        for case_id in dict.fromkeys(case_id for case_id, _ in item.launches):
            items.setdefault(case_id, []).append(item)
    return {
        case.id: _pairs(items[case.id], evidence, case.id) if case.check in CHECKS_OF_PAIRS else ()
        for case in evidence.planned
        if case.id in items
    }


def _undecided(results: Sequence[JudgedCriterion]) -> Iterator[Item]:
    failed = any(
        item.verdict == "FAIL" and item.state != "suspected" and not item.waived
        for result in results
        for item in result.items
    )
    for result in results:
        for item in result.items if result.kind != "answers" else ():
            suspected = item.state == "suspected" or item.verdict == "SUSPECT"
            undecided = item.verdict == "INCONCLUSIVE" and (item.state is not None or not failed)
            if (suspected or undecided) and item.decidable and not item.waived:
                yield item


def _pairs(items: Sequence[Item], evidence: Evidence, case_id: str) -> tuple[str, ...]:
    """The pairs that the items are about and good ones beside them; none: the whole case."""
    names, node, peer = evidence.pairs_of(case_id)
    number = {name: place for place, name in enumerate(names)}
    links = {number.get(item.place[0], -1) for item in items if item.about == "link"}
    wanted: list[list[int]] = []
    for item in items:
        if item.about == "link":
            continue
        if len(item.place) != 2 or item.about == "cut":
            return ()
        place = sorted(number.get(name, -1) for name in item.place)
        if place[0] >= 0 and not (item.charged_to and links & {*place}):
            wanted.append(place)
    codes = positions_of(np.minimum(node, peer), np.maximum(node, peer), len(names))
    known = np.array(wanted, dtype=np.int64).reshape(-1, 2)
    asked = np.isin(codes, positions_of(known[:, 0], known[:, 1], len(names)))
    good = ~asked
    for link in links:
        mine = np.flatnonzero((node == link) | (peer == link))
        good[mine] = False
        step = np.arange(SAMPLED_PAIRS) * len(mine) // SAMPLED_PAIRS
        asked[mine[step] if len(mine) >= SAMPLED_FROM else mine] = True
    rows = _with_good(np.flatnonzero(asked), np.flatnonzero(good), len(codes))
    pairs = tuple(f"{names[node[row]]}:{names[peer[row]]}" for row in rows)
    return pairs if argument_bytes(pairs) <= MOST_BYTES_OF_PAIRS else ()


def _with_good(found: Indices, good: Indices, every: int) -> list[int]:
    """The rows that are asked for, and good ones; none where the whole case is as well run."""
    most = int(min(MOST_PAIRS, MOST_SHARE * every)) - len(found)
    least, count = (min(len(good), max(LEAST_GOOD, n * len(found))) for n in (1, 2))
    if least > most:
        return []
    count = min(count, most)
    beside = good[np.arange(count) * len(good) // max(count, 1)]
    rows: list[int] = np.sort(np.concatenate([found, beside])).tolist()
    return rows
