# SPDX-License-Identifier: Apache-2.0
"""Nodes or pairs of nodes as a matrix, each held against the good ones; limits from the machine
itself: nodes, links, spreads.

What drifts for all peers alike in a block speaks against none of them. A limit on the scatter of
each of many items can hardly be met by few launches: 64 items at n = 5 and a limit of 2 % need a
true CV of 0.43 %. So the pooled variance is held against the limit, and an item is named when its
own is beyond it by a test over all items. Re-runs confirm what is beyond.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations, compress
from math import exp, log
from statistics import median
from typing import Any

import numpy as np
from msgspec.structs import asdict, replace
from scipy import special  # type: ignore[import-untyped]

from records.criteria import Criterion, LinksCriterion, NodesCriterion, SpreadCriterion
from records.run.rerun import CHECKS_OF_PAIRS, ONLY
from records.site.pair_scans import NODE, PEER, Indices, positions_of, sample_told
from records.text.plain_text import natural_order
from reports.answers import limit_text
from reports.judgement import Item, JudgedCriterion, LaunchKey, Subject, listed_nodes
from reports.notation.units import as_stated, significant
from reports.statistics import bounds, levels
from reports.statistics.bounds import Bounds, Flags
from reports.statistics.descriptive import Matrix
from reports.verdicts.acceptance.fabric import Fabric, fabric_of
from reports.verdicts.acceptance.limits import Context, ShownItems, settled, shown
from reports.verdicts.acceptance.values import Rows, ScanValues, Values, rows_of

Place = tuple[str, ...]
#: Of more pairs without a value one item tells their number.
MOST_MISSING = 100


@dataclass(frozen=True)
class PeerGroup:
    """Nodes or pairs of one case and one point.

    `ends` has for each row the numbers of its nodes among `names`, ascending; `first` are the
    values of the first row. `logs` are logarithms of the values, a peer a row and a block a column,
    times `sign`: greater is better; blocks that are `fresh` are those of re-runs. Of a pair that
    was measured in both directions the worse value counts.
    """

    point: str
    names: Place
    ends: Indices
    first: Values
    blocks: Sequence[int]
    logs: Matrix
    sign: int
    fresh: Flags

    def place(self, row: int) -> Place:
        """The node or pair of a row."""
        return tuple(self.names[end] for end in self.ends[row].tolist())

    @cached_property
    def launches(self) -> tuple[LaunchKey, ...]:
        """The launches behind the columns."""
        return tuple((self.first.case.id, block) for block in self.blocks)

    @cached_property
    def by_blocks(self) -> list[levels.Peers]:
        """The peers in all blocks and, where there are re-runs, in those of the run alone."""
        again = self.fresh.any() and not self.fresh.all()
        run = [self.logs[:, ~self.fresh]] if again else []
        return [levels.peers_of(logs) for logs in (self.logs, *run)]

    def missing(self, criterion: Criterion, context: Context) -> Iterator[Item]:
        """Nodes and pairs that were planned to have a value here and have none; of more pairs than
        MOST_MISSING their number. Where the criterion names a node, its pairs alone."""
        case, ran, known = self.first.case, context.evidence.nodes, {*self.names}
        named = {str(criterion.where[end]) for end in (NODE, PEER) if end in criterion.where}
        only = case.params.get(ONLY) if case.check in CHECKS_OF_PAIRS else None
        whole = not only and case.nodes == len(ran) and (known | named) <= {*ran}
        nodes = [name for name in natural_order(ran) if name not in known] if whole else []
        # A launch has all pairs of these: not only its rounds, nor those of other nodes in each.
        of_all = len(self.first.place) == 2 and not case.params.get("rounds")
        of_all &= case.nodes >= len(known) + len(nodes)
        pairs: list[Place] = []
        if only or (of_all and whole and named):
            every: Iterable[Sequence[str]] = [pair.split(":") for pair in only or ()]
            asked = (pair for pair in every or combinations(ran, 2) if named <= {*pair})
            have = {self.place(row) for row in range(len(self.ends))}
            pairs = [pair for pair in dict.fromkeys(map(natural_order, asked)) if pair not in have]
        elif of_all and not named:
            pairs = self._pairs_lost()
        if len(pairs) > MOST_MISSING and not named:
            yield context.missing(criterion, case, f"{len(pairs)} pairs of nodes")
            pairs = []
        for place in (*((name,) for name in nodes if not named), *pairs):
            yield context.missing(criterion, case, "–".join(place), place)
        others_lost = case.nodes - len(known) - len(nodes)
        if others_lost > 0 and not (only or named):
            yield context.missing(criterion, case, f"{others_lost} nodes")

    def _pairs_lost(self) -> list[Place]:
        """The pairs of the nodes that have no row."""
        count = len(self.names)
        lost = np.ones(count * (count - 1) // 2, dtype=bool)
        lost[positions_of(self.ends[:, 0], self.ends[:, 1], count)] = False
        if not lost.any():
            return []
        ends = np.stack(np.triu_indices(count, 1), axis=1)[lost]
        return [(self.names[low], self.names[high]) for low, high in ends.tolist()]


def peer_groups(criterion: Criterion, context: Context, size: int) -> list[PeerGroup]:
    """Nodes (size 1) or pairs (2) that a criterion selects, in groups of two members or more."""
    members: dict[tuple[str, str], dict[Place, list[Values]]] = {}
    evidence = context.evidence
    for environment in evidence.environments_of(criterion):
        for values in evidence.inside(criterion, environment):
            if len(values.place) == size:
                key = values.case.id, context.point(values, (NODE, PEER))
                places = members.setdefault(key, {})
                places.setdefault(natural_order(values.place), []).append(values)
    scans = evidence.scans_of(criterion) if size == 2 else []
    if not members and not scans:
        return []
    sign = -1 if evidence.register.metrics[criterion.metric].better == "lower" else 1
    return [
        *(
            _group(key[1], places, sign, evidence.fresh)
            for key, places in members.items()
            if len(places) > 1
        ),
        *(_scan_group(scan, context, sign) for scan in scans if len(scan.columns.low) > 1),
    ]


def _group(
    point: str, members: Mapping[Place, Sequence[Values]], sign: int, fresh: int
) -> PeerGroup:
    names = natural_order({name for place in members for name in place})
    rank = {name: number for number, name in enumerate(names)}
    places = sorted(members, key=lambda place: [rank[name] for name in place])
    blocks = np.unique(np.concatenate([v.blocks for place in places for v in members[place]]))
    logs = np.full((len(places), len(blocks)), np.nan)
    for row, place in enumerate(places):
        for values in members[place]:
            columns = np.searchsorted(blocks, values.blocks)
            logs[row, columns] = np.fmin(logs[row, columns], sign * np.log(values.values))
    ends = np.array([[rank[name] for name in place] for place in places], dtype=np.int64)
    first = members[places[0]][0]
    return PeerGroup(point, names, ends, first, blocks.tolist(), logs, sign, blocks >= fresh)


def _scan_group(scan: ScanValues, context: Context, sign: int) -> PeerGroup:
    """The pairs of a scan, as they are in its columns."""
    columns, first = scan.columns, scan.row(0)
    return PeerGroup(
        context.point(first, (NODE, PEER)),
        columns.names,
        np.stack([columns.low, columns.high], axis=1),
        first,
        columns.blocks,
        sign * np.log(columns.values.astype(np.float64)),
        sign,
        np.asarray(columns.blocks) >= context.evidence.fresh,
    )


@dataclass(frozen=True)
class PeerLook:
    """Peers of some blocks against the level of the good ones: bounds of each row as shares of it,
    or as multiples where the limit is one, NaN below the least launches; its median in all."""

    peers: levels.Peers
    level: float
    confidence: float
    centre: Matrix
    low: Matrix
    high: Matrix
    passes: Flags
    fails: Flags

    def bounds(self, row: int) -> Bounds:
        """The bounds of a row; none below the launches that a verdict needs."""
        n, centre = int(self.peers.counts[row]), float(self.centre[row])
        if np.isnan(self.low[row]):
            return Bounds(n, centre, None, None, self.confidence, "none")
        low, high = float(self.low[row]), float(self.high[row])
        return Bounds(n, centre, low, high, self.confidence, "pooled")


@dataclass(frozen=True)
class PeerComparison:
    """A group of peers against their good ones; all items that speak of them are made here.

    `good` are their levels by `group.by_blocks`: in all blocks and, where there are re-runs, in
    those of the run alone.
    """

    group: PeerGroup
    context: Context
    limits: bounds.Limits
    good: Sequence[float]

    @cached_property
    def looks(self) -> list[PeerLook]:
        """All blocks, and those of the run alone."""
        every = self.group.by_blocks
        centre = self._shown(every[0].centres - self.good[0])
        return [self._look(*one, centre) for one in zip(every, self.good, strict=True)]

    def _look(self, peers: levels.Peers, level: float, centre: Matrix) -> PeerLook:
        confidence = self.context.level(peers.logs.shape[1])
        ends = np.sort(self._shown(np.stack(levels.reach_of(peers, level, confidence))), axis=0)
        ends[:, peers.counts < self.context.criteria.least_launches] = np.nan
        passes, fails = bounds.decided(ends, self.limits)
        return PeerLook(peers, level, confidence, centre, ends[0], ends[1], passes, fails)

    def _shown(self, logs: Matrix) -> Matrix:
        """Deviations as shares or multiples of the level."""
        return np.asarray(np.exp(logs if self.limits[1] is None else -logs))

    def _shares(self, logs: Matrix) -> list[float]:
        """The shares of a row of deviations, without those that are not known."""
        shares: list[float] = self._shown(logs[np.isfinite(logs)]).tolist()
        return shares

    @cached_property
    def verdicts(self) -> tuple[Flags, Flags]:
        """Rows that pass by all blocks, or by the run's where re-runs scatter; rows beyond the
        limit or open. Of the others re-runs say more."""
        every, *run = self.looks
        if not run:
            return every.passes, ~every.passes
        passes = (every.passes & ~run[0].fails) | (~every.fails & run[0].passes)
        return passes, every.fails | ~(passes | run[0].fails)

    def item(self, row: int, about: Subject) -> Item:
        """A node or a pair, judged by its bounds; the run's PASS stays when re-runs scatter."""
        every, *run = self.looks
        logs = every.peers.logs[row] - every.level
        known = np.isfinite(logs)
        measured = np.exp(self.group.sign * self.group.logs[row][known])
        place = self.group.place(row)
        item = self._item(
            "–".join(place),
            place,
            about,
            every.bounds(row),
            self._shares(logs),
            measured=median(measured.tolist() or [0.0]),
            launches=tuple(compress(self.group.launches, known)),
        )
        if not run:
            return item
        if item.verdict == "INCONCLUSIVE" and run[0].passes[row]:
            fields, note = asdict(run[0].bounds(row)), "met by the launches of the run"
            return replace(item, **fields, verdict="PASS", note=note)
        if item.verdict == "PASS" and run[0].fails[row]:
            note = "suspected in the run, cleared by re-runs"
            return replace(item, state="not confirmed", note=note)
        if item.verdict == "INCONCLUSIVE" and run[0].fails[row]:
            return settled(item, self.again(row))
        return item

    def again(self, row: int) -> list[float]:
        """A row's shares in re-runs."""
        every = self.looks[0]
        return self._shares(every.peers.logs[row][self.group.fresh] - every.level)

    def suspect(self, item: Item, row: int) -> Item:
        """An item beyond its limit, as re-runs show it; five launches are needed to suspect."""
        if bounds.bound_rank(item.n, self.context.criteria.confidence) is None:
            note = f"beyond the limit, but n = {item.n} is too few to suspect anybody"
            return replace(item, verdict="INCONCLUSIVE", note=note)
        return settled(item, self.again(row))

    def together(
        self, rows: Sequence[int], subject: str, place: Place, about: Subject, *, at_once: bool
    ) -> Item:
        """Item of several rows together: the median of them in each block."""
        every, fresh = self.looks[0], self.group.fresh
        logs = levels.row_medians(every.peers.logs[list(rows)].T) - every.level
        shares, again = self._shares(logs), self._shares(logs[fresh])
        interval = self.context.bounds_of(shares)
        measured = np.exp(self.group.sign * levels.row_medians(self.group.logs[list(rows)].T))
        measured = measured[np.isfinite(logs)]
        typical = float(np.median(measured)) if measured.size else None
        item = self._item(subject, place, about, interval, shares, measured=typical)
        if item.verdict == "FAIL":
            if interval.method == "order":
                return settled(item, again, at_once=at_once)
            note = f"beyond the limit, but n = {interval.n} is too few to suspect anything"
            return replace(item, verdict="INCONCLUSIVE", note=note)
        before = self.context.bounds_of(self._shares(logs[~fresh]))
        verdict, _ = bounds.decide(before, *self.limits, self.context.criteria.least_launches)
        suspected = again and verdict == "FAIL" and before.method == "order"
        return settled(item, again) if suspected else item

    def _item(
        self,
        subject: str,
        place: Place,
        about: Subject,
        interval: Bounds,
        shares: Sequence[float],
        **more: Any,
    ) -> Item:
        first, context = self.group.first, self.context
        more = {"launches": self.group.launches} | more
        more |= {"place": place, "point": self.group.point, "about": about, "shares": tuple(shares)}
        unit = context.evidence.register.metrics[first.metric].unit
        return context.item(
            first.case, first.metric, subject, interval, self.limits, measured_unit=unit, **more
        )


