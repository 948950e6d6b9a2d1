# SPDX-License-Identifier: Apache-2.0
"""The seeded random order of a block."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable


def block_order(case_ids: Iterable[str], seed: int, block: int) -> list[str]:
    """The cases of one block in random order, the same for ever for one seed and block.

    The generator: sort by SHA-256 of "seed:block:case_id". It needs no state, does not depend on
    the order the cases come in, and a case that is left out does not move the others.
    """
    return sorted(case_ids, key=lambda case_id: _draw(f"{seed}:{block}:{case_id}"))


def _draw(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
