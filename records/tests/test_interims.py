# SPDX-License-Identifier: Apache-2.0
"""What a sequential design has decided: which launches are asked, and what is no such file."""

import pytest

from records.errors import AssayError
from records.interims import Interim, asked_blocks, read_interims, write_interims
from records.plan import Plan, Sequential, Totals

TOTALS = Totals(cases=0, skipped=0, launches=0, node_hours=0, wall_s=0)


def plan(interims=(6, 8, 10)):
    sequential = Sequential(interims=list(interims), until=["score"]) if interims else None
    return Plan(
        campaign="c",
        question="?",
        site="s",
        seed=1,
        blocks=10,
        sequential=sequential,
        environments=["a", "b"],
        totals=TOTALS,
        cases=[],
    )


def interim(block, out=(), ended=None):
    return Interim(block=block, out=list(out), open=[], ended=ended)


@pytest.mark.parametrize(
    ("interims", "asked"),
    [
        ([], {"a": 6, "b": 6}),
        ([interim(6)], {"a": 8, "b": 8}),
        ([interim(6, ["a"])], {"a": 6, "b": 8}),
        ([interim(6, ["a"]), interim(8)], {"a": 6, "b": 10}),
        ([interim(6, ["a"]), interim(8, ended="answered")], {"a": 6, "b": 8}),
    ],
)
def test_blocks_are_asked_up_to_the_next_judgement(interims, asked):
    assert asked_blocks(plan(), interims) == asked
    assert asked_blocks(plan(None), []) == {"a": 10, "b": 10}


def test_judgements_are_read_as_written(tmp_path):
    file = tmp_path / "interims.jsonl"
    assert read_interims(file, plan()) == []
    made = [interim(6, ["a"]), interim(8, ended="node_hours")]
    write_interims(file, made)
    assert read_interims(file, plan()) == made


@pytest.mark.parametrize(
    ("made", "fault"),
    [
        ([interim(8)], "planned are"),
        ([interim(6), interim(8), interim(10)], "does not end the run"),
        ([interim(6, ["c"])], "each once"),
        ([interim(6, ["a"]), interim(8, ["a"])], "each once"),
        ([interim(6, ended="answered"), interim(8)], "after the one that ended"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path, made, fault):
    file = tmp_path / "interims.jsonl"
    write_interims(file, made)
    with pytest.raises(AssayError, match=fault):
        read_interims(file, plan())
    with pytest.raises(AssayError, match="fixed number of blocks"):
        read_interims(file, plan(None))


def test_lines_that_are_no_judgement_are_refused(tmp_path):
    file = tmp_path / "interims.jsonl"
    file.write_text('{"block": 6}\n')
    with pytest.raises(AssayError, match=r"interims.jsonl:1: not an interim judgement"):
        read_interims(file, plan())
