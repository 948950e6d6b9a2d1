# SPDX-License-Identifier: Apache-2.0
"""Who leads each scope, who wins how often, and at which message lengths the winner changes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from records.axes import MESSAGE_BYTES
from reports.analysis.cells import Comparison
from reports.analysis.compare import Comparisons


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


@dataclass(frozen=True, slots=True)
class Tally:
    """Points of `environment` against `other`: resolved wins and losses, equivalent, unresolved
    ("not slower" and "not faster" are)."""

    environment: str
    other: str
    wins: int
    ties: int
    losses: int
    unresolved: int


def win_tie_loss(cells: Iterable[Comparison], environments: Sequence[str]) -> list[Tally]:
    """One tally for each ordered pair that has cells; `no verdict` counts as unresolved."""
    counts: dict[tuple[str, str], list[int]] = {}
    place = {"faster": (0, 2), "equivalent": (1, 1), "slower": (2, 0)}
    for cell in cells:
        mine, theirs = place.get(cell.word, (3, 3))
        counts.setdefault((cell.environment, cell.reference), [0] * 4)[mine] += 1
        counts.setdefault((cell.reference, cell.environment), [0] * 4)[theirs] += 1
    return [
        Tally(a, b, *counts[a, b]) for a in environments for b in environments if (a, b) in counts
    ]


@dataclass(frozen=True, slots=True)
class Crossover:
    """Along `curve` the resolved winner changes from `below` to `above` between two lengths.

    `last_bytes` is the greatest length at which `below` still wins, `first_bytes` the least at
    which `above` does; between them nothing is resolved.
    """

    scope: str
    curve: str
    below: str
    above: str
    last_bytes: int
    first_bytes: int
    cells: tuple[Comparison, Comparison]


def crossovers(cells: Iterable[Comparison]) -> list[Crossover]:
    """Changes of the winner along each curve and pair, by ascending message length."""
    curves: dict[tuple[str, ...], list[tuple[int, Comparison]]] = {}
    for cell in cells:
        size = dict(cell.at).get(MESSAGE_BYTES)
        if isinstance(size, int) and cell.word in ("faster", "slower"):
            key = (cell.scope, cell.metric, cell.curve, cell.environment, cell.reference)
            curves.setdefault(key, []).append((size, cell))
    changes = []
    for found in curves.values():
        for (last, a), (first, b) in pairwise(sorted(found, key=lambda item: item[0])):
            below, above = (c.environment if c.word == "faster" else c.reference for c in (a, b))
            if below != above:
                changes.append(Crossover(a.scope, a.curve, below, above, last, first, (a, b)))
    return changes
