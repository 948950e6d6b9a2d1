# SPDX-License-Identifier: Apache-2.0
"""Names with numbers in the order that people expect."""

from __future__ import annotations

import re
from collections.abc import Iterable


def natural_order(names: Iterable[str]) -> tuple[str, ...]:
    """Names with n2 before n10."""
    return tuple(sorted(names, key=natural))


def natural(name: str) -> list[tuple[int, str]]:
    """A key that puts n2 before n10."""
    parts = re.findall(r"\d+|\D", name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]
