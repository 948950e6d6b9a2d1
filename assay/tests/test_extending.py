# SPDX-License-Identifier: Apache-2.0
"""Blocks added to a run that has ended: which, in which order, and when they are refused."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from assay.plan import MoreBlocks
from assay.plan.planner import block_order
from assay.run.extending import extend
from assay.run.launches import judge, launches_to_come
from assay.run.status import run_status
from records.errors import AssayError
from records.run.extensions import in_turn
from records.run.run_directory import RunDirectory
from reports.load.loading import load_run
from reports.tests.synthetic import case, write_run

NAMES = ("mpich", "openmpi", "lam")


def a_run(
    folder: Path, blocks: int, *, until: int | None = None, failing: Collection[str] = ()
) -> RunDirectory:
    """A run of a fixed number of blocks, with records up to one; some environments always fail."""
    cases = [case("startup", name, {"ranks": 2}) for name in NAMES]
    last = until or blocks

    def edit(record: dict[str, Any]) -> dict[str, Any] | None:
        if record["environment"] in failing:
            record |= {"status": "failed", "reason": "it crashed", "metrics": []}
        return record if record["block"] <= last else None

    path = write_run(folder / "run", cases, blocks=blocks, edit=edit)
    (path / "campaign.yaml").write_text("")
    return RunDirectory(path)


def more(run: RunDirectory, blocks: int | None, *, until_decided: bool = False) -> RunDirectory:
    return extend(run, run.ledger(), MoreBlocks(blocks, until_decided), lambda _: None)


def coming(run: RunDirectory) -> list[tuple[int, str]]:
    found = launches_to_come(run.plan(), run.ledger().entries, run.interims())
    return [(one.block, one.case_id) for one in found]


def test_new_blocks_have_the_same_cases_in_the_order_of_the_seed(tmp_path: Path) -> None:
    run = more(a_run(tmp_path, 3), 2)
    plan = run.plan()
    asks = {one.id: one.asked for one in plan.cases}
    assert coming(run) == [(n, one) for n in (4, 5) for one in block_order(asks, plan.seed, n)]
    status = run_status(run)
    assert (status.planned, status.done, status.ended) == (15, 9, False)
    assert any("extended after block 3 to at most 5" in text for text in status.judged)
    assert load_run(run.path).blocks == 5


def test_a_run_is_extended_again_and_again(tmp_path: Path) -> None:
    run = a_run(tmp_path, 3)
    for after in (3, 5):
        run = more(run, 2)
        with (run.path / "records.jsonl").open() as file:
            lines = [json.loads(line) for line in file]
        new = [one for one in lines if one["block"] == 1 and one["status"] == "ok"]
        added = [one | {"block": after + step} for step in (1, 2) for one in new]
        text = "".join(json.dumps(one) + "\n" for one in [*lines, *added])
        (run.path / "records.jsonl").write_text(text)
        assert judge(run, run.ledger().entries) is not None
        assert run_status(run).complete
    assert run.plan().blocks == 7
    assert in_turn(run.plan()).stages == [(0, 3), (3, 5), (5, 7)]


def test_blocks_are_added_until_it_is_decided_with_judgements_between(tmp_path: Path) -> None:
    run = more(a_run(tmp_path, 2), 10, until_decided=True)
    assert in_turn(run.plan()).interims == [2, 6, 8, 10, 12]
    assert {block for block, _ in coming(run)} == {3, 4, 5, 6}


def test_no_block_is_added_where_all_is_known(tmp_path: Path) -> None:
    run = a_run(tmp_path, 12)
    assert more(run, None, until_decided=True) is run


def test_no_block_is_added_that_has_no_launch(tmp_path: Path) -> None:
    run, said = a_run(tmp_path, 6, failing=NAMES), list[str]()
    assert extend(run, run.ledger(), MoreBlocks(None, until_decided=True), said.append) is run
    assert said[0].startswith("no launch can answer what is open (no two environments have")
    assert not (run.path / "extensions.jsonl").exists()


def test_an_unfinished_run_is_finished_first(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match="finish it with `assay run --resume"):
        more(a_run(tmp_path, 3, until=2), 2)


def test_a_run_that_criteria_judged_is_run_again_by_them(tmp_path: Path) -> None:
    run = a_run(tmp_path, 3)
    (run.path / "acceptance").mkdir()
    with pytest.raises(AssayError, match=r"assay accept \S+ --rerun"):
        more(run, 2)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"after":3', '"after":4', "an extension after block 4 of 3"),
        ('"interims":[5]', '"interims":[3]', "must ascend"),
        ('"going":{"mpich"', '"going":{"other"', "only environments and checks of the plan"),
        ('"extended_at":"2', '"extended_at":"x2', "allowed: a time"),
    ],
)
def test_a_damaged_extension_is_refused(tmp_path: Path, old: str, new: str, told: str) -> None:
    file = more(a_run(tmp_path, 3), 2).path / "extensions.jsonl"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(AssayError, match=told):
        load_run(file.parent)
