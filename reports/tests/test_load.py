# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from records.errors import AssayError, ExitStatus
from reports.load.loading import load_run
from reports.tests.synthetic import quick_cases, rewrite, write_run

CASES = [item for item in quick_cases(("mpich", "lam")) if item["check"] == "hpl"]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run", CASES, blocks=3)


def test_series_hold_one_value_a_block(run: Path) -> None:
    loaded = load_run(run)
    assert loaded.run_id == "run"
    assert loaded.nodes == ("n1", "n2")
    assert all(series.blocks.tolist() == [1, 2, 3] for series in loaded.series)
    running = [case for case in CASES if not case["skipped"]]
    assert len(loaded.series) == 2 * len(running)


def test_only_ok_launches_enter(run: Path) -> None:
    change_fifth(run, status="failed", reason="time limit")
    counts = [len(series.blocks) for series in load_run(run).series]
    assert sum(counts) == 2 * (3 * (len(CASES) - 1) - 1)


def test_latest_attempt_replaces_the_earlier_one(run: Path) -> None:
    def again(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
        lost = lines[3] | {"status": "lost", "metrics": []}
        return [*lines[:3], lines[3] | {"attempt": 2}, *lines[4:], lost]

    rewrite(run, again)
    loaded = load_run(run)
    assert len(loaded.launches) == len(list(loaded.counted())) + 1
    assert all(len(series.blocks) == 3 for series in loaded.series)


def test_a_record_written_twice_is_refused(run: Path) -> None:
    rewrite(run, lambda lines: [*lines, lines[-1]])
    with pytest.raises(AssayError, match=r"records.jsonl:\d+: .* is recorded twice"):
        load_run(run)


def change_fifth(run: Path, **changes: Any) -> None:
    rewrite(run, lambda lines: [*lines[:4], lines[4] | changes, *lines[5:]])


METRIC = {"name": "rate", "unit": "flop/s", "better": "higher", "value": 1.0}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"case_id": "hpl-unknown"}, "not in plan.json"),
        ({"environment": "other"}, "plan.json has"),
        ({"schema": 4}, "jsonl:5: .*schema is 4; allowed: 2"),
        ({"block": 0}, "`block` is 0"),
        ({"metrics": [METRIC | {"name": "velocity"}]}, "a metric that plan.json defines"),
        ({"metrics": [METRIC | {"unit": "Gflop/s"}]}, "allowed: flop/s"),
        ({"metrics": [METRIC, METRIC]}, "appears twice"),
        ({"metrics": [METRIC | {"at": {"message_bytes": -1}}]}, "message_bytes -1; allowed: 0 to "),
        *(
            ({"metrics": [METRIC | {"value": value}]}, "records.jsonl:5: rate is .*cannot be meas")
            for value in (-5.0, 0, 5e-324, 1e308)
        ),
        ({"metrics": [METRIC | {"at": {"sizes": [1, 2]}}]}, "allowed: a number, or a word"),
    ],
)
def test_what_does_not_fit_is_refused(run: Path, changes: dict[str, Any], message: str) -> None:
    change_fifth(run, **changes)
    with pytest.raises(AssayError, match=message):
        load_run(run)


@pytest.mark.parametrize("literal", ["NaN", "Infinity", "1e999"])
def test_numbers_that_are_none_are_refused(run: Path, literal: str) -> None:
    change_fifth(run, metrics=[METRIC])
    path = run / "records.jsonl"
    path.write_text(path.read_text().replace('"value":1.0}', f'"value":{literal}}}'))
    with pytest.raises(AssayError, match=r"records\.jsonl:5: ") as caught:
        load_run(run)
    assert caught.value.status is ExitStatus.BAD_INPUT


def test_directory_must_be_a_run(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match="no such run directory"):
        load_run(tmp_path / "nothing")
    with pytest.raises(AssayError, match=r"plan\.json: cannot be read"):
        load_run(tmp_path)


def test_run_without_any_record_loads(run: Path) -> None:
    (run / "records.jsonl").unlink()
    loaded = load_run(run)
    assert (len(loaded.launches), loaded.series) == (0, [])
