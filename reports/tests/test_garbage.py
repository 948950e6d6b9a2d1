# SPDX-License-Identifier: Apache-2.0
"""Records as they should not be: a clear statement, never a silent number."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from assay.documents.report import build_report
from reports.tests.synthetic import HPL_FIXED, Edit, case, write_run


def small(tmp_path: Path, edit: Edit | None = None, blocks: int = 6) -> Path:
    hpl = {"p": 1, "q": 2, "n": 1000, **HPL_FIXED}
    kinds = (("hpl", hpl), ("startup", {"ranks": 2}))
    plan = [case(check, name, params) for check, params in kinds for name in ("mpich", "lam")]
    return write_run(tmp_path / "run", plan, blocks=blocks, edit=edit)


def reported(run: Path) -> tuple[str, dict[str, Any]]:
    build_report(run, formats=("html", "md", "csv", "json"))
    verdicts = json.loads((run / "report/verdicts.json").read_text())
    return (run / "report/report.md").read_text(), verdicts


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
    told = {(cell["verdict"], cell["text"]) for cell in verdicts["choice"]["overall"]}
    assert told == {("no verdict", "no verdict: 1 common blocks, at least 3 are needed")}
    assert "Environments are compared from 3 common blocks on" in text
    assert "n = 1 launch unless" in text
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


def test_half_a_line_at_the_end_is_named_and_does_not_count(tmp_path: Path) -> None:
    run = small(tmp_path)
    content = (run / "records.jsonl").read_bytes()
    (run / "records.jsonl").write_bytes(content[:-40])
    text, verdicts = reported(run)
    assert "torn" in text
    assert (verdicts["launches"]["ok"], verdicts["complete"]) == (23, False)
