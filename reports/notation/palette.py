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


_FIXED = {
    "mpich": Look("#0072B2", "o", ()),
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

    Two such names that meet in one report step to the next free look, in order of name, then to
    those of the table that no name here has.
    """
    names = list(dict.fromkeys(environments))
    free = [*_FURTHER, *(look for name, look in _FIXED.items() if name not in names)]
    taken: dict[str, int] = {}
    for name in sorted({*names} - _FIXED.keys()):
        index = hashlib.sha256(name.encode("utf-8", "replace")).digest()[0] % len(_FURTHER)
        while index in taken.values() and len(taken) < len(free):
            index = (index + 1) % len(free)
        taken[name] = index
    return {name: _FIXED.get(name) or free[taken[name]] for name in names}
