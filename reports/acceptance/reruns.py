# SPDX-License-Identifier: Apache-2.0
"""What is run once more: cases as planned, or of a scan of pairs only those that are undecided.

Beside them good pairs are measured anew, by which the conditions of the re-run are known: what a
block shares is told from what one pair has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from records.pair_places import positions_of
from records.rerun import CHECKS_OF_PAIRS, MOST_BYTES_OF_PAIRS, MOST_PAIRS, argument_bytes
from reports.acceptance.model import Item, JudgedCriterion
from reports.acceptance.values import Evidence

#: Good pairs that are measured beside undecided ones, at least; else as many as those.
LEAST_GOOD = 20
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


def _pairs(items: Iterable[Item], evidence: Evidence, case_id: str) -> tuple[str, ...]:
    """The pairs that the items are about and good ones beside them; none: the whole case."""
    names, node, peer = evidence.pairs_of(case_id)
    number = {name: place for place, name in enumerate(names)}
    wanted: list[list[int]] = []
    ends: list[int] = []
    for item in items:
        place = [number.get(name, -1) for name in item.place]
        if len(place) == 2 and item.about != "cut":
            wanted.append(sorted(place))
        elif item.about == "link":
            ends.append(place[0])
        else:
            return ()
    places = positions_of(np.minimum(node, peer), np.maximum(node, peer), len(names))
    known = np.array([pair for pair in wanted if pair[0] >= 0], dtype=np.int64).reshape(-1, 2)
    asked = np.isin(places, positions_of(known[:, 0], known[:, 1], len(names)))
    asked |= np.isin(node, ends) | np.isin(peer, ends)
    found, good = np.flatnonzero(asked), np.flatnonzero(~asked)
    count = min(len(good), max(LEAST_GOOD, len(found)))
    if len(found) + count > min(MOST_PAIRS, MOST_SHARE * len(asked)):
        return ()
    beside = good[np.arange(count) * len(good) // max(count, 1)]
    rows = np.sort(np.concatenate([found, beside])).tolist()
    pairs = tuple(f"{names[node[row]]}:{names[peer[row]]}" for row in rows)
    return pairs if argument_bytes(pairs) <= MOST_BYTES_OF_PAIRS else ()
