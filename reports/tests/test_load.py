# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from records.errors import AssayError, ExitStatus
from reports.load.loading import load_run
from reports.tests.synthetic import quick_cases, write_run

CASES = [item for item in quick_cases(("mpich", "lam")) if item["check"] == "hpl"]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run", CASES, blocks=3)


def rewrite(run: Path, change: Any) -> None:
    path = run / "records.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(line) + "\n" for line in change(lines)))


def test_series_hold_one_value_a_block(run: Path) -> None:
    loaded = load_run(run)
    assert loaded.run_id == "run"
    assert loaded.nodes == ("n1", "n2")
    assert all(series.blocks.tolist() == [1, 2, 3] for series in loaded.series)
    running = [case for case in CASES if not case["skipped"]]
    assert len(loaded.series) == 2 * len(running)


def test_only_ok_launches_enter(run: Path) -> None:
    def fail_one(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
        lines[5]["status"] = "failed"
        lines[5]["reason"] = "time limit"
        return lines

    rewrite(run, fail_one)
    counts = [len(series.blocks) for series in load_run(run).series]
    assert sum(counts) == 2 * (3 * (len(CASES) - 1) - 1)


def test_latest_attempt_replaces_the_earlier_one(run: Path) -> None:
    def again(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
        lost = json.loads(json.dumps(lines[3]))
        lost["status"], lost["metrics"] = "lost", []
        lines[3]["attempt"] = 2
        return [*lines, lost]

    rewrite(run, again)
    loaded = load_run(run)
    assert len(loaded.launches) == len(list(loaded.counted())) + 1
    assert all(len(series.blocks) == 3 for series in loaded.series)


def test_a_record_written_twice_is_refused(run: Path) -> None:
    rewrite(run, lambda lines: [*lines, lines[-1]])
    with pytest.raises(AssayError, match=r"records.jsonl:\d+: .* is recorded twice"):
        load_run(run)


def test_torn_last_line_is_left_out_and_told(run: Path) -> None:
    path = run / "records.jsonl"
    path.write_bytes(path.read_bytes()[:-40])
    loaded = load_run(run)
    assert any("torn" in text for text in loaded.warnings)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"not json\n", "not a record"),
        (b"\n", "not a record"),
        (b"\x00\xff\xfe\n", "not a record"),
        (b"[1, 2]\n", "not a record"),
    ],
)
def test_damaged_line_names_its_place(run: Path, line: bytes, message: str) -> None:
    path = run / "records.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:4], line, *lines[4:]]))
    with pytest.raises(AssayError, match=message) as caught:
        load_run(run)
    assert "records.jsonl:5" in str(caught.value)
    assert caught.value.status is ExitStatus.BAD_INPUT


def edited(**changes: Any) -> Any:
    def change(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
        lines[4] |= changes
        return lines

    return change


METRIC = {"name": "rate", "unit": "flop/s", "better": "higher", "value": 1.0}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"case_id": "hpl-unknown"}, "not in plan.json"),
        ({"environment": "other"}, "plan.json has"),
        ({"schema": 2}, "schema is 2, and it carries no chain"),
        ({"block": 0}, "`block` is 0"),
        ({"metrics": [METRIC | {"name": "velocity"}]}, "a metric that plan.json defines"),
        ({"metrics": [METRIC | {"unit": "Gflop/s"}]}, "allowed: flop/s"),
        ({"metrics": [METRIC, METRIC]}, "appears twice"),
        ({"metrics": [METRIC | {"at": {"message_bytes": -1}}]}, "message_bytes -1; allowed: 0 to "),
        *(
            ({"metrics": [METRIC | {"value": value}]}, "records.jsonl:5: rate is .*cannot be meas")
            for value in (-5.0, 0, 5e-324, 1e308)
        ),
        ({"metrics": [METRIC | {"at": {"sizes": [1, 2]}}]}, "list or an object"),
    ],
)
def test_what_does_not_fit_is_refused(run: Path, changes: dict[str, Any], message: str) -> None:
    rewrite(run, edited(**changes))
    with pytest.raises(AssayError, match=message):
        load_run(run)


def test_gigantic_number_is_refused(run: Path) -> None:
    rewrite(run, edited(metrics=[METRIC]))
    path = run / "records.jsonl"
    path.write_text(path.read_text().replace('"value": 1.0}', '"value": 1e999}'))
    with pytest.raises(AssayError):
        load_run(run)


def test_directory_must_be_a_run(tmp_path: Path, run: Path) -> None:
    with pytest.raises(AssayError, match="no such run directory"):
        load_run(tmp_path / "nothing")
    with pytest.raises(AssayError, match=r"plan\.json: cannot be read"):
        load_run(tmp_path)
    (run / "plan.json").write_text('{"schema": 1}')
    with pytest.raises(AssayError, match="not a plan"):
        load_run(run)


def test_run_without_any_record_loads(run: Path) -> None:
    (run / "records.jsonl").unlink()
    loaded = load_run(run)
    assert (len(loaded.launches), loaded.series) == (0, [])


def test_missing_or_damaged_provenance_is_an_error(run: Path) -> None:
    (run / "provenance.json").write_text("[")
    with pytest.raises(AssayError, match=r"provenance\.json:1: not a provenance"):
        load_run(run)
    (run / "provenance.json").unlink()
    with pytest.raises(AssayError, match=r"provenance\.json: cannot be read"):
        load_run(run)
