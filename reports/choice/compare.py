# SPDX-License-Identifier: Apache-2.0
"""Environments against each other, paired by block, with Holm over each family of cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
    Table,
    combine,
    paired_points,
    points_by_environment,
)
from reports.choice.score import OverallScore, overall_score
from reports.load.loading import AtKey, Run
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
    keys = [params_key(case) for case in run.plan.cases]
    table = points_by_environment(run, keys)
    planned = Planned(run.plan.cases, keys, labels, register)
    every_pair = _every_pair(table, len(names))
    overall: list[_Cell] = []
    groups: list[_Cell] = []
    compared: list[_Cells] = []
    unusable = 0
    for reference, environment in combinations(names, 2):
        for check, metric in table:
            pairs, without_logarithm = paired_points(
                table[check, metric], environment, reference, register.metrics[metric].better
            )
            cells = _Cells(planned, check, metric, environment, reference, pairs)
            overall += cells.overall()
            if every_pair or reference == names[0]:
                groups += cells.groups()
                compared.append(cells)
                unusable += without_logarithm
    wrong = _wrong_environments(run)
    finer = any(cells.has_longer_curves for cells in compared)
    points = [cell for cells in compared for cell in cells.points()] if finer else []
    return Comparisons(
        reference=names[0] if names else "",
        overall=_by_scope(_judged(overall)),
        groups=_by_scope(_judged(groups)),
        points=_by_scope(_judged(points)),
        unranked=wrong,
        score=overall_score(run, table, names, wrong),
        every_pair=every_pair,
        unusable=unusable,
    )


def _every_pair(table: Table, environments: int) -> bool:
    """Whether curves and points of all pairs can be compared within reason."""
    most = sum(
        max((len(found) for found in by_environment.values()), default=0)
        for by_environment in table.values()
    )
    return most * environments * (environments - 1) // 2 <= MOST_CELLS_OF_ALL_PAIRS


def _by_scope(cells: list[Comparison]) -> list[Comparison]:
    """Scope by scope, cell by cell, environments of one cell together."""
    order: dict[tuple[str, str], int] = {}
    scopes: dict[str, int] = {}
    for cell in cells:
        scopes.setdefault(cell.scope, len(scopes))
        order.setdefault((cell.scope, cell.label), len(order))
    return sorted(cells, key=lambda cell: (scopes[cell.scope], order[cell.scope, cell.label]))


def _wrong_environments(run: Run) -> frozenset[tuple[str, str]]:
    cases = run.plan.cases
    return frozenset(
        (cases[case].check, cases[case].environment)
        for case, status, flags in run.tally
        if status == "wrong" and INVALID_ON_PURPOSE not in flags
    )


class _Cells:
    """The cells of one pair of environments for one check's deciding metric."""

    def __init__(  # noqa: PLR0917
        self,
        planned: Planned,
        check: str,
        metric: str,
        environment: str,
        reference: str,
        pairs: Mapping[PointKey, Point],
    ) -> None:
        self._planned = planned
        self._metric = metric
        self._environment = environment
        self._reference = reference
        self._pairs = pairs
        self._check = check
        self._scopes: dict[str, list[PointKey]] = {}
        self._groups: dict[tuple[str, str], list[PointKey]] = {}
        for key in pairs:
            name = planned.names(check, key, environment)
            self._scopes.setdefault(name[0], []).append(key)
            self._groups.setdefault(name, []).append(key)

    @property
    def has_longer_curves(self) -> bool:
        """Whether some curve has more than one point."""
        return len(self._pairs) > len(self._groups)

    def overall(self) -> Iterator[_Cell]:
        """One cell for each scope, over all its points."""
        for scope, keys in self._scopes.items():
            yield from self._cell(scope, "all points", keys)

    def groups(self) -> Iterator[_Cell]:
        """One cell for each curve."""
        for (scope, label), keys in self._groups.items():
            yield from self._cell(scope, label, keys)

    def points(self) -> Iterator[_Cell]:
        """One cell for each point: the finest cells there are."""
        for (scope, curve), keys in self._groups.items():
            for key in keys:
                text = f"{curve}, {_at_text(key[1])}" if len(keys) > 1 else curve
                yield from self._cell(scope, text, [key], curve)

    def _cell(
        self, scope: str, label: str, keys: Sequence[PointKey], curve: str = ""
    ) -> Iterator[_Cell]:
        combined = combine([self._pairs[key] for key in keys])
        if combined is None:
            return
        point, used = combined
        cases = [
            self._planned.case(self._check, keys[0][0], name).id
            for name in (self._environment, self._reference)
        ]
        yield (
            Comparison(
                check=self._check,
                scope=scope,
                label=label,
                metric=self._metric,
                environment=self._environment,
                reference=self._reference,
                n=len(point[0]),
                points=used,
                points_planned=len(keys),
                case_ids=(cases[0], cases[1]),
                curve=curve or label,
                at=keys[0][1] if len(keys) == 1 else (),
            ),
            point,
        )


def _at_text(at: AtKey) -> str:
    """What tells a point from the others of its curve."""
    place = along_curve(at)
    return point_text(*place) if place else "one point"


def _judged(cells: Sequence[_Cell]) -> list[Comparison]:
    """Add effects, computed together for each n, and Holm over all cells with an effect."""
    by_n: dict[int, list[int]] = {}
    for position, (cell, _) in enumerate(cells):
        if cell.n >= LEAST_N:
            by_n.setdefault(cell.n, []).append(position)
    effects: dict[int, PairedEffect] = {}
    for positions in by_n.values():
        rows = np.stack([cells[position][1][1] for position in positions])
        effects.update(zip(positions, paired_effects(rows), strict=True))
    adjusted = dict(zip(effects, holm([effect.p for effect in effects.values()]), strict=True))
    return [
        msgspec.structs.replace(
            cell, effect=effects[place], p_holm=adjusted[place], family=len(effects)
        )
        if place in effects
        else cell
        for place, (cell, _) in enumerate(cells)
    ]
