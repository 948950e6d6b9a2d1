# SPDX-License-Identifier: Apache-2.0
"""Parts of sentences: lists of names, factors, short reasons."""

from __future__ import annotations

from collections.abc import Sequence

from reports.notation.units import percent, three_digits

#: Words of a reason that a sentence tells.
_MOST_REASON = 14


def listed(names: Sequence[str], most: int = 4, last: str = "and") -> str:
    """ "a, b and c"; of more than `most` names "a, b and 3 others"."""
    shown = list(names)
    if len(shown) > most:
        shown = [*shown[: most - 1], f"{len(shown) - most + 1} others"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} {last} {shown[-1]}"


def costs_more(ratio: float) -> str:
    """A cost over another's, at least 1: "12 % more", from a factor of two on "2.41 times
    as much"."""
    if ratio < 2:
        return f"{percent(ratio - 1)} more"
    return f"{times(ratio)} as much"


def times(ratio: float) -> str:
    """ "2.41 times"."""
    return f"{three_digits(ratio)} times"


def short_reason(reason: str) -> str:
    """A reason of at most so many words as a sentence has room for."""
    words = reason.split()
    return " ".join(words if len(words) <= _MOST_REASON else [*words[: _MOST_REASON - 1], "…"])
