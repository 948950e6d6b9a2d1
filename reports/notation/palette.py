# SPDX-License-Identifier: Apache-2.0
"""Looks of environments, the same in every picture of every report.

Colours: Okabe & Ito (2008), told apart by colour-blind readers; marker and line style differ too,
so that colour is never the only sign.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

INK = "#1f2933"
QUIET = "#5b6770"
RULE = "#d5dbe0"
PAPER = "#ffffff"
#: Verdicts in pictures.
BAD, OPEN, GOOD = "#b3261e", "#8a6100", "#0072b2"
#: Text on a cell of a heat map, whatever the page's theme.
ON_BRIGHT, ON_DARK = "#20242a", "#fdfdfd"


@dataclass(frozen=True, slots=True)
class Look:
    """`colour` as #rrggbb; `marker` and `dashes` as matplotlib and SVG understand them."""

    colour: str
    marker: str
    dashes: tuple[float, ...]


_SOLID: tuple[float, ...] = ()
_FIXED = {
    "mpich": Look("#0072B2", "o", _SOLID),
    "openmpi": Look("#D55E00", "s", (6, 2)),
    "lam": Look("#009E73", "^", (2, 1.5)),
    "lam-lamd": Look("#CC79A7", "D", (6, 2, 1.5, 2)),
}
_FURTHER = (
    Look("#8C6D00", "v", (4, 1, 1, 1)),
    Look("#2B8CBE", "P", (8, 3)),
    Look(INK, "X", (1, 1)),
    Look("#7A5195", "<", (3, 3)),
    Look("#6B7280", ">", (5, 1, 1, 1, 1, 1)),
    Look("#A6341B", "h", (10, 2)),
)


def looks(environments: Iterable[str]) -> dict[str, Look]:
    """A look for each environment; names outside the table get one by the hash of the name.

    Two such names that meet in one report step to the next free look, in order of name; when all
    are taken, to those of the table that no name here has, then to mixed ones.
    """
    names = list(dict.fromkeys(environments))
    result = {name: _FIXED[name] for name in names if name in _FIXED}
    free = [*_FURTHER, *(look for name, look in _FIXED.items() if name not in result)]
    mixed = (
        Look(one.colour, other.marker, other.dashes)
        for step in range(1, len(_FURTHER))
        for one, other in zip(_FURTHER, _FURTHER[step:] + _FURTHER[:step], strict=True)
    )
    taken: set[int] = set()
    for name in sorted(set(names) - set(result)):
        place = hashlib.sha256(name.encode("utf-8", "replace")).digest()[0] % len(_FURTHER)
        if len(taken) >= len(_FURTHER):
            place = len(taken)
        while place in taken:
            place = (place + 1) % len(_FURTHER)
        if place >= len(free):
            free.append(next(mixed, free[place % len(free)]))
        taken.add(place)
        result[name] = free[place]
    return {name: result[name] for name in names}
