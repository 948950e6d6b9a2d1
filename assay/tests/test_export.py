# SPDX-License-Identifier: Apache-2.0
"""What goes out for monitoring: OpenMetrics by a foreign parser, the dashboard."""

import json
import math
import re
import shutil
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as older_text

from assay import ROOT
from assay.cli import main
from records.history.model import Change, Missed
from records.history.store import Store
from records.units import UNITS
from reports.render.formats import openmetrics as metrics_text
from reports.result import Sample
from reports.tests.synthetic import case, write_run
from reports.tests.test_nightly_history import write_night

NIGHTS = 5
HISTORY, RUN = "results/history.sqlite", "results/quick/run"
Capsys = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A history of a few nights, and a run with values of every usual unit."""
    folder = tmp_path_factory.mktemp("export")
    for number in range(1, NIGHTS + 1):
        run = write_night(folder, number)
        assert main(["nightly", "add", str(run), "--history", str(folder / HISTORY)]) == 0
    params = {"p": 1, "q": 2, "n": 1000, "nb": 100, "ranks_per_node": 1}
    sizes = {"placement": "between-nodes", "constructs": ["Send/Recv"], "sizes": [*range(8, 20)]}
    cases = [case("hpl", "mpich", params), case("pt2pt", "mpich", sizes)]
    run = write_run(folder / RUN, cases, blocks=7)
    return folder


def exported(source: Path, capsys: Capsys, *words: str) -> str:
    capsys.readouterr()
    assert main(["export", str(source), *words]) == 0
    return capsys.readouterr().out


def families(source: Path, capsys: Capsys) -> dict[str, Any]:
    return {family.name: family for family in openmetrics(exported(source, capsys))}


def test_other_parsers_read_both_and_so_does_a_node_exporter(folder: Path, capsys: Capsys) -> None:
    for source, least in ((HISTORY, 9), (RUN, 6)):
        text = exported(folder / source, capsys)
        families = list(openmetrics(text))
        assert len(families) >= least
        assert text.endswith("# EOF\n")
        for family in families:
            assert family.type == "gauge"
            assert family.documentation
            assert family.name.startswith("assay_") and family.name.endswith(family.unit)
            assert all(sample.timestamp is None for sample in family.samples)
        # The textfile collector reads the format before OpenMetrics: the same samples.
        older = {s for family in older_text(text) for s in map(repr, family.samples)}
        assert older == {repr(s) for family in families for s in family.samples}


def test_values_of_a_night_and_of_a_run(folder: Path, capsys: Capsys) -> None:
    night = families(folder / HISTORY, capsys)
    states = {one.labels["state"]: one.value for one in night["assay_night_state"].samples}
    assert sum(states.values()) == 1
    (begun,) = night["assay_night_started_timestamp_seconds"].samples
    assert begun.value == datetime(2026, 1, NIGHTS, 2, tzinfo=UTC).timestamp()
    medians = night["assay_night_median_flops_per_second"].samples
    references = night["assay_night_reference_flops_per_second"].samples
    assert {one.labels["case"] for one in medians} == {one.labels["case"] for one in references}
    run = families(folder / RUN, capsys)
    kinds = ("low", "", "high")
    names = [f"assay_run_median_{kind}_seconds".replace("__", "_") for kind in kinds]
    low, median, high = (run[name].samples[0].value for name in names)
    assert low < median < high
    assert run["assay_run_launches"].samples[0].labels["status"] == "ok"


def test_hostile_labels_come_back_as_they_were() -> None:
    odd = 'a "quoted\\" one\nwith = , {lines}'
    text = 'Help with \\ and\nlines and "quotes".'
    samples = [Sample("odd", text, math.inf, {"text": odd, "none": ""})]
    (family,) = openmetrics(metrics_text(samples))
    (sample,) = family.samples
    assert (sample.labels, sample.value) == ({"text": odd}, math.inf)
    assert all(re.fullmatch("[a-z_]+", unit.spelled) for unit in UNITS.values())


def told_of(capsys: Capsys, history: Path) -> dict[str, float]:
    """The samples of a history, by name and labels but site and campaign."""
    whose = {"site", "campaign"}
    return {
        " ".join([sample.name, *(v for k, v in sorted(sample.labels.items()) if k not in whose)]): (
            sample.value
        )
        for family in openmetrics(exported(history, capsys))
        for sample in family.samples
    }


@pytest.mark.parametrize("found", [True, False])
def test_what_a_night_found_is_exported(tmp_path: Path, capsys: Capsys, found: bool) -> None:
    """The limits of the export are those of one alarm a month: they would say the contrary."""
    history = tmp_path / "history.sqlite"
    words = ["--history", str(history)]
    for number in range(1, 13):
        assert main(["nightly", "add", str(write_night(tmp_path, number)), *words]) == 0
    slow = write_night(tmp_path, 13, slower=1.2)
    again = write_night(tmp_path, 13, slower=1.0 if found else 1.2, suffix="b")
    main(["nightly", "add", str(slow), *words])
    main(["nightly", "add", str(again), "--rerun-of", slow.name, *words])
    assert main(["nightly", "check", *words]) == (0 if found else 1)
    with Store(history) as store:
        night = store.find(slow.name)
        change = Change(1, "regression", "tonight", night.id, night.id, 1e9, 8e8, 12)
        store.keep_judgement(night, [(1, change)] if found else [])
    told = told_of(capsys, history)
    kept = [told[f"assay_night_{name}"] for name in ("findings regression", "state FAIL")]
    assert (kept, told["assay_night_state PASS"]) == ([found, found], not found)


@pytest.fixture
def history(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(folder / HISTORY, tmp_path / "history.sqlite"))


def test_nights_missed_of_a_campaign_that_never_had_one(history: Path, capsys: Capsys) -> None:
    with Store(history) as store:
        store.add_missed(Missed("new", "quick", "2026-01-02T02:00:00Z", "no nodes"))
    nights = {
        (sample.labels["site"], sample.name): sample.value
        for family in openmetrics(exported(history, capsys))
        for sample in family.samples
        if sample.name.startswith("assay_nights")
    }
    assert nights["new", "assay_nights"] == nights["virtual", "assay_nights_missed"] == 0
    assert nights["new", "assay_nights_missed"] == 1


def test_a_night_without_a_time_is_one_message(history: Path, capsys: Capsys) -> None:
    with Store(history) as store:
        store.database.execute("UPDATE night SET started_at=run_id")
    capsys.readouterr()
    assert main(["export", str(history)]) == 2
    assert "T020000Z-0005' as the time of" in capsys.readouterr().err


def test_a_file_is_written_whole(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "assay.prom"
    assert main(["export", str(folder / HISTORY), "--output", str(file)]) == 0
    assert list(tmp_path.iterdir()) == [file]
    assert main(["export", str(folder / HISTORY), "--output", str(tmp_path / "no/x.prom")]) == 4
    assert main(["export", str(tmp_path / "none.sqlite")]) == 2


def names_in(node: Any) -> set[str]:
    if isinstance(node, dict):
        texts = [node[key] for key in ("expr", "query") if isinstance(node.get(key), str)]
        found = {name for text in texts for name in re.findall(r"\bassay_\w+", text)}
        return found.union(*(names_in(value) for value in node.values()))
    if isinstance(node, list):
        return set().union(*(names_in(value) for value in node))
    return set()


def without_unit(names: Iterable[str]) -> set[str]:
    """Names of values in any unit are one: `assay_run_median_UNIT`."""
    units = "|".join(unit.spelled for unit in UNITS.values())
    return {re.sub(rf"(median|reference|low|high)_({units})$", r"\1_UNIT", one) for one in names}


def test_dashboard_and_page_have_what_is_exported(folder: Path, capsys: Capsys) -> None:
    dashboard = json.loads((ROOT / "docs/examples/grafana-dashboard.json").read_text())
    used = names_in(dashboard)
    text = exported(folder / HISTORY, capsys) + exported(folder / RUN, capsys)
    told = without_unit(re.findall(r"^# TYPE (\w+) gauge", text, re.MULTILINE))
    assert len(used) > 15
    assert without_unit(used) <= told
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    # What is now: over a range each state that ever held would stand there.
    stats = [panel for panel in dashboard["panels"] if panel["type"] == "stat"]
    asked = [(one["instant"], one["range"]) for panel in stats for one in panel["targets"]]
    assert {*asked} == {(True, False)}
    lines = re.findall(r"^\| `assay_.*", (ROOT / "docs/monitoring.md").read_text(), re.MULTILINE)
    assert told == {name for line in lines for name in re.findall(r"`(assay_\w+)`", line)}
