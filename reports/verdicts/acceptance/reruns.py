# SPDX-License-Identifier: Apache-2.0
"""Re-runs: what they say of a suspect, and what is run once more.

Cases run as planned; of a scan of pairs those that are undecided, and good ones, by which what all
share in a block is separated from what one pair has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from statistics import median

import numpy as np
from msgspec.structs import replace

from records.run.rerun import CHECKS_OF_PAIRS, MOST_BYTES_OF_PAIRS, MOST_PAIRS, argument_bytes
from records.site.pair_scans import Indices, positions_of
from reports.judgement import Item, JudgedCriterion
from reports.notation.units import count_text
from reports.statistics.levels import MOST_MISSES
from reports.verdicts.acceptance.values import CriterionEvidence

#: Re-runs that must show a suspect before it fails.
CONFIRMATIONS = 2
#: Fresh launches that clear a suspect, when they alone keep to the limit.
CLEARING = 5
#: Good pairs that are measured with undecided ones, at least; else twice as many as those, or as
#: many where no more fit.
LEAST_GOOD = 20
#: A node's link is measured again over this many of its pairs where it has so many.
SAMPLED_PAIRS, SAMPLED_FROM = 50, 250
#: Where more of all pairs would be run, the whole case is.
MOST_SHARE = 0.5

#: For each case to run again the pairs that are enough, "n1:n2"; none: as planned.
Wanted = dict[str, tuple[str, ...]]


def settled(item: Item, again: Sequence[float], *, at_once: bool = False) -> Item:
    """A suspect with what its shares in re-runs, `again`, say of it: they confirm it, clear it by
    their median and by most of them, or leave it open.

    `at_once`: so much of the machine is concerned that it fails before it is confirmed.
    """
    if not again:
        note = "suspected: it fails when re-runs confirm it"
        if at_once:
            note = "suspected; it fails unless re-runs clear it"
        verdict = item.verdict if at_once else "SUSPECT"
        return replace(item, verdict=verdict, state="suspected", note=note)
    least = -inf if item.at_least is None else item.at_least
    most = inf if item.at_most is None else item.at_most
    beyond, every = sum(not least <= share <= most for share in again), len(again)
    if beyond >= CONFIRMATIONS and 2 * beyond > every:
        note = f"confirmed by {beyond} of {count_text(every, 're-run')}"
        return replace(item, verdict="FAIL", state="confirmed", note=note)
    if every >= CLEARING and least <= median(again) <= most and beyond <= MOST_MISSES * every:
        return replace(item, verdict="PASS", state="not confirmed", note="cleared by re-runs")
    note = f"not confirmed: {beyond} of {count_text(every, 're-run')} beyond the limit"
    return replace(item, verdict="INCONCLUSIVE", state="not confirmed", note=note)


def cases_to_rerun(results: Sequence[JudgedCriterion], evidence: CriterionEvidence) -> Wanted:
    """Cases to run once more: suspects, and until it fails what is undecided; of a mix all, for a
    job by itself is another load."""
    items: dict[str, list[Item]] = {}
    for item in _undecided(results):
        for case_id in dict.fromkeys(case_id for case_id, _ in item.launches):
            items.setdefault(case_id, []).append(item)
    if items and evidence.mix_blocks:
        return {case.id: () for case in evidence.planned if case.skipped is None}
    return {
        case.id: _pairs(items[case.id], evidence, case.id) if case.check in CHECKS_OF_PAIRS else ()
        for case in evidence.planned
        if case.id in items
    }


def _undecided(results: Sequence[JudgedCriterion]) -> Iterator[Item]:
    counted = [(r, item) for r in results for item in r.items if not item.waived]
    failed = any(item.verdict == "FAIL" and item.state != "suspected" for _, item in counted)
    for result, item in counted:
        suspected = item.state == "suspected" or item.verdict == "SUSPECT"
        undecided = item.verdict == "INCONCLUSIVE" and (item.state is not None or not failed)
        if result.kind != "answers" and (suspected or undecided) and item.decidable:
            yield item


def _pairs(items: Sequence[Item], evidence: CriterionEvidence, case_id: str) -> tuple[str, ...]:
    """The pairs that the items are about, and good ones; none: the whole case."""
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
    chosen = good[np.arange(count) * len(good) // max(count, 1)]
    rows: list[int] = np.sort(np.concatenate([found, chosen])).tolist()
    return rows
