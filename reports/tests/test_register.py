# SPDX-License-Identifier: Apache-2.0
"""A run is read by the metrics and checks of its own plan."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from assay.documents.report import build_report
from records.errors import AssayError
from records.history.reading import read_history
from records.history.store import Store
from reports.load.loading import load_run
from reports.render import html
from reports.tests.synthetic import case, chained, changed, write_run
from reports.verdicts.nightly.check import check_history, read_night
from reports.verdicts.nightly.result import night_result

KIND = {"name": "wobble", "unit": "quanta/s", "better": "lower"}
WOBBLE = {**KIND, "definition": "quanta over time", "title": "wobble of the pendulum"}
PENDULUM = {"name": "pendulum", "title": "Foucault's pendulum", "deciding": "wobble", "shown": ""}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Check and metric that stand in this run's plan only; in environment `lam` it wobbles more."""

    def measured(record: dict[str, Any]) -> dict[str, Any]:
        value = (20.0 if record["environment"] == "lam" else 10.0) + record["block"] / 100
        return record | {"metrics": [{**KIND, "value": value}]}

    cases = [case("pendulum", name, {"length": 67}) for name in ("mpich", "lam")]
    run = write_run(tmp_path / "run", cases, blocks=6, edit=measured)
    define(run, [WOBBLE])
    return run


def define(run: Path, metrics: list[dict[str, Any]]) -> None:
    changed(run / "plan.json", schema=2, metrics=metrics, checks=[PENDULUM])


def test_a_metric_that_only_the_plan_defines_is_reported(run: Path) -> None:
    build_report(run)
    with (run / "report/summary.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {(row["metric"], row["unit"], row["n"]) for row in rows} == {("wobble", "quanta/s", "6")}
    text = (run / "report/report.md").read_text()
    assert "Foucault's pendulum" in text
    assert "### Wobble of the pendulum, quanta/s: arithmetic mean of rates ± s\n" in text
    verdicts = json.loads((run / "report/verdicts.json").read_text())
    (cell,) = verdicts["choice"]["overall"]
    assert (cell["environment"], cell["reference"]) == ("lam", "mpich")
    assert cell["advantage"] == pytest.approx(0.5, rel=0.01)


def test_a_metric_that_the_plan_does_not_define_is_refused_by_line(run: Path) -> None:
    define(run, [WOBBLE | {"name": "rate"}])
    with pytest.raises(AssayError, match=r"records\.jsonl:1: metric 'wobble'; allowed: a metric"):
        load_run(run)


def test_two_definitions_of_a_name_are_refused(run: Path) -> None:
    define(run, [WOBBLE, WOBBLE | {"unit": "s"}])
    with pytest.raises(AssayError, match=r"plan\.json:1: the metric wobble has two definitions"):
        load_run(run)


def test_a_history_keeps_the_titles_of_its_series(run: Path, tmp_path: Path) -> None:
    night, values = read_night(run)
    with Store(tmp_path / "history.sqlite", create=True) as store:
        store.add(night, values)
        (key, _) = read_history(store, night.site, night.campaign).series
        page = html.page(night_result(check_history(store, night.site, night.campaign)))
    assert (key.title, key.check_title) == ("wobble of the pendulum", "Foucault's pendulum")
    assert "wobble of the pendulum, less is better" in page


def test_a_metric_of_another_unit_does_not_enter_a_series(run: Path, tmp_path: Path) -> None:
    night, values = read_night(run)
    with Store(tmp_path / "history.sqlite", create=True) as store:
        store.add(night, values)
        define(run, [WOBBLE | {"unit": "s"}])
        for name in ("records.jsonl", "provenance.json"):
            text = (run / name).read_text().replace("quanta/s", "s")
            (run / name).write_text(text.replace('"run"', '"other"'))
        chained(run)
        night, values = read_night(run)
        with pytest.raises(AssayError, match=r"holds wobble of case pendulum-.* in quanta/s"):
            store.add(night, values)
        assert len(store.nights(night.site, night.campaign)) == 1