#: In machines up to this size one better node leaves open whether the others are slow.
SMALL_MACHINE = 16
#: A smaller shortfall does not separate groups.
LEAST_GAP = 0.005
#: Peers of one launch from which on what all have in common in a block is taken off.
LEAST_PEERS = 4
#: Chance that anybody of a case is suspected by mistake, as a share of that of a bound.
NOISY_CHANCE = 0.2
#: Fresh launches that a suspect is judged by.
LEAST_FRESH = 3


def judge_spread(criterion: SpreadCriterion, context: Context) -> JudgedCriterion:
    """The coefficient of variation of launches: of all items together, and of each."""
    parts = []
    for rows in _groups(criterion, context):
        if len(rows.matrix) == 1:
            parts.append(ShownItems([_alone(rows.values(0), criterion, context)]))
        else:
            parts.append(_together(rows, criterion, context))
    statement = (
        f"{context.metric_title(criterion.metric)}: coefficient of variation over the launches"
        f" at most {as_stated(criterion.cv_at_most)}"
    )
    return context.judged(criterion, statement, parts)


def _groups(criterion: SpreadCriterion, context: Context) -> Iterator[Rows]:
    """Rows judged together: nodes or pairs of a case, all cases without nodes."""
    apart: list[Values] = []
    for rows in context.evidence.rows(criterion):
        if rows.values(0).place:
            yield rows
        else:
            apart += map(rows.values, range(len(rows.matrix)))
    if apart:
        yield rows_of(apart)


