# SPDX-License-Identifier: Apache-2.0
"""Who wins how often, and at which message lengths the winner changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from records.axes import MESSAGE_BYTES
from reports.choice.cells import Comparison


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
