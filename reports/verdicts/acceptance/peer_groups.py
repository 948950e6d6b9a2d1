# SPDX-License-Identifier: Apache-2.0
"""Nodes or pairs of nodes that are compared with each other, as a matrix; what is missing there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from records.criteria import Criterion
from records.run.rerun import CHECKS_OF_PAIRS, ONLY
from records.site.pair_scans import NODE, PEER, Indices, chance_node_missed, positions_of
from records.text.plain_text import natural_order
from reports.judgement import Item, LaunchKey
from reports.statistics.descriptive import Matrix
from reports.verdicts.acceptance.criteria_judges import Context
from reports.verdicts.acceptance.values import ScanValues, Values

Place = tuple[str, ...]
#: Of more pairs without a value one item tells their number.
MOST_MISSING = 100


@dataclass(frozen=True)
class PeerGroup:
    """Nodes or pairs of one case and one point.

    `ends` has for each row the numbers of its nodes among `names`, ascending; `first` are the
    values of the first row. `logs` are logarithms of the values, a peer a row and a block a column,
    times `sign`: greater is better. Of a pair that was measured in both directions the worse value
    counts.
    """

    point: str
    names: Place
    ends: Indices
    first: Values
    blocks: tuple[int, ...]
    logs: Matrix
    sign: int

    def place(self, row: int) -> Place:
        """The node or pair of a row."""
        return tuple(self.names[end] for end in self.ends[row].tolist())

    @cached_property
    def launches(self) -> tuple[LaunchKey, ...]:
        """The launches behind the columns."""
        return tuple((self.first.case.id, block) for block in self.blocks)

    def missing(self, criterion: Criterion, context: Context) -> Iterator[Item]:
        """Nodes and pairs that were planned to have a value here and have none; of more pairs than
        MOST_MISSING their number. Where the criterion names a node, its pairs alone."""
        case, ran = self.first.case, context.evidence.nodes
        only = case.params.get(ONLY) if case.check in CHECKS_OF_PAIRS else None
        named = {str(criterion.where[end]) for end in (NODE, PEER) if end in criterion.where}
        nodes: list[str] = []
        pairs: list[Place] = []
        further = 0
        if only:
            asked = dict.fromkeys(natural_order({*pair.split(":")}) for pair in only)
            pairs = [pair for pair in self._without_row(asked) if named <= {*pair}]
        elif named:
            if self._all_pairs(len(ran)) and case.nodes == len(ran) and named <= {*ran}:
                others = [name for name in ran if name not in named] if len(named) == 1 else [""]
                asked = dict.fromkeys(natural_order({*named, name} - {""}) for name in others)
                pairs = self._without_row(asked)
        else:
            nodes, further = self._nodes_lost(ran)
            if self._all_pairs(len(self.names) + len(nodes)):
                ends = self._ends_lost()
                if len(ends) > MOST_MISSING:
                    yield context.missing(criterion, case, f"{len(ends)} pairs of nodes")
                else:
                    pairs = [tuple(self.names[end] for end in pair) for pair in ends.tolist()]
        if len(pairs) > MOST_MISSING and not named:
            yield context.missing(criterion, case, f"{len(pairs)} pairs of nodes")
            pairs = []
        for place in (*((name,) for name in nodes), *pairs):
            yield context.missing(criterion, case, "–".join(place), place)
        if further > 0:
            yield context.missing(criterion, case, f"{further} nodes")

    def _all_pairs(self, nodes: int) -> bool:
        """True where a launch has all pairs of so many nodes: not of its rounds alone, nor those of
        other nodes in each launch."""
        case = self.first.case
        return len(self.first.place) == 2 and not case.params.get("rounds") and case.nodes >= nodes

    def _nodes_lost(self, ran: Sequence[str]) -> tuple[list[str], int]:
        """Nodes without a value, of all that the run was on where the case needs as many; how many
        others."""
        case, known = self.first.case, {*self.names}
        whole = case.nodes == len(ran) and known <= {*ran}
        nodes = [name for name in natural_order(ran) if name not in known] if whole else []
        further = case.nodes - len(known) - len(nodes)
        rounds = case.params.get("rounds")
        idle = isinstance(rounds, int) and chance_node_missed(case.nodes, rounds) > 0
        if len(self.first.place) == 2 and idle and len(nodes) + further == 1:
            return [], 0  # the sample leaves a node without a partner
        return nodes, further

    def _without_row(self, pairs: Mapping[Place, None]) -> list[Place]:
        known = {self.place(row) for row in range(len(self.ends))}
        return [pair for pair in pairs if pair not in known]

    def _ends_lost(self) -> Indices:
        """The pairs of the nodes that have no row."""
        nodes = len(self.names)
        lost = np.ones(nodes * (nodes - 1) // 2, dtype=bool)
        lost[positions_of(self.ends[:, 0], self.ends[:, 1], nodes)] = False
        if not lost.any():
            return np.empty((0, 2), dtype=np.int64)
        return np.stack(np.triu_indices(nodes, 1), axis=1)[lost]


def peer_groups(criterion: Criterion, context: Context, size: int) -> list[PeerGroup]:
    """Nodes (size 1) or pairs (2) that a criterion selects, in groups of two members or more."""
    groups: dict[tuple[str, str], dict[Place, list[Values]]] = {}
    evidence = context.evidence
    for environment in evidence.environments_of(criterion):
        for values in evidence.inside(criterion, environment):
            if len(values.place) == size:
                point = context.point(values, (NODE, PEER))
                members = groups.setdefault((values.case.id, point), {})
                members.setdefault(natural_order(values.place), []).append(values)
    scans = evidence.scans_of(criterion) if size == 2 else []
    scans = [scan for scan in scans if len(scan.columns.low) > 1]
    metric = evidence.register.metrics[criterion.metric] if groups or scans else None
    sign = -1 if metric and metric.better == "lower" else 1
    found = [_group(key[1], members, sign) for key, members in groups.items() if len(members) > 1]
    return [*found, *(_scan_group(scan, context, sign) for scan in scans)]


def _group(point: str, members: Mapping[Place, Sequence[Values]], sign: int) -> PeerGroup:
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
    return PeerGroup(point, names, ends, first, tuple(blocks.tolist()), logs, sign)


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
    )
