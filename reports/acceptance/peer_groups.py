# SPDX-License-Identifier: Apache-2.0
"""Nodes or pairs of nodes that are compared with each other, as a matrix; what is missing there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from records.criteria import Criterion
from reports.acceptance.criteria_judges import Context
from reports.acceptance.model import Item, LaunchKey
from reports.acceptance.values import Values
from reports.statistics.descriptive import Matrix

Place = tuple[str, ...]


@dataclass(frozen=True)
class PeerGroup:
    """Nodes or pairs of one case and one point beside the nodes.

    `parts` has the values of each by its nodes in natural order. `logs` are logarithms of the
    values, a peer a row and a block a column, times `sign`: greater is better. Of a pair that was
    measured in both directions the worse value counts.
    """

    point: str
    names: Place
    parts: Mapping[Place, list[Values]]
    blocks: tuple[int, ...]
    logs: Matrix
    sign: int

    @property
    def places(self) -> list[Place]:
        """The nodes or pairs, in the order of rows."""
        return list(self.parts)

    @property
    def launches(self) -> tuple[LaunchKey, ...]:
        """The launches behind the columns."""
        return tuple((self.first.case.id, block) for block in self.blocks)

    @property
    def first(self) -> Values:
        """The values of the first peer."""
        return next(iter(self.parts.values()))[0]

    def missing(self, criterion: Criterion, context: Context) -> Iterator[Item]:
        """Nodes and pairs that were planned to have a value here and have none."""
        case, names, size = self.first.case, self.names, len(self.first.place)
        ran = context.evidence.nodes
        if case.nodes == len(ran) and {*names} <= {*ran}:
            names = natural_order(ran)
        alone = {*names} - {*self.names}
        lost: list[Place] = [(name,) for name in names if name in alone]
        if size == 2:
            pairs = len(self.names) * (len(self.names) - 1) // 2
            if pairs > len(self.parts):
                lost += [pair for pair in combinations(self.names, 2) if pair not in self.parts]
        for place in lost:
            yield context.missing(criterion, case, "–".join(place), place)
        if case.nodes > len(names):
            yield context.missing(criterion, case, f"{case.nodes - len(names)} nodes")


def peer_groups(criterion: Criterion, context: Context, size: int) -> list[PeerGroup]:
    """What a criterion on nodes (size 1) or pairs (2) selects, in groups of two members or more."""
    groups: dict[tuple[str, str], dict[Place, list[Values]]] = {}
    for values in context.evidence.selected(criterion):
        if len(values.place) == size:
            point = context.point(values, ("node", "peer"))
            members = groups.setdefault((values.case.id, point), {})
            members.setdefault(natural_order(values.place), []).append(values)
    sign = -1 if groups and context.lower_is_better(criterion.metric) else 1
    return [_group(key[1], members, sign) for key, members in groups.items() if len(members) > 1]


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
    parts = {place: members[place] for place in places}
    return PeerGroup(point, names, parts, tuple(blocks.tolist()), logs, sign)


def positions(group: PeerGroup) -> Sequence[int]:
    """The place of each pair of the group among all pairs of its nodes (`combinations`)."""
    rank = {name: number for number, name in enumerate(group.names)}
    n = len(group.names)
    found = []
    for one, other in group.places:
        low, high = sorted((rank[one], rank[other]))
        found.append(low * (2 * n - low - 1) // 2 + high - low - 1)
    return found


def natural_order(names: Iterable[str]) -> Place:
    """Names with n2 before n10."""
    return tuple(sorted(names, key=natural))


def natural(name: str) -> list[tuple[int, str]]:
    """A key that puts n2 before n10."""
    parts = re.findall(r"\d+|\D", name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]