def _alone(values: Values, criterion: SpreadCriterion, context: Context) -> Item:
    """A value that has no peers: the interval of its own deviation."""
    numbers, least_n = values.values.tolist(), context.criteria.least_launches
    confidence = context.level(len(numbers))
    interval = bounds.spread_bounds(numbers, confidence, least_n)
    item = context.value_item(values, numbers, (None, criterion.cv_at_most), interval=interval)
    again = values.values[values.blocks >= context.evidence.fresh].tolist()
    return _confirmed(item, bounds.spread_bounds(again, confidence) if again else None)


def _together(rows: Rows, criterion: SpreadCriterion, context: Context) -> ShownItems:
    """An item for all together, in which noisy ones do not count, and one for each. Blocks of the
    run say which are noisy, re-runs confirm it."""
    limit, criteria, count = criterion.cv_at_most, context.criteria, len(rows.matrix)
    placed = bool(rows.values(0).place)
    shared = placed and count >= LEAST_PEERS
    logs = np.log(np.where(rows.matrix > 0, rows.matrix, np.nan))  # 0 has no relative spread
    logs = levels.peers_of(logs).logs if shared else logs
    fresh = rows.blocks >= context.evidence.fresh
    parts = logs, logs[:, ~fresh], logs[:, fresh]
    every, before, again = (levels.deviations_of(part, shared=shared) for part in parts)
    noisy = _beyond(*before, limit, NOISY_CHANCE * (1 - criteria.confidence))
    counts = np.isfinite(logs).sum(axis=1)

    def item(row: int) -> Item:
        interval = _bounds(int(counts[row]), every[0][row], every[1][row], context)
        known = logs[row][np.isfinite(logs[row])]
        shares, limits = np.exp(known).tolist(), (None, limit if noisy[row] else None)
        single = context.value_item(rows.values(row), shares, limits, interval=interval)
        if not noisy[row]:
            return single
        away = np.abs(logs[row, fresh] - np.nanmedian(logs[row]))
        single = replace(single, verdict="FAIL", about="unsteady")
        return settled(single, away[np.isfinite(away)].tolist())

    counted = ~noisy if 2 * noisy.sum() < count else np.ones(count, dtype=bool)
    interval = _bounds(int(counts[counted].min()), *_pooled(every, counted), context)
    whole = replace(
        context.value_item(rows.values(0), (), (None, limit), interval=interval),
        subject=f"{int(counted.sum())} of {count} together",
        environment="all" if len(rows.environments) > 1 else min(rows.environments),
        place=(),
        launches=rows.launches,
    )
    deviation, freedom = _pooled(again, counted)
    since = _bounds(LEAST_FRESH, deviation, freedom, context) if freedom else None
    plain = ~noisy & (counts >= criteria.least_launches) & placed
    part = shown(item, plain, every[0])
    return part._replace(items=[_confirmed(whole, since), *part.items])


