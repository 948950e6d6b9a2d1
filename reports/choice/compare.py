# SPDX-License-Identifier: Apache-2.0
"""Environments against each other, paired by block, with Holm over each family of cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import msgspec.structs
import numpy as np

from records.axes import along_curve
from records.flags import INVALID_ON_PURPOSE
from reports.choice.cells import Comparison
from reports.choice.pairing import (
    Planned,
    Point,
    PointKey,
    combine,
    paired_points,
    points_by_environment,
)
from reports.choice.score import OverallScore, overall_score
from reports.load.loading import Run
from reports.notation.labels import CheckLabels, params_key, point_text
from reports.statistics.signed_rank import LEAST_N, PairedEffect, holm, paired_effects


@dataclass(frozen=True)
class Comparisons:
    """`overall`: over all points of a scope; `groups`: over each curve; `points`: the finest cells,
    empty where every curve has one point only. Every pair of environments, or of the last two those
    with `reference` only (`every_pair` false).

    `unranked` names (check, environment) with wrong records; `unusable` counts points left out
    because a value is not above 0 and has no logarithm.
    """

    reference: str
    overall: list[Comparison]
    groups: list[Comparison]
    points: list[Comparison]
    unranked: frozenset[tuple[str, str]]
    score: OverallScore | None
    every_pair: bool = True
    unusable: int = 0

    @property
    def finest(self) -> list[Comparison]:
        """The cells of single points, whichever family holds them."""
        return self.points or self.groups


#: More (points × pairs) than this are compared with the reference only, and the report says so.
MOST_CELLS_OF_ALL_PAIRS = 40_000

_Cell = tuple[Comparison, Point]


def compare_environments(run: Run, labels: Mapping[str, CheckLabels]) -> Comparisons:
    """Compare all pairs of environments; each of the three tables is a family of its own for Holm.

    The reference is the first environment of the plan. With very many points curves and points
    are compared with the reference only.
    """
    names, register = list(dict.fromkeys(run.plan.environments)), run.plan.register
    cases = run.plan.cases
    keys = [params_key(case) for case in cases]
    table = points_by_environment(run, keys)
    planned = Planned(cases, keys, labels, register)
    points = sum(max(map(len, found.values()), default=0) for found in table.values())
    every_pair = points * len(names) * (len(names) - 1) // 2 <= MOST_CELLS_OF_ALL_PAIRS
    overall: list[_Cell] = []
    compared: list[_Cells] = []
    unusable = 0
    for reference, environment in combinations(names, 2):
        for (check, metric), found in table.items():
            pairs, without_logarithm = paired_points(
                found, environment, reference, register.metrics[metric].better
            )
            cells = _Cells(planned, check, metric, environment, reference, pairs)
            overall += cells.overall()
            if every_pair or reference == names[0]:
                compared.append(cells)
                unusable += without_logarithm
    wrong = frozenset(
        (cases[case].check, cases[case].environment)
        for case, status, flags in run.tally
        if status == "wrong" and INVALID_ON_PURPOSE not in flags
    )
    finer = any(len(cells.pairs) > len(cells.curves) for cells in compared)
    return Comparisons(
        reference=names[0] if names else "",
        overall=_judged(overall),
        groups=_judged([cell for cells in compared for cell in cells.groups()]),
        points=_judged([cell for cells in compared for cell in cells.points()] if finer else []),
        unranked=wrong,
        score=overall_score(run, table, names, wrong),
        every_pair=every_pair,
        unusable=unusable,
    )


@dataclass(frozen=True)
class _Cells:
    """The cells of one pair of environments for one check's deciding metric."""

    planned: Planned
    check: str
    metric: str
    environment: str
    reference: str
    pairs: Mapping[PointKey, Point]

    @cached_property
    def curves(self) -> dict[tuple[str, str], list[PointKey]]:
        """The points of each curve, by scope and name of the curve."""
        found: dict[tuple[str, str], list[PointKey]] = {}
        for key in self.pairs:
            name = self.planned.names(self.check, key, self.environment)
            found.setdefault(name, []).append(key)
        return found

    def overall(self) -> list[_Cell]:
        """One cell for each scope, over all its points."""
        scopes: dict[str, list[PointKey]] = {}
        for key in self.pairs:
            scope, _ = self.planned.names(self.check, key, self.environment)
            scopes.setdefault(scope, []).append(key)
        return [self._cell(scope, "all points", keys) for scope, keys in scopes.items()]

    def groups(self) -> list[_Cell]:
        """One cell for each curve."""
        return [self._cell(scope, label, keys) for (scope, label), keys in self.curves.items()]

    def points(self) -> Iterator[_Cell]:
        """One cell for each point: the finest cells there are."""
        for (scope, curve), keys in self.curves.items():
            for key in keys:
                place = along_curve(key[1])
                own = point_text(*place) if place else "one point"
                label = f"{curve}, {own}" if len(keys) > 1 else curve
                yield self._cell(scope, label, [key], curve)

    def _cell(self, scope: str, label: str, keys: Sequence[PointKey], curve: str = "") -> _Cell:
        point, used = combine([self.pairs[key] for key in keys])
        environment, reference = (
            self.planned.case(self.check, keys[0][0], name).id
            for name in (self.environment, self.reference)
        )
        comparison = Comparison(
            check=self.check,
            scope=scope,
            label=label,
            metric=self.metric,
            environment=self.environment,
            reference=self.reference,
            n=len(point[0]),
            points=used,
            points_planned=len(keys),
            case_ids=(environment, reference),
            curve=curve or label,
            at=keys[0][1] if len(keys) == 1 else (),
        )
        return comparison, point


def _judged(cells: Sequence[_Cell]) -> list[Comparison]:
    """Add effects, computed together for each n, and Holm over all cells with an effect.

    Scope by scope, cell by cell, environments of one cell together.
    """
    by_n: dict[int, list[int]] = {}
    for position, (cell, _) in enumerate(cells):
        if cell.n >= LEAST_N:
            by_n.setdefault(cell.n, []).append(position)
    effects: dict[int, PairedEffect] = {}
    for positions in by_n.values():
        rows = np.stack([cells[position][1][1] for position in positions])
        effects.update(zip(positions, paired_effects(rows), strict=True))
    adjusted = dict(zip(effects, holm([effect.p for effect in effects.values()]), strict=True))
    judged = [
        msgspec.structs.replace(
            cell, effect=effects[place], p_holm=adjusted[place], family=len(effects)
        )
        if place in effects
        else cell
        for place, (cell, _) in enumerate(cells)
    ]
    scopes = {name: place for place, name in enumerate(dict.fromkeys(c.scope for c in judged))}
    labels = dict.fromkeys((cell.scope, cell.label) for cell in judged)
    order = {name: (scopes[name[0]], place) for place, name in enumerate(labels)}
    return sorted(judged, key=lambda cell: order[cell.scope, cell.label])
