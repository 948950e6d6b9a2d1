# SPDX-License-Identifier: Apache-2.0
"""The leader of each scope, and its advantage over the runner-up."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reports.choice.cells import Comparison
from reports.choice.compare import Comparisons


@dataclass(frozen=True, slots=True)
class Ranking:
    """Best environment of a scope and its advantage over the runner-up."""

    scope: str
    metric: str
    best: str
    runner_up: str
    comparison: Comparison
    advantage: str
    others: str
    unranked: tuple[str, ...]
    failing: tuple[str, ...]


def rankings(comparisons: Comparisons) -> list[Ranking]:
    """For each scope the best environment by its estimate; environments with wrong records out."""
    scopes: dict[tuple[str, str], list[Comparison]] = {}
    for cell in comparisons.overall:
        scopes.setdefault((cell.scope, cell.metric), []).append(cell)
    ranked = (_rank(cells, comparisons.unranked) for cells in scopes.values())
    return [ranking for ranking in ranked if ranking is not None]


def _rank(cells: Sequence[Comparison], wrong: frozenset[tuple[str, str]]) -> Ranking | None:
    """The environment that most often has the better estimate, and the runner-up, in one scope.

    Ties go to the greater sum of ln of the advantages. None without two comparable environments.
    """
    unranked = {name for check, name in wrong if check == cells[0].check}
    failing = set()  # beyond doubt more often than another; they lead nothing
    for cell in cells:
        for name in (cell.environment, cell.reference):
            own, other = cell.seen_from(name).failures
            if own.unreliable_beside(other):
                failing.add(name)
    scores: defaultdict[str, float] = defaultdict(float)
    wins: Counter[str] = Counter()
    against: defaultdict[str, dict[str, Comparison]] = defaultdict(dict)
    for cell in cells:
        mine, theirs = cell.environment, cell.reference
        if cell.effect and not {mine, theirs} & (unranked | failing):
            scores[mine] += float(np.log(cell.effect.ratio))
            scores[theirs] -= float(np.log(cell.effect.ratio))
            wins[mine if cell.effect.ratio > 1 else theirs] += 1
            against[mine][theirs] = cell
            against[theirs][mine] = cell.seen_from(theirs)
    leaders = sorted(scores, key=lambda name: (-wins[name], -scores[name]))[:2]
    if not leaders or leaders[1] not in against[leaders[0]]:
        return None
    best, second = leaders
    others = [
        f"{name} {against[name][best].difference}"
        for name in scores
        if name != second and name in against[best]
    ]
    cell = against[best][second]
    return Ranking(
        *(cell.scope, cell.metric, best, second, cell, cell.difference, ", ".join(others)),
        *(tuple(sorted(unranked)), tuple(sorted(failing))),
    )
