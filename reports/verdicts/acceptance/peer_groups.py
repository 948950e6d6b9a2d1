# SPDX-License-Identifier: Apache-2.0
"""Nodes or pairs of nodes that are compared with each other, as a matrix; what is missing there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from records.criteria import Criterion
from records.run.rerun import CHECKS_OF_PAIRS, ONLY
from records.site.pair_scans import NODE, PEER, Indices, positions_of
from records.text.plain_text import natural_order
from reports.judgement import Item, LaunchKey
from reports.statistics.bounds import Flags
from reports.statistics.descriptive import Matrix
from reports.statistics.levels import Peers, peers_of
from reports.verdicts.acceptance.context import Context
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
