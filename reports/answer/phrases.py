# SPDX-License-Identifier: Apache-2.0
"""Parts of sentences: lists of names, factors, commonest reasons."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from records.plain_text import one_line
from reports.notation.units import fixed, percent

_NUMBERS = re.compile(r"[0-9][0-9a-f.:-]*")
#: Words of a reason that a sentence tells.
_MOST_REASON = 14


def listed(names: Sequence[str], most: int = 4, last: str = "and") -> str:
    """ "a, b and c"; of more than `most` names "a, b and 3 others"."""
    shown = list(names)
    if len(shown) > most:
        shown = [*shown[: most - 1], f"{len(shown) - most + 1} others"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} {last} {shown[-1]}"


def costs_more(ratio: float) -> str:
    """A cost over another's, at least 1: "12 % more", from a factor of two on "2.4 times as
    much"."""
    if ratio < 2:
        return f"{percent(ratio - 1)} more"
    return f"{times(ratio)} as much"


def times(ratio: float) -> str:
    """ "2.4 times", from ten on without decimals."""
    return f"{fixed(ratio, 1 if ratio < 9.95 else 0)} times"


def commonest(reasons: Iterable[str]) -> list[tuple[str, int]]:
    """Reasons that differ in numbers only are one, told as first seen; the most frequent first."""
    found: dict[str, tuple[str, int]] = {}
    for reason in reasons:
        key = _NUMBERS.sub("#", reason)
        first, count = found.get(key, (one_line(reason), 0))
        found[key] = first, count + 1
    return sorted(found.values(), key=lambda item: -item[1])


def short_reason(reason: str) -> str:
    """A reason of at most so many words as a sentence has room for."""
    words = reason.split()
    return " ".join(words if len(words) <= _MOST_REASON else [*words[: _MOST_REASON - 1], "…"])
