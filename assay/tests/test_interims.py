# SPDX-License-Identifier: Apache-2.0
"""A sequential design judged in its run directory: kept, repeated, ended by answer or budget."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from assay.run.launches import judge, launches_to_come, too_dear
from assay.run.preflight import lately_right
from assay.run.status import run_status
from assay.screens.screen import Screen
from assay.screens.status import MOST_OPEN, show_status
from records.run.interims import Interim
from records.run.run_directory import RunDirectory
from reports.analysis.run import analyse
from reports.load.loading import load_run
from reports.tests.synthetic import case, write_run
from reports.verdicts.choice.sentences import summary
from reports.verdicts.choice.tables import interims_table

NAMES = ("mpich", "openmpi", "lam-lamd")
INTERIMS = [6, 8, 10]


@pytest.fixture
def made(tmp_path: Path) -> RunDirectory:
    """A run of 10 blocks planned, of which the launches are there that the first six ask for."""
    return run_with(tmp_path, up_to=6)


def run_with(folder: Path, up_to: int, **limits: float) -> RunDirectory:
    cases = [
        case("startup", name, {"ranks": ranks, "ranks_per_node": 1}, ranks)
        for name in NAMES
        for ranks in (2, 3)
    ]

    def edit(record: dict[str, Any]) -> dict[str, Any] | None:
        """Launches that scatter so much that mpich and openmpi are not told apart."""
        seed = record["block"], NAMES.index(record["environment"])
        factor = float(np.exp(0.05 * np.random.default_rng(seed).standard_normal()))
        for metric in record["metrics"]:
            metric["value"] *= factor
        return record if record["block"] <= up_to else None

    path = write_run(folder / "run", cases, blocks=10, edit=edit)
    plan = json.loads((path / "plan.json").read_text())
    plan["sequential"] = {"interims": INTERIMS, "until": ["score", "checks"]}
    plan["limits"] = limits
    (path / "plan.json").write_text(json.dumps(plan))
    (path / "campaign.yaml").write_text("")
    return RunDirectory(path)


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


def test_launches_that_end_before_they_began_lend_no_node_hours(made: RunDirectory) -> None:
    """As those do during which a clock was set back."""
    plan, entries = made.plan(), made.ledger().entries
    allowed = msgspec.structs.replace(plan, limits={"node_hours": 0.1})
    began, ended = "2026-11-20T10:00:00.000Z", "2026-11-20T11:00:00.000Z"
    lasting = [msgspec.structs.replace(one, started_at=began, ended_at=ended) for one in entries]
    back = [msgspec.structs.replace(one, started_at=ended, ended_at=began) for one in entries]
    assert not too_dear(allowed, back, {}, 8)
    assert too_dear(allowed, [lasting[0], *back], {}, 8)


def test_an_environment_is_not_proved_by_a_launch_of_a_time_to_come(made: RunDirectory) -> None:
    (entry, *_), now = made.ledger().entries, datetime.now(UTC)
    for hours, proved in ((-0.5, {entry.environment}), (-2, set()), (1, set()), (24, set())):
        ended = (now + timedelta(hours=hours)).isoformat()
        assert lately_right([msgspec.structs.replace(entry, ended_at=ended)]) == proved


def test_a_killed_run_takes_the_same_decision_again(made: RunDirectory) -> None:
    first = judged(made)
    made.interims_file.unlink()
    assert judge(made, made.ledger().entries) == first


def test_launches_of_later_blocks_change_no_earlier_judgement(tmp_path: Path) -> None:
    early, late = run_with(tmp_path / "a", up_to=6), run_with(tmp_path / "b", up_to=10)
    assert judged(early) == judged(late)


def test_a_run_ends_when_no_block_is_left(tmp_path: Path) -> None:
    run = run_with(tmp_path, up_to=10)
    found = [judged(run) for _ in INTERIMS]
    assert [item.block for item in found] == INTERIMS
    assert found[-1].ended == ("blocks" if found[-1].open else "answered")
    assert judge(run, run.ledger().entries) is None


def test_a_run_ends_when_its_budget_does_not_suffice(tmp_path: Path) -> None:
    run = run_with(tmp_path, up_to=6, node_hours=1e-6)
    assert judged(run).ended == "node_hours"
    assert judge(run, run.ledger().entries) is None
    assert run_status(run).complete


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
    texts = [sentence.text for sentence in summary(analysis)]
    assert any(
        text.startswith("Blocks are added until it is known: judged after") for text in texts
    )
    assert not any("other questions open today" in text for text in texts)
    table = interims_table(analysis)
    assert table is not None
    assert len(table.rows) == 1


def test_a_judgement_that_the_records_do_not_bear_out_is_told(made: RunDirectory) -> None:
    judged(made)
    text = made.interims_file.read_text().replace("openmpi against mpich", "mpich against nobody")
    made.interims_file.write_text(text)
    sentences = summary(analyse(load_run(made.path)))
    assert any("leave other questions open today" in sentence.text for sentence in sentences)
