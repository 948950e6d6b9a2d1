# SPDX-License-Identifier: Apache-2.0
"""Nodes of a kind against each other within one night, by the comparison of the acceptance.

It needs no earlier night: a node that is slower than its peers is found on the first one, and does
not become normal by being slow again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from records.history.model import Change, History, Launches, Night
from records.site.pair_scans import NODE
from reports.load.nights import SETTLED_NIGHTS
from reports.statistics.descriptive import Matrix
from reports.statistics.levels import Counts, Mask, peers_of, reach_of, scores_of
from reports.verdicts.nightly.tonight import Rules

#: The chance that a re-run confirms that any sound node is slow; how many robust deviations a slow
#: node lies away.
_AGAIN, _MODIFIED_Z = 0.01, 3.5


@dataclass(frozen=True)
class PeersTonight:
    """Shape (series,): the level of the good nodes (unit of the values; NaN: not compared), how
    many these are, which medians are beyond what a node may differ, and which of these surely."""

    level: Matrix
    good: Counts
    beyond: Mask
    slow: Mask


def peers_of_night(
    history: History, place: int, changes: Sequence[Change], rules: Rules, *, again: bool = False
) -> PeersTonight:
    """Compare the launches of the night at `place`, `again`: of its re-run; any of the sound nodes
    of all groups is found slow with the chance `rules.alarms_a_night`, or `_AGAIN`, at most.

    A node is slow when the bound of its launches, and each launch, is worse than the good nodes'
    level by more than `rules.finds`, and it lies `_MODIFIED_Z` of their spreads away. What
    somebody accepted, and what became better to stay, is taken off before.
    """
    launches = history.relaunches if again else history.launches
    chance = _AGAIN if again else rules.alarms_a_night
    shape = len(history.series)
    level, good = np.full(shape, np.nan), np.zeros(shape, dtype=np.int64)
    beyond, slow = np.zeros((2, shape), dtype=np.bool_)
    known = _known_shares(history, changes)
    groups = _groups(history, launches, place, rules.least_launches)
    tests = sum(map(len, groups))
    for rows in groups:
        sign = 1 if history.series[rows[0]].better == "higher" else -1
        logs = np.full((len(rows), max(len(launches[row, place]) for row in rows)), np.nan)
        for at, row in enumerate(rows):
            values = np.log(launches[row, place])
            logs[at, : len(values)] = sign * (values - known[row])
        gap = -np.log1p(-sign * rules.finds) * sign
        peers = peers_of(logs)
        top = peers.top(gap)
        reach = reach_of(peers, top.level, 1 - chance / tests)
        beyond[rows] = peers.centres - top.level < -gap
        slow[rows] = (reach.high < -gap) & (scores_of(peers, top) < -_MODIFIED_Z)
        level[rows] = np.exp(sign * top.level + known[rows])
        good[rows] = int(top.good.sum())
    return PeersTonight(level, good, beyond, slow)


def _groups(history: History, launches: Launches, place: int, least: int) -> list[list[int]]:
    """Series of at least two nodes of a kind that differ in the node alone."""
    found: dict[tuple[object, ...], list[int]] = {}
    for (row, at), values in sorted(launches.items()):
        if at == place and len(values) >= least and min(values) > 0:
            found.setdefault(_group(history, row, history.nights[place]), []).append(row)
    return [rows for rows in found.values() if len(rows) > 1]


def _group(history: History, row: int, night: Night) -> tuple[object, ...]:
    key = history.series[row]
    rest = tuple(sorted((name, value) for name, value in key.at.items() if name != NODE))
    kinds = set(night.kinds.values())
    # A node that tells no kind is of the kind that all others are of.
    unknown = kinds.pop() if len(kinds) == 1 else ""
    return key.case_id, key.metric, rest, night.kinds.get(str(key.at[NODE]), unknown)


def _known_shares(history: History, changes: Sequence[Change]) -> Matrix:
    """Logarithm of how much worse each series is with somebody's word, less what has become better
    since. What became better by itself was slow before, and is as its peers are."""
    known = np.zeros(len(history.series))
    for change in changes:
        settled = change.accepted is not None or change.kind == "improvement"
        if settled and change.before > 0 and 0 < change.ratio < np.inf:
            share = known[change.series] + np.log(change.ratio)
            lower = history.series[change.series].better == "lower"
            known[change.series] = max(share, 0.0) if lower else min(share, 0.0)
    return known


def young_groups(history: History, earlier: Matrix) -> Mask:
    """Series of single nodes that no ten `earlier` nights (series, nights) tell of, on any node.

    Where the scheduler draws the nodes, a node's own series hardly grows; the group does.
    """
    groups: dict[tuple[str, str], list[int]] = {}
    for row, key in enumerate(history.series):
        if key.is_of_a_node:
            groups.setdefault((key.case_id, key.metric), []).append(row)
    young = np.ones(len(history.series), dtype=np.bool_)
    for rows in groups.values():
        young[rows] = np.isfinite(earlier[rows]).any(axis=0).sum() < SETTLED_NIGHTS
    return young
