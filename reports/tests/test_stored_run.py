# SPDX-License-Identifier: Apache-2.0
"""A run of an early Assay means today what it meant to the Assay that made it."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from assay.documents.report import build_report
from records.history.reading import read_history
from records.history.store import Store
from records.run.run_directory import RunDirectory
from records.tests.made import case_id
from reports.verdicts.comparison import compare
from reports.verdicts.nightly.evidence import read_night

RUN = Path(__file__).with_name("stored_run")
EXPECTED = RUN / "expected"
#: Keys that no verdict rests on any more.
GONE = {"lag_1", "lag_1_limit", "p", "p_holm"}


def told(value: Any) -> Any:
    """A value to compare with: numbers to nine digits, so that no processor's rounding counts."""
    if isinstance(value, dict):
        return {key: told(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [told(item) for item in value]
    return pytest.approx(value, rel=1e-9) if isinstance(value, float) else value


def known(value: Any, earlier: Any) -> Any:
    """A value without the keys that came later, and without those of GONE."""
    if isinstance(value, dict) and isinstance(earlier, dict):
        for name in GONE & earlier.keys():
            del earlier[name]
        return {key: known(value[key], item) for key, item in earlier.items()}
    if isinstance(value, list) and isinstance(earlier, list) and len(value) == len(earlier):
        return [known(*both) for both in zip(value, earlier, strict=True)]
    return value


def rows(file: Path) -> Any:
    """Lines of a summary, by what they are of."""
    table = pl.read_csv(file, infer_schema_length=None)
    return table.rows_by_key(["case_id", "metric", "at"], named=True, unique=True)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out: Path = tmp_path_factory.mktemp("stored") / "report"
    build_report(RUN, out, formats=("csv", "json"))
    return out


def test_every_number_of_the_summary_is_as_it_was(report: Path) -> None:
    found, expected = rows(report / "summary.csv"), rows(EXPECTED / "summary.csv")
    assert found.keys() == expected.keys()
    for key, row in expected.items():
        assert {name: found[key][name] for name in row} == told(row), key


def test_every_verdict_is_as_it_was(report: Path) -> None:
    found, expected = (json.loads((at / "verdicts.json").read_text()) for at in (report, EXPECTED))
    assert (found["schema"], expected.pop("schema")) == (2, 1)
    expected.pop("summary")  # sentences may differ
    assert found["choice"]["interims"] == []
    assert {one["best"] for one in found["choice"]["leaders"]} == {"mpich", "lam"}
    for key, as_it_was in expected.items():
        assert known(found[key], as_it_was) == told(as_it_was), key


def test_it_enters_a_history_as_it_did(tmp_path: Path) -> None:
    expected = json.loads((EXPECTED / "night.json").read_text())
    night, values = read_night(RUN)
    assert night.context == expected["context"]
    found = [
        [s.case_id, s.check, s.environment, s.metric, s.unit, s.better, dict(s.at), list(launches)]
        for s, launches in ((value.series, value.launches) for value in values)
    ]
    assert found == expected["series"]
    with Store(tmp_path / "history.sqlite", create=True) as store:
        store.add(night, values)
        series = read_history(store, night.site, night.campaign).series
    titles = {(key.check_title, key.title) for key in series}
    assert titles == {("Point-to-point", "one-way time"), ("Start-up", "all ranks heard")}


def test_it_compares_with_itself() -> None:
    found = compare(RUN, RUN)
    assert found.provenance == []
    assert set(found.by_check) == set(found.first.checks)
    assert {change.ratio for change in found.changes} <= {1, None}


def test_the_ids_of_its_cases_are_those_of_today() -> None:
    plan = RunDirectory(RUN).plan()
    ids = [case_id(case.check, case.environment, case.params) for case in plan.cases]
    assert ids == [case.id for case in plan.cases]