def _beyond(deviations: Matrix, freedom: Matrix, limit: float, chance: float) -> Flags:
    """Whose variance is beyond the limit (χ²) and beyond that of the others (F), by Holm."""
    known = freedom > 0
    p = np.ones(len(freedom))
    if known.any():
        own, k = deviations[known] ** 2, freedom[known]
        usual = float(np.median(deviations[known] / levels.typical_deviation(k))) ** 2
        others = np.maximum(1.0, levels.EFFICIENCY * (k.sum() - k))
        p[known] = np.maximum(
            special.gammaincc(k / 2, k * own / limit**2 / 2),
            special.fdtrc(k, others, own / max(usual, 1e-300)),
        )
    order = np.argsort(p, kind="stable")
    holm = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)) <= chance
    noisy = np.zeros(len(p), dtype=bool)
    noisy[order[holm]] = True
    return noisy


def _pooled(found: tuple[Matrix, Matrix], counted: Flags) -> tuple[float, float]:
    """The pooled deviation, and its degrees of freedom.

    Of many items it is the median of their deviations: who has a stray launch is asked apart.
    """
    deviations, freedom = (part[counted] for part in found)
    known, total = freedom > 0, float(freedom.sum())
    if known.sum() >= LEAST_PEERS:
        typical = levels.typical_deviation(freedom[known])
        return float(np.median(deviations[known] / typical)), levels.EFFICIENCY * total
    return float(np.sqrt((freedom * deviations**2).sum() / total)) if total else 0.0, total


