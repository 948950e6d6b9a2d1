# SPDX-License-Identifier: Apache-2.0
"""Reasons that say the same: launches that ended badly, grouped by why."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from records.text.plain_text import one_line

NO_REASON = "no reason recorded"
#: What differs between launches that ended for one reason: quoted text, paths, ids, names of nodes
#: and hosts, numbers.
_VARIES = re.compile(r"'[^']*'|\"[^\"]*\"|\S*/\S*|\S*\d\S*")


@dataclass(frozen=True, slots=True)
class ReasonGroup:
    """Launches with one status whose reasons differ in names and numbers only. `reason` is the most
    frequent text, `places` those of the launches among all that were given."""

    status: str
    reason: str
    places: tuple[int, ...]


def _text(reason: str | None) -> str:
    return one_line(reason or "").strip() or NO_REASON


def alike(reason: str | None) -> str:
    """Text that reasons which say the same have in common."""
    return _VARIES.sub("#", _text(reason))


def grouped(reasons: Iterable[tuple[str, str | None]]) -> list[ReasonGroup]:
    """(status, reason) of launches as groups, the greatest first."""
    found: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for place, (status, reason) in enumerate(reasons):
        found.setdefault((status, alike(reason)), []).append((place, _text(reason)))
    groups = []
    for (status, _), mine in found.items():
        places, texts = zip(*mine, strict=True)
        groups.append(ReasonGroup(status, Counter(texts).most_common(1)[0][0], places))
    return sorted(groups, key=lambda group: -len(group.places))
