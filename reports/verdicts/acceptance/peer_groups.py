# SPDX-License-Identifier: Apache-2.0
"""Nodes or pairs of nodes that are compared with each other, as a matrix; what is missing there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from records.criteria import Criterion
from records.run.rerun import CHECKS_OF_PAIRS, ONLY
from records.site.pair_places import Indices, positions_of
from records.site.pair_scans import NODE, PEER, chance_node_missed
from reports.notation.natural import natural_order
from reports.statistics.descriptive import Matrix
from reports.verdicts.acceptance.criteria_judges import Context
from reports.verdicts.acceptance.model import Item, LaunchKey
from reports.verdicts.acceptance.values import ScanValues, Values

Place = tuple[str, ...]
#: Of more pairs without a value one item tells their number.
MOST_MISSING = 100


class Places(Sequence[Place]):
    """The nodes or pairs of rows by their names, made when they are asked for."""

    def __init__(self, names: Place, ends: Indices) -> None:
        self._names, self._ends = names, ends

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, row: int) -> Place: ...

    @overload
    def __getitem__(self, row: slice) -> Places: ...

    def __getitem__(self, row: int | slice) -> Place | Places:
        if isinstance(row, slice):
            return Places(self._names, self._ends[row])
        return tuple(self._names[end] for end in self._ends[row].tolist())


@dataclass(frozen=True)
class PeerGroup:
    """Nodes or pairs of one case and one point beside the nodes.

    `ends` has for each row the numbers of its nodes among `names`, ascending; `first` are the
    values of the first row. `logs` are logarithms of the values, a peer a row and a block a column,
    times `sign`: greater is better. Of a pair that was measured in both directions the worse value
    counts. `switches` has the switch of each node where it is known.
    """

    point: str
    names: Place
    ends: Indices
    first: Values
    blocks: tuple[int, ...]
    logs: Matrix
    sign: int
    switches: Place = ()

    @property
    def places(self) -> Places:
        """The nodes or pairs, in the order of rows."""
        return Places(self.names, self.ends)

    @property
    def launches(self) -> tuple[LaunchKey, ...]:
        """The launches behind the columns."""
        return tuple((self.first.case.id, block) for block in self.blocks)

    def missing(self, criterion: Criterion, context: Context) -> Iterator[Item]:
        """Nodes and pairs that were planned to have a value here and have none; of more pairs than
        MOST_MISSING their number. Where the criterion names a node, its pairs alone."""
        case, size, known = self.first.case, len(self.first.place), {*self.names}
        only = case.params.get(ONLY) if case.check in CHECKS_OF_PAIRS else None
        if named := {str(criterion.where[end]) for end in (NODE, PEER) if end in criterion.where}:
            for place in self._lost_with(named, only, context.evidence.nodes):
                yield context.missing(criterion, case, "–".join(place), place)
            return
        names = self.names if only else self._planned_names(context.evidence.nodes)
        lost = [(name,) for name in names if name not in known]
        further = 0 if only else case.nodes - len(names)
        if size == 2 and len(lost) + further == 1 and self._one_is_idle:
            lost, further = [], 0
        pairs: Sequence[Place] = self._lost_of(only) if only else ()
        # A launch has all pairs of its rounds; launches on other nodes each have others.
        if size == 2 and not only and not case.params.get("rounds") and case.nodes >= len(names):
            pairs = self._lost_pairs()
        if len(pairs) > MOST_MISSING:
            yield context.missing(criterion, case, f"{len(pairs)} pairs of nodes")
            pairs = ()
        for place in (*lost, *pairs):
            yield context.missing(criterion, case, "–".join(place), place)
        if further > 0:
            yield context.missing(criterion, case, f"{further} nodes")

    def _planned_names(self, ran: Sequence[str]) -> Place:
        """All nodes that the run was on where the case needs as many, else those with a value."""
        if self.first.case.nodes == len(ran) and {*self.names} <= {*ran}:
            return natural_order(ran)
        return self.names

    @property
    def _one_is_idle(self) -> bool:
        """Whether the sample leaves a node without a partner."""
        rounds = self.first.case.params.get("rounds")
        return isinstance(rounds, int) and chance_node_missed(self.first.case.nodes, rounds) > 0

    def _lost_of(self, listed: Sequence[str]) -> list[Place]:
        """The listed pairs, as n1:n2, that have no row."""
        known = {*self.places}
        asked = dict.fromkeys(natural_order({*pair.split(":")}) for pair in listed)
        return [pair for pair in asked if pair not in known]

    def _lost_with(
        self, named: set[str], listed: Sequence[str] | None, ran: Sequence[str]
    ) -> list[Place]:
        """The pairs of one or two named nodes that were planned and have no row."""
        if listed:
            return [pair for pair in self._lost_of(listed) if named <= {*pair}]
        case = self.first.case
        if (
            len(self.first.place) < 2
            or case.params.get("rounds")
            or case.nodes != len(ran)
            or not named <= {*ran}
        ):
            return []
        pairs = [named] if len(named) > 1 else [named | {name} for name in ran if name not in named]
        known = {*self.places}
        return [pair for pair in map(natural_order, pairs) if pair not in known]

    def _lost_pairs(self) -> Places:
        """The pairs of the nodes that have no row."""
        nodes = len(self.names)
        lost = np.ones(nodes * (nodes - 1) // 2, dtype=bool)
        lost[positions(self)] = False
        if not lost.any():
            return Places(self.names, np.empty((0, 2), dtype=np.int64))
        ends = np.stack(np.triu_indices(nodes, 1), axis=1)
        return Places(self.names, ends[lost])


def peer_groups(criterion: Criterion, context: Context, size: int) -> list[PeerGroup]:
    """What a criterion on nodes (size 1) or pairs (2) selects, in groups of two members or more."""
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
    sign = -1 if (groups or scans) and context.lower_is_better(criterion.metric) else 1
    found = [_group(key[1], members, sign) for key, members in groups.items() if len(members) > 1]
    return [*found, *(_scan_group(scan, context, sign) for scan in scans)]


def _group(point: str, members: Mapping[Place, list[Values]], sign: int) -> PeerGroup:
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
    """The pairs of a scan, as they lie in its columns."""
    columns = scan.columns
    first = scan.row(0)
    return PeerGroup(
        context.point(first, (NODE, PEER)),
        columns.names,
        np.stack([columns.low, columns.high], axis=1),
        first,
        columns.blocks,
        sign * np.log(columns.values.astype(np.float64)),
        sign,
        columns.switches if any(columns.switches) else (),
    )


def positions(group: PeerGroup) -> Indices:
    """The place of each pair of the group among all pairs of its nodes (`combinations`)."""
    return positions_of(group.ends[:, 0], group.ends[:, 1], len(group.names))