def _bounds(n: int, deviation: float, freedom: float, context: Context) -> Bounds:
    """Bounds of a deviation of so many degrees of freedom, one-sided."""
    confidence = context.level(n)
    if freedom <= 0:
        return Bounds(n, deviation, None, None, confidence, "none")
    low, high = bounds.spread_factors(freedom, confidence)
    return Bounds(n, deviation, deviation * low, deviation * high, confidence, "chi-squared")


def _confirmed(item: Item, fresh: Bounds | None) -> Item:
    """An item; of one beyond its limit re-runs alone confirm it, or clear it by their bound."""
    if item.verdict != "FAIL":
        return item
    if fresh is None:
        note = "beyond the limit: it fails when re-runs confirm it"
        return replace(item, verdict="SUSPECT", note=note)
    again, limit = f"{significant(100 * fresh.centre, 2)} % in re-runs", item.at_most or 0.0
    if fresh.centre > limit:
        return replace(item, note=f"confirmed: {again}")
    verdict, _ = bounds.decide(fresh, None, limit, LEAST_FRESH)
    word = "cleared" if verdict == "PASS" else "not confirmed"
    return replace(item, verdict=verdict, note=f"{word}: {again}")


def _judged_peers(
    criterion: NodesCriterion | LinksCriterion,
    context: Context,
    statement: str,
    size: int,
    items_of: Callable[[PeerGroup], ShownItems],
) -> JudgedCriterion:
    """A criterion on nodes (size 1) or pairs (2)."""
    groups = peer_groups(criterion, context, size)
    parts = (
        part
        for group in groups
        for part in (items_of(group), ShownItems([*group.missing(criterion, context)]))
    )
    needs = f"; at least two {'nodes' if size == 1 else 'pairs of nodes'} are needed"
    return context.judged(criterion, statement, parts, needs)


