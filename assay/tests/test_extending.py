# SPDX-License-Identifier: Apache-2.0
"""Blocks added to a run that has ended: which, in which order, and when they are refused; a
sequential design judged in its run directory: kept, repeated, ended by answer or budget."""

import json
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from assay.plan.planner import block_order
from assay.run.launches import launches_to_come
from assay.run.sequential import extend, judge, too_dear
from assay.run.status import run_status
from assay.screens.screen import Screen
from assay.screens.status import MOST_OPEN, show_status
from records.errors import AssayError
from records.run.interims import Interim, in_turn
from records.run.run_directory import RunDirectory
from reports.analysis.run import analyse
from reports.load.loading import load_run
from reports.tests.synthetic import case, chained, write_records, write_run
from reports.verdicts.choice.answer import choice, remarks

NAMES = ("mpich", "openmpi", "lam-lamd")


def a_run(
    folder: Path,
    blocks: int,
    until: int | None = None,
    failing: Collection[str] = (),
    *,
    ranks: Collection[int] = (2,),
    scatter: float = 0.0,
) -> RunDirectory:
    """A run of a fixed number of blocks, with records up to one; some environments always fail.
    With a `scatter` of 0.015 mpich and openmpi are not told apart."""
    sizes = [({"ranks": n, "ranks_per_node": 1}, n) for n in ranks]
    cases = [case("startup", name, *size) for name in NAMES for size in sizes]
    last = until or blocks

    def edit(record: dict[str, Any]) -> dict[str, Any] | None:
        seed = record["block"], NAMES.index(record["environment"])
        factor = float(np.exp(scatter * np.random.default_rng(seed).standard_normal()))
        for metric in record["metrics"]:
            metric["value"] *= factor
        if record["environment"] in failing:
            record |= {"status": "failed", "reason": "it crashed", "metrics": []}
        return record if record["block"] <= last else None

    return RunDirectory(write_run(folder / "run", cases, blocks=blocks, edit=edit))


def more(run: RunDirectory, blocks: int | None, *, until_decided: bool = False) -> RunDirectory:
    return extend(run, run.ledger(), blocks, lambda _: None, until_decided=until_decided)


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
        write_records(run.path, [*lines, *added])
        assert judge(run, run.ledger().entries) is not None
        assert run_status(run).complete
    assert run.plan().blocks == 7
    assert in_turn(run.plan()).stages == [(0, 3), (3, 5), (5, 7)]


def test_blocks_are_added_until_it_is_decided_with_judgements_between(tmp_path: Path) -> None:
    run = more(a_run(tmp_path, 2), 10, until_decided=True)
    assert in_turn(run.plan()).interims == [2, 6, 8, 10, 12]
    assert {block for block, _ in coming(run)} == {3, 4, 5, 6}


def test_no_block_is_added_where_all_is_known_or_that_has_no_launch(tmp_path: Path) -> None:
    run = a_run(tmp_path / "known", 12)
    assert more(run, None, until_decided=True) is run
    run, said = a_run(tmp_path, 6, failing=NAMES), list[str]()
    assert extend(run, run.ledger(), None, said.append, until_decided=True) is run
    assert said[0].startswith("no launch can answer what is open (no two environments have")
    assert not (run.path / "extensions.jsonl").exists()


def test_an_unfinished_run_is_finished_first_and_a_judged_one_run_again(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match="finish it with `assay run --resume"):
        more(a_run(tmp_path / "unfinished", 3, until=2), 2)
    run = a_run(tmp_path, 3)
    (run.path / "acceptance").mkdir()
    with pytest.raises(AssayError, match=r"assay accept \S+ --rerun"):
        more(run, 2)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"interims":[5]', '"interims":[4]', "the chain is broken"),
        ('"interims":[5]', '"interims":[]', "not an extension"),
    ],
)
def test_a_damaged_extension_is_refused(tmp_path: Path, old: str, new: str, told: str) -> None:
    run = more(a_run(tmp_path, 3), 2)
    lines = [json.loads(line) for line in (run.path / "records.jsonl").read_text().splitlines()]
    first = next(line for line in lines if line["block"] == 1)
    write_records(run.path, [*lines, first | {"block": 4}])
    load_run(run.path)
    file = run.path / "extensions.jsonl"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(AssayError, match=told):
        load_run(file.parent)


INTERIMS = [6, 8, 10]


@pytest.fixture
def made(tmp_path: Path) -> RunDirectory:
    """A run of 10 blocks planned, of which the launches are there that the first six ask for."""
    return run_with(tmp_path, up_to=6)


