# SPDX-License-Identifier: Apache-2.0
"""What a sequential design has decided: which launches are asked, and what is no such file."""

import pytest

from records.errors import AssayError
from records.run.interims import Interim, asked_blocks, read_interims, write_interims
from records.run.plan import Sequential
from records.tests.made import plan_of, planned

BOTH = {"a": ["hpl", "ring"], "b": ["hpl", "ring"]}
ONE = {"a": ["ring"], "b": ["hpl", "ring"]}


def plan(interims=(6, 8, 10)):
    sequential = Sequential(interims=list(interims), until=["score"]) if interims else None
    cases = [planned(f"{c}-{name}", c, name) for c in ("hpl", "ring") for name in ("a", "b")]
    return plan_of(cases, 10, sequential=sequential)


def interim(block, going=BOTH, ended=None):
    return Interim(block=block, open=["x"], going=going, ended=ended)


@pytest.mark.parametrize(
    ("interims", "a_hpl", "a_ring", "b_hpl"),
    [
        ([], 6, 6, 6),
        ([interim(6)], 8, 8, 8),
        ([interim(6, ONE)], 6, 8, 8),
        ([interim(6, ONE), interim(8, ONE)], 6, 10, 10),
        ([interim(6), interim(8, {}, "answered")], 8, 8, 8),
        ([interim(6, ONE), interim(8, ONE), interim(10, {}, "blocks")], 6, 10, 10),
    ],
)
def test_blocks_are_asked_up_to_the_next_judgement(interims, a_hpl, a_ring, b_hpl):
    assert {*asked_blocks(plan(None), []).values()} == {10}, "a fixed design"
    asked = asked_blocks(plan(), interims)
    cases = [(name, check) for name in ("a", "b") for check in ("hpl", "ring")]
    assert asked == dict(zip(cases, (a_hpl, a_ring, b_hpl, b_hpl), strict=True))


@pytest.mark.parametrize(
    ("made", "fault"),
    [
        ([interim(8)], "planned are"),
        ([interim(6, {"c": ["hpl"]})], "went on before"),
        ([interim(6, ONE), interim(8, BOTH)], "went on before"),
        ([interim(6, BOTH, "answered"), interim(8)], "went on before"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path, made, fault):
    file = tmp_path / "interims.jsonl"
    write_interims(file, made)
    with pytest.raises(AssayError, match=fault):
        read_interims(file, plan())
    with pytest.raises(AssayError, match="fixed number of blocks"):
        read_interims(file, plan(None))
    file.write_text('{"block": 6}\n')
    with pytest.raises(AssayError, match=r"interims.jsonl:1: not an interim judgement"):
        read_interims(file, plan())