def judge_nodes(criterion: NodesCriterion, context: Context) -> JudgedCriterion:
    """Every node's share of the good nodes' level against 1 − within."""
    statement = (
        f"{context.metric_title(criterion.metric)} of every node at least"
        f" {as_stated(100 * (1 - criterion.within))} % of the good nodes' median; a node stands out"
        f" beyond a modified z of {as_stated(criterion.modified_z)}"
    )
    items_of = partial(_node_items, criterion=criterion, context=context)
    return _judged_peers(criterion, context, statement, 1, items_of)


def _node_items(group: PeerGroup, criterion: NodesCriterion, context: Context) -> ShownItems:
    """An item for each node; where half of them or more are slow, one for their group."""
    least = 1 - criterion.within
    gap = max(-log(least), LEAST_GAP)
    tops = [levels.top_of(peers.centres, gap, peers.error) for peers in group.by_blocks]
    found = PeerComparison(group, context, (least, None), [top.level for top in tops])
    scores = levels.scores_of(group.by_blocks[0], tops[0])
    stand_out = scores < -criterion.modified_z
    beyond = np.flatnonzero(stand_out & ~found.verdicts[0]).tolist()
    out = [row for row in beyond if found.item(row, "node").verdict == "FAIL"]
    better = tops[0].better & (len(scores) <= SMALL_MACHINE)
    group_item = None
    if len(out) >= 2 and 2 * len(out) >= len(scores):
        place = tuple(group.place(row)[0] for row in out)
        group_item = found.together(out, listed_nodes(place), place, "group", at_once=True)

    def item(row: int) -> Item:
        node = found.item(row, "node")
        if better[row]:
            by = 100 * (exp(found.looks[0].peers.centres[row] - tops[0].level) - 1)
            note = (
                f"{by:.0f} % better than all others: it is not like them, or they all are slow;"
                " an absolute limit tells, a waiver for this node settles it"
            )
            return replace(node, verdict="INCONCLUSIVE", note=note, decidable=False)
        if node.verdict != "FAIL":
            return node
        if not stand_out[row]:
            note = f"does not stand out from the others (modified z {scores[row]:.1f})"
            return replace(node, note=f"beyond the limit, but {note}")
        if group_item is not None:
            return replace(node, verdict=group_item.verdict, note="one of a slow group")
        return found.suspect(node, row)

    part = shown(item, found.verdicts[0] & ~better, found.looks[0].centre, found.limits)
    return part._replace(items=[*part.items, group_item]) if group_item else part


