# SPDX-License-Identifier: Apache-2.0
"""Changes that stay, found in the series of nights alone (stage B); nodes of a kind against each
other within one night, by the comparison of the acceptance.

E-divisive means find steps within a window: Szekely & Rizzo's energy distance between what lies
before and after each allowed split, with a permutation test [Matteson & James, J. Am. Stat. Assoc.
109 (2014) 334]. No distribution is assumed but that the values are exchangeable without a change.
A rank test bounds the chance of a false alarm. The comparison of nodes needs no earlier night: a
node that is slower than its peers is found on the first one, and does not become normal by being
slow again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import median
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from records.history.model import Change, History, Kind, Launches, Stage
from records.site.pair_scans import NODE
from reports.load.nights import SETTLED_NIGHTS, begins_level
from reports.statistics.descriptive import Matrix
from reports.statistics.levels import Counts, Mask, peers_of, reach_of, scores_of
from reports.verdicts.nightly.evidence import Rules

#: The greatest p of the permutation test.
P_ENERGY = 1e-4
#: Orders of the values in the permutation test; of the first look, which ends most tests, and of
#: each further one.
SPLIT_PERMUTATIONS, _FIRST_LOOK, _BATCH = 9999, 199, 1000
_SEED = 20031
#: Orders that differ only inside the parts have the same Q; rounding must not tell them apart.
_ROUNDING = 1e-4
#: A lasting change is looked for in the last nights, with at least so many before and after it.
WINDOW, SIDES = 30, (8, 4)
#: A step of the first nights: after so many, found while the series has so many nights.
_FIRST_SPLITS, _FIRST_NIGHTS = range(3, 10), range(20, 61)
#: A drift: the median of the first nights against that of the last.
_DRIFT_ANCHOR, _DRIFT_RECENT = 30, 10


class LevelShift(NamedTuple):
    """A series' level before (of `n_before` nights) and after, medians in the unit of the values;
    `since` is a night's position, the first of the new level."""

    series: int
    stage: Stage
    since: int
    before: float
    after: float
    n_before: int

    def change(self, history: History, found: int) -> Change:
        """The change that the night with the id `found` shows."""
        less, better = self.after < self.before, history.series[self.series].better
        kind: Kind = "regression"
        if better == "unknown" or less == (better == "lower"):
            kind = "improvement"
        since = history.nights[self.since].id
        levels = self.before, self.after, self.n_before
        return Change(self.series, kind, self.stage, since, found, *levels)


def _shift(before: Matrix, after: Matrix) -> float:
    """The size of the shift of the median, a fraction of the median before."""
    # Of few values several times as fast as NumPy's.
    return abs(float(median(after.tolist()) / median(before.tolist())) - 1)


def _rank_p(before: Matrix, after: Matrix) -> float:
    """Two-sided Mann–Whitney p; exact without ties for small samples. Without SciPy's wrapper for
    axes and NaN, which takes as long as the test itself."""
    from scipy import stats  # type: ignore[import-untyped]  # slow: 0.4 s

    return float(stats.mannwhitneyu.__wrapped__(before, after).pvalue)


