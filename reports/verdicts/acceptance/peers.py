# SPDX-License-Identifier: Apache-2.0
"""Nodes or pairs of nodes as a matrix: what is missing there, each held against the good ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, compress
from statistics import median
from typing import Any

import numpy as np
from msgspec.structs import asdict, replace

from records.criteria import Criterion
from records.run.rerun import CHECKS_OF_PAIRS, ONLY
from records.site.pair_scans import NODE, PEER, Indices, positions_of
from records.text.plain_text import natural_order
from reports.judgement import Item, LaunchKey, Subject
from reports.statistics.bounds import Bounds, Flags, Limits, bound_rank, decide, decided
from reports.statistics.descriptive import Matrix
from reports.statistics.levels import Peers, peers_of, reach_of, row_medians
from reports.verdicts.acceptance.context import Context, settled
from reports.verdicts.acceptance.values import ScanValues, Values

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
    def by_blocks(self) -> list[Peers]:
        """The peers in all blocks and, where there are re-runs, in those of the run alone."""
        again = self.fresh.any() and not self.fresh.all()
        run = [self.logs[:, ~self.fresh]] if again else []
        return [peers_of(logs) for logs in (self.logs, *run)]

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

    peers: Peers
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

    `levels` are those of the good ones by `group.by_blocks`: in all blocks and, where there are
    re-runs, in those of the run alone.
    """

    group: PeerGroup
    context: Context
    limits: Limits
    levels: Sequence[float]

    @cached_property
    def looks(self) -> list[PeerLook]:
        """All blocks, and those of the run alone."""
        every = self.group.by_blocks
        centre = self._shown(every[0].centres - self.levels[0])
        return [self._look(*one, centre) for one in zip(every, self.levels, strict=True)]

    def _look(self, peers: Peers, level: float, centre: Matrix) -> PeerLook:
        confidence = self.context.level(peers.logs.shape[1])
        ends = np.sort(self._shown(np.stack(reach_of(peers, level, confidence))), axis=0)
        ends[:, peers.counts < self.context.criteria.least_launches] = np.nan
        passes, fails = decided(ends, self.limits)
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
            bounds, note = asdict(run[0].bounds(row)), "met by the launches of the run"
            return replace(item, **bounds, verdict="PASS", note=note)
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
        if bound_rank(item.n, self.context.criteria.confidence) is None:
            note = f"beyond the limit, but n = {item.n} is too few to suspect anybody"
            return replace(item, verdict="INCONCLUSIVE", note=note)
        return settled(item, self.again(row))

    def together(
        self, rows: Sequence[int], subject: str, place: Place, about: Subject, *, at_once: bool
    ) -> Item:
        """Item of several rows together: the median of them in each block."""
        every, fresh = self.looks[0], self.group.fresh
        logs = row_medians(every.peers.logs[list(rows)].T) - every.level
        shares, again = self._shares(logs), self._shares(logs[fresh])
        bounds = self.context.bounds(shares)
        measured = np.exp(self.group.sign * row_medians(self.group.logs[list(rows)].T))
        measured = measured[np.isfinite(logs)]
        typical = float(np.median(measured)) if measured.size else None
        item = self._item(subject, place, about, bounds, shares, measured=typical)
        if item.verdict == "FAIL":
            if bounds.method == "order":
                return settled(item, again, at_once=at_once)
            note = f"beyond the limit, but n = {bounds.n} is too few to suspect anything"
            return replace(item, verdict="INCONCLUSIVE", note=note)
        before = self.context.bounds(self._shares(logs[~fresh]))
        verdict, _ = decide(before, *self.limits, self.context.criteria.least_launches)
        suspected = again and verdict == "FAIL" and before.method == "order"
        return settled(item, again) if suspected else item

    def _item(
        self,
        subject: str,
        place: Place,
        about: Subject,
        bounds: Bounds,
        shares: Sequence[float],
        **more: Any,
    ) -> Item:
        first, context = self.group.first, self.context
        more = {"launches": self.group.launches} | more
        more |= {"place": place, "point": self.group.point, "about": about, "shares": tuple(shares)}
        unit = context.evidence.register.metrics[first.metric].unit
        return context.item(
            first.case, first.metric, subject, bounds, self.limits, measured_unit=unit, **more
        )
