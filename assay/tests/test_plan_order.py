# SPDX-License-Identifier: Apache-2.0
"""The order of a block: random to the eye, the same for ever for one seed."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

from assay.plan import block_order

IDS = [f"hpl-{i:08x}" for i in range(50)]


def test_the_order_never_changes_for_a_seed_and_block() -> None:
    assert block_order(["a", "b", "c", "d", "e"], 1, 1) == ["e", "a", "c", "d", "b"]


def test_every_case_comes_once() -> None:
    assert sorted(block_order(IDS, 3, 2)) == IDS


def test_blocks_and_seeds_differ() -> None:
    orders = {tuple(block_order(IDS, seed, block)) for seed in range(5) for block in range(1, 6)}
    assert len(orders) == 25


def test_the_order_does_not_depend_on_how_the_cases_come() -> None:
    assert block_order(reversed(IDS), 3, 2) == block_order(IDS, 3, 2)


def test_a_case_left_out_does_not_move_the_others() -> None:
    whole = block_order(IDS, 3, 2)
    assert block_order(IDS[:-1], 3, 2) == [i for i in whole if i != IDS[-1]]


def test_all_orders_are_about_equally_frequent() -> None:
    counts = Counter(tuple(block_order("abc", seed, 1)) for seed in range(6000))
    assert set(counts) == set(permutations("abc"))
    assert all(850 < count < 1150 for count in counts.values())