def run_with(folder: Path, up_to: int, scatter: float = 0.015, **limits: float) -> RunDirectory:
    run = a_run(folder, 10, up_to, ranks=(2, 3), scatter=scatter)
    plan = json.loads(run.plan_file.read_text())
    plan["sequential"] = {"interims": INTERIMS, "until": ["score", "checks"]}
    run.plan_file.write_text(json.dumps(plan | {"limits": limits}))
    chained(run.path)
    return run


def judged(run: RunDirectory) -> Interim:
    found = judge(run, run.ledger().entries)
    assert found is not None
    return found


def test_a_judgement_is_kept_and_says_what_comes_next(made: RunDirectory) -> None:
    plan, records = made.plan(), made.records()
    assert [*launches_to_come(plan, records, [])] == []
    found = judged(made)
    assert made.interims() == [found]
    assert found.block == 6
    assert found.ended is None
    coming = [*launches_to_come(plan, records, made.interims())]
    assert {launch.block for launch in coming} == {7, 8}
    # The daemon is far slower: nothing is open about it.
    assert {launch.environment for launch in coming} == {"mpich", "openmpi"}
    made.interims_file.unlink()
    assert judged(made) == found, "a killed run takes the same decision again"


def test_launches_that_end_before_they_began_lend_no_node_hours(made: RunDirectory) -> None:
    """As those do during which a clock was set back."""
    plan, entries = made.plan(), made.ledger().entries
    allowed = msgspec.structs.replace(plan, limits={"node_hours": 0.1})
    began, ended = "2026-11-20T10:00:00.000Z", "2026-11-20T11:00:00.000Z"
    lasting = [msgspec.structs.replace(one, started_at=began, ended_at=ended) for one in entries]
    back = [msgspec.structs.replace(one, started_at=ended, ended_at=began) for one in entries]
    assert not too_dear(allowed, back, {}, 8)
    assert too_dear(allowed, [lasting[0], *back], {}, 8)


def test_launches_of_later_blocks_change_no_earlier_judgement(tmp_path: Path) -> None:
    early, late = run_with(tmp_path / "a", up_to=6), run_with(tmp_path / "b", up_to=10)
    assert judged(early) == judged(late)


def test_a_run_ends_when_no_block_is_left_or_its_budget_does_not_suffice(tmp_path: Path) -> None:
    run = run_with(tmp_path, up_to=10)
    found = [judged(run) for _ in INTERIMS]
    assert [item.block for item in found] == INTERIMS
    assert found[-1].ended == ("blocks" if found[-1].open else "answered")
    assert judge(run, run.ledger().entries) is None
    run = run_with(tmp_path / "dear", up_to=6, node_hours=1e-6)
    assert judged(run).ended == "node_hours"
    assert judge(run, run.ledger().entries) is None
    assert run_status(run).complete


def test_a_run_ends_where_the_last_block_would_not_tell_and_more_blocks_are_added(
    tmp_path: Path,
) -> None:
    run = run_with(tmp_path, up_to=6, scatter=0.1)
    found = judged(run)
    assert (found.block, found.ended, found.going) == (6, "forecast", {}) and found.open
    assert "; block 10 would not tell either" in "; ".join(run_status(run).judged)
    analysis = analyse(load_run(run.path))
    answer = choice(analysis.run, analysis.comparisons)
    assert answer is not None and re.search("about [1-9]|would not tell", answer.unknown)
    assert run_status(run).complete and judge(run, run.ledger().entries) is None
    run = more(run, 20, until_decided=True)
    assert {name for _, name in coming(run)} == {
        one.id for one in run.plan().cases if one.environment != "lam-lamd"
    }


def test_status_names_the_open_questions(made: RunDirectory, capsys) -> None:
    def told() -> str:
        show_status(Screen(), run_status(made))
        return " ".join(capsys.readouterr().out.split())

    text = told()
    assert "judged after block 6 for the first time, of at most 10" in text
    assert not run_status(made).complete
    found = judged(made)
    text = told()
    assert "it goes on with startup of mpich, openmpi" in text
    assert all(f"open: {question}" in text for question in found.open[:MOST_OPEN])
    assert run_status(made).open == found.open


def test_the_report_tells_of_the_judgements(made: RunDirectory) -> None:
    judged(made)
    analysis = analyse(load_run(made.path))
    assert {hole.case.environment for hole in analysis.holes} == {"mpich", "openmpi"}
    assert {hole.block for hole in analysis.holes} == {7, 8}
    texts = [sentence.text for sentence in remarks(analysis, "")]
    begins = "Blocks are added until it is known: judged after"
    assert any(text.startswith(begins) for text in texts)
