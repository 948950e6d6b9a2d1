# SPDX-License-Identifier: Apache-2.0
"""The seeded random order of a block."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable


def block_order(case_ids: Iterable[str], seed: int, block: int) -> list[str]:
    """The cases of one block in random order, always the same for one seed and block.

    They are sorted by SHA-256 of "seed:block:case_id": the order needs no state, does not depend on
    the order of `case_ids`, and a case that is left out does not move the others.
    """
    return sorted(
        case_ids,
        key=lambda case_id: hashlib.sha256(f"{seed}:{block}:{case_id}".encode()).digest(),
    )