def judge_links(criterion: LinksCriterion, context: Context) -> JudgedCriterion:
    """Every pair's share of the good pairs' level or of the best; what explains slow pairs."""
    other = "best pair's" if criterion.of == "best" else "good pairs' median"
    title = context.metric_title(criterion.metric).removesuffix(" of the pair")
    limit = limit_text(criterion.at_least, criterion.at_most, "1")
    cases = {case.id: case for case in context.evidence.cases_of(criterion)}.values()
    scans = [case for case in cases if case.check in CHECKS_OF_PAIRS]
    missed = dict.fromkeys(sample_told(case.nodes, case.params) for case in scans)
    samples = [f"each launch measured {text}" for text in missed if text]
    nodes = len(context.evidence.nodes)
    some = samples or any(case.params.get(ONLY) or case.nodes < nodes for case in scans)
    every = f"every {'measured ' if some else ''}pair of nodes"
    statement = "; ".join([f"{title} of {every} {limit} × the {other}", *samples])
    items_of = partial(_pair_items, criterion=criterion, context=context)
    return _judged_peers(criterion, context, statement, 2, items_of)


def _pair_items(group: PeerGroup, criterion: LinksCriterion, context: Context) -> ShownItems:
    """The items of slow links of nodes and of cuts, then one for each pair."""
    gap = max(LEAST_GAP, log(criterion.at_most or 1.0), -log(criterion.at_least or 1.0))
    pairs, fabrics = (group.ends, len(group.names), gap), []
    for peers in group.by_blocks:
        best = float(np.nanmax(peers.centres)) if criterion.of == "best" else None
        fabrics.append(fabric_of(peers.centres, *pairs, peers.error, level=best))
    limits = criterion.at_least, criterion.at_most
    found = PeerComparison(group, context, limits, [fabric.level for fabric in fabrics])
    # Where re-runs measured some pairs, the run alone says what is slow; they confirm or clear it.
    measured_again = np.isfinite(group.logs[:, group.fresh]).any(axis=1)
    fabric = fabrics[0 if measured_again.all() else -1]
    parts = list(_part_items(found, fabric))
    causes = [f"the slow {_WAYS[part.about]} {part.subject}" for part in parts]
    # Of each pair's part, and of none: whether it is slow, or was suspected and is cleared.
    slow = np.array([*(part.verdict != "PASS" for part in parts), False])[fabric.explained]
    cleared = np.array([*(bool(part.state) for part in parts), False])[fabric.explained] & ~slow
    cleared &= ~measured_again

    def item(row: int) -> Item:
        pair = found.item(row, "pair")
        if pair.verdict != "PASS" and (slow[row] or cleared[row]):
            number = int(fabric.explained[row])
            note, cause = f"explained by {causes[number]}", causes[number]
            if cleared[row]:
                note = f"{note}, which re-runs cleared"
                return replace(pair, verdict="PASS", note=note, charged_to=cause)
            verdict = parts[number].verdict
            return replace(pair, verdict=verdict, state=None, note=note, charged_to=cause)
        return found.suspect(pair, row) if pair.verdict == "FAIL" else pair

    passes, others = found.verdicts
    charged = others & (slow | cleared)
    cause = np.where(charged, fabric.explained, -1)
    part = shown(item, passes | charged, found.looks[0].centre, limits, cause)
    first = [one for one in parts if one.verdict != "PASS" or one.state]
    return part._replace(items=[*first, *part.items])


_WAYS = {"link": "link of", "cut": "cut between"}


def _part_items(found: PeerComparison, fabric: Fabric) -> Iterator[Item]:
    """An item for each part. Cuts fail before re-runs confirm them, and links if half are slow."""
    names = found.group.names
    many = 2 * sum(part.kind == "link" for part in fabric.parts) >= len(names)
    for part in fabric.parts:
        groups = [listed_nodes([names[node] for node in group], 2) for group in part.groups]
        place = tuple(names[node] for node in part.nodes)
        at_once = part.kind == "cut" or many
        rows = part.pairs.tolist()
        yield found.together(rows, " and ".join(groups), place, part.kind, at_once=at_once)
