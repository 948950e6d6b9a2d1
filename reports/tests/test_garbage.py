# SPDX-License-Identifier: Apache-2.0
"""Records as they should not be: a clear statement or one clear error, never a silent number."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.documents.report import build_report
from records.errors import AssayError
from reports.tests.synthetic import HPL_FIXED, case, write_run

FORMATS = ("html", "md", "csv", "json")
Edit = Callable[[dict[str, Any]], dict[str, Any] | None]


def small(tmp_path: Path, edit: Edit | None = None, blocks: int = 6) -> Path:
    plan = [
        case("hpl", name, {"p": 1, "q": 2, "n": 1000, **HPL_FIXED}) for name in ("mpich", "lam")
    ]
    plan += [case("startup", name, {"ranks": 2}) for name in ("mpich", "lam")]
    return write_run(tmp_path / "run", plan, blocks=blocks, edit=edit)


def reported(run: Path) -> tuple[str, dict[str, Any]]:
    build_report(run, formats=FORMATS)
    return (run / "report/report.md").read_text(), json.loads(
        (run / "report/verdicts.json").read_text()
    )


def test_zero_variance_is_resolved_or_equivalent_without_dividing_by_it(tmp_path: Path) -> None:
    def edit(record: dict[str, Any]) -> dict[str, Any]:
        for metric in record["metrics"]:
            metric["value"] = 2.0 if record["environment"] == "mpich" else 2.02
        return record

    text, verdicts = reported(small(tmp_path, edit))
    assert "nan" not in text.lower().split()
    assert {cell["verdict"] for cell in verdicts["choice"]["groups"]} == {"equivalent"}


def test_one_launch_has_no_interval_and_no_verdict(tmp_path: Path) -> None:
    text, verdicts = reported(small(tmp_path, blocks=1))
    assert {cell["verdict"] for cell in verdicts["choice"]["overall"]} == {"no verdict"}
    told = {cell["text"] for cell in verdicts["choice"]["overall"]}
    assert told == {"no verdict: 1 common blocks, at least 3 are needed"}
    assert "Environments are compared from 3 common blocks on" in text
    assert "n = 1 launch;" in text
    assert "advantage" not in verdicts["choice"]["overall"][0]


def test_when_all_launches_failed_the_report_says_so(tmp_path: Path) -> None:
    def fail(record: dict[str, Any]) -> dict[str, Any]:
        return record | {"status": "failed", "reason": "launcher error", "metrics": []}

    text, verdicts = reported(small(tmp_path, fail))
    assert "run run: 24 failed" in text
    assert verdicts["choice"]["overall"] == []
    assert "No valid launch yet" in (tmp_path / "run/report/index.html").read_text()


def test_launches_without_figures_are_counted_by_environment(tmp_path: Path) -> None:
    def edit(record: dict[str, Any]) -> dict[str, Any]:
        if record["check"] != "startup":
            return record
        if (record["environment"], record["block"]) == ("mpich", 2):
            return record | {"status": "wrong", "reason": "not right", "metrics": []}
        return record | {"metrics": []}

    text, _ = reported(small(tmp_path, edit))
    assert "launches that are right: mpich 5 of 6, lam 6 of 6" in text


@pytest.mark.parametrize("literal", ["NaN", "Infinity", "1e999"])
def test_numbers_that_are_none_are_one_error_with_file_and_line(
    tmp_path: Path, literal: str
) -> None:
    run = small(tmp_path)
    lines = (run / "records.jsonl").read_text().splitlines(keepends=True)
    record = json.loads(lines[4])
    record["metrics"][0]["value"] = 12345.5
    lines[4] = json.dumps(record).replace("12345.5", literal) + "\n"
    (run / "records.jsonl").write_text("".join(lines))
    with pytest.raises(AssayError, match=r"records\.jsonl:5: "):
        build_report(run)
    assert not (run / "report").exists()


@pytest.mark.parametrize(
    "change", [{"schema": 7}, {"schema": 4, "metrics": {"new": "form"}}, {"schema": "5"}]
)
def test_unknown_schema_version_is_one_error(tmp_path: Path, change: dict[str, Any]) -> None:
    run = small(tmp_path)
    record = json.loads((run / "records.jsonl").read_text().splitlines()[0]) | change
    with (run / "records.jsonl").open("a") as file:
        file.write(json.dumps(record) + "\n")
    with pytest.raises(AssayError, match=r"records\.jsonl:25: .*schema is .*allowed: 1 and 2"):
        build_report(run)


def test_plan_of_an_unknown_schema_version_is_one_error(tmp_path: Path) -> None:
    run = small(tmp_path)
    plan = json.loads((run / "plan.json").read_text()) | {"schema": 9}
    (run / "plan.json").write_text(json.dumps(plan))
    with pytest.raises(AssayError, match="schema"):
        build_report(run)


def test_half_a_line_at_the_end_is_named_and_does_not_count(tmp_path: Path) -> None:
    run = small(tmp_path)
    content = (run / "records.jsonl").read_bytes()
    (run / "records.jsonl").write_bytes(content[:-40])
    text, verdicts = reported(run)
    assert "torn" in text
    assert verdicts["launches"]["ok"] == 23
    assert verdicts["complete"] is False


def test_a_unit_that_changes_on_the_way_is_one_error(tmp_path: Path) -> None:
    def edit(record: dict[str, Any]) -> dict[str, Any]:
        if record["block"] == 4 and record["check"] == "startup":
            record["metrics"][0]["unit"] = "ms"
        return record

    with pytest.raises(AssayError, match="in 'ms'; allowed: s"):
        build_report(small(tmp_path, edit))