def may_shift(row: Matrix, floor: float) -> bool:
    """Tell whether a row is wide enough for a shift of the median above the floor at any allowed
    split, which spares most rows the rest: a median of m values lies between the row's m/2-th least
    and m/2-th greatest."""
    ordered = np.sort(row)
    many, few = ((side + 1) // 2 for side in SIDES)
    up, down = ordered[-few] / ordered[many - 1] - 1, 1 - ordered[few - 1] / ordered[-many]
    return bool(max(up, down) > floor)


def _in_window(row: Matrix, floor: float, rules: Rules, *, proven: bool) -> int | None:
    """Number of values before their change, None without one.

    Needed are enough values on both sides, a median shift above the floor, and a small p of both
    tests. A change that is `proven` by a confirmed night needs no permutations.
    """
    if len(row) < sum(SIDES) or not may_shift(row, floor):
        return None
    split, statistic = best_split(row, *SIDES)
    parts = row[:split], row[split:]
    if _shift(*parts) <= floor or _rank_p(*parts) > rules.p_ranks:
        return None
    return split if proven or is_change(row, statistic, *SIDES, P_ENERGY) else None


def _in_first_nights(row: Matrix, floor: float, rules: Rules) -> int | None:
    """A step within the first nights of a reference, too few before it for a window.

    Of the splits after 3 to 9 nights the one with the least Mann–Whitney p, Bonferroni over the
    splits; median shift above the floor. With three nights before, p is small enough only once
    there are some forty after.
    """
    parts = ((row[:split], row[split:]) for split in _FIRST_SPLITS)
    steps = [(_rank_p(*part), len(part[0])) for part in parts if _shift(*part) > floor]
    p, split = min(steps, default=(1.0, 0))
    return split if p * len(_FIRST_SPLITS) <= rules.p_ranks else None


@lru_cache(maxsize=32)
def _split_orders(n: int) -> NDArray[np.int64]:
    """Orders of n values, shape (SPLIT_PERMUTATIONS, n); seeded."""
    rng = np.random.default_rng(_SEED + n)
    return rng.permuted(np.tile(np.arange(n), (SPLIT_PERMUTATIONS, 1)), axis=1)


def _greatest(distances: Matrix, before: int, after: int) -> tuple[NDArray[np.int64], Matrix]:
    """Greatest Q(k) = k(n−k)/n·(2·E|X−Y| − E|X−X'| − E|Y−Y'|) of each matrix of distances (…, n,
    n) and its split k, which leaves `before` values or more before it and `after` after it."""
    n = distances.shape[-1]
    k = np.arange(before, n - after + 1)
    rest = n - k
    along = np.cumsum(distances, axis=-1)
    pairs = np.diagonal(along, axis1=-2, axis2=-1)
    inside = np.cumsum(pairs, axis=-1)[..., k - 1]
    touching = np.cumsum(along[..., -1], axis=-1)[..., k - 1]
    across = touching - 2 * inside
    outside = pairs.sum(axis=-1, keepdims=True) - inside - across
    statistics = (k * rest / n) * (
        2 * across / (k * rest)
        - inside / np.maximum(k * (k - 1) / 2, 1)
        - outside / np.maximum(rest * (rest - 1) / 2, 1)
    )
    return statistics.argmax(axis=-1) + before, statistics.max(axis=-1)


def _distances(row: Matrix) -> Matrix:
    """|a − b| of all values, shape (n, n), in units of their range."""
    distances: Matrix = np.abs(row[:, np.newaxis] - row) / (np.ptp(row) or 1)
    return distances


def best_split(row: Matrix, before: int, after: int) -> tuple[int, float]:
    """Number of values before the greatest Q of a row, and that Q in units of the row's range."""
    split, statistic = _greatest(_distances(row), before, after)
    return int(split), float(statistic)


def is_change(row: Matrix, statistic: float, before: int, after: int, p: float) -> bool:
    """Permutation test of a row's greatest Q: (1 + exceeding)/(1 + permutations) is at most `p`.

    It ends at the permutation that makes p too great, so that a row without a change costs little.
    """
    distances = _distances(row)
    allowed = int(p * (SPLIT_PERMUTATIONS + 1) * (1 + 1e-9)) - 1
    exceeding = 0
    for orders in np.split(_split_orders(len(row)), range(_FIRST_LOOK, SPLIT_PERMUTATIONS, _BATCH)):
        permuted = distances[orders[:, :, np.newaxis], orders[:, np.newaxis, :]]
        _, greatest = _greatest(permuted, before, after)
        exceeding += int((greatest >= statistic * (1 - _ROUNDING)).sum())
        if exceeding > allowed:
            return False
    return True


def level_shift(
    series: int,
    values: Matrix,
    nights: NDArray[np.signedinteger],
    floor: float,
    *,
    proven: bool | None,
    rules: Rules,
) -> LevelShift | None:
    """The lasting change that these nights of a series show, with positive values. `proven`: None
    without an open regression, whose last nights alone are asked, else True where a re-run has
    proven it.

    First a change within the last nights (30); then a step in the first nights; then a drift, which
    is the first nights (30) against the last 10, once they are apart by as many as the window. A
    drift finds what wanders by less than the floor in any window.
    """
    row = values[nights]

    def shift(stage: Stage, before: Matrix, after: Matrix) -> LevelShift:
        levels = float(np.median(before)), float(np.median(after))
        return LevelShift(series, stage, int(nights[-len(after)]), *levels, len(before))

    last = row[-WINDOW:]
    if split := _in_window(last, floor, rules, proven=bool(proven)):
        return shift("lasting", last[:split], last[split:])
    if proven is not None:
        return None
    if len(row) in _FIRST_NIGHTS and (split := _in_first_nights(row, floor, rules)):
        return shift("early", row[:split], row[split:])
    first, last = row[:_DRIFT_ANCHOR], row[-_DRIFT_RECENT:]
    if len(row) < _DRIFT_ANCHOR + WINDOW or _shift(first, last) <= floor:
        return None
    return shift("drift", first, last) if _rank_p(first, last) <= rules.p_drift else None


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
        _, high = reach_of(peers, top.level, 1 - chance / tests)
        beyond[rows] = peers.centres - top.level < -gap
        slow[rows] = (high < -gap) & (scores_of(peers, top) < -_MODIFIED_Z)
        level[rows] = np.exp(sign * top.level + known[rows])
        good[rows] = int(top.good.sum())
    return PeersTonight(level, good, beyond, slow)


def _groups(history: History, launches: Launches, place: int, least: int) -> list[list[int]]:
    """Series of at least two nodes of a kind that differ in the node alone."""
    found, kinds = dict[tuple[object, ...], list[int]](), history.nights[place].kinds
    # A node that tells no kind is of the kind that all others are of.
    unknown = min(kinds.values()) if len({*kinds.values()}) == 1 else ""
    for (row, at), values in sorted(launches.items()):
        if at == place and len(values) >= least and min(values) > 0:
            key = history.series[row]
            rest = tuple(sorted(point for point in key.at.items() if point[0] != NODE))
            kind = kinds.get(str(key.at[NODE]), unknown)
            found.setdefault((key.case_id, key.metric, rest, kind), []).append(row)
    return [rows for rows in found.values() if len(rows) > 1]


def _known_shares(history: History, changes: Sequence[Change]) -> Matrix:
    """Logarithm of how much worse each series is with somebody's word, less what has become better
    since. What became better by itself was slow before, and is as its peers are."""
    known = np.zeros(len(history.series))
    for change in changes:
        if begins_level(change) and change.before > 0 and 0 < change.ratio < np.inf:
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
