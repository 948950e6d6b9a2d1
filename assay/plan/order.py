# SPDX-License-Identifier: Apache-2.0
"""What the seed draws: the order of a block, and which launches of it run alone."""

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


def runs_alone(case_id: str, seed: int, block: int, at_once: int) -> bool:
    """Whether a launch that others may run beside runs alone even so, always the same for one seed.

    One of `at_once` + 1 does, at random: together they take about the time of all others side by
    side. By them a report tests whether neighbours mattered; the draw owes nothing to what is
    measured.
    """
    digest = hashlib.sha256(f"alone:{seed}:{block}:{case_id}".encode()).digest()
    return int.from_bytes(digest[:8]) % (at_once + 1) == 0
