# SPDX-License-Identifier: Apache-2.0
"""A run is read by the metrics and checks of its own plan: its page has a section of a check that
Assay does not know, and marks values that physics does not allow."""

import csv
import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from assay.documents.report import build_report
from records.errors import AssayError
from records.history.reading import read_history
from records.history.store import Store
from reports.analysis.run import analyse
from reports.checks.sections import CheckPart, check_parts, own_section
from reports.load.loading import load_run
from reports.render import html
from reports.show.draw import svg_of
from reports.tests.synthetic import case, chained, changed, write_run
from reports.verdicts.nightly.evidence import read_night
from reports.verdicts.nightly.judge import check_history
from reports.verdicts.nightly.result import night_result


def define(run: Path, metrics: list[dict[str, Any]], check: dict[str, Any]) -> Path:
    """The run whose plan has these metrics and this check alone."""
    changed(run / "plan.json", schema=2, metrics=metrics, checks=[check])
    return run


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
    return define(run, [WOBBLE], PENDULUM)


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


def test_two_definitions_of_a_name_are_refused(run: Path) -> None:
    define(run, [WOBBLE, WOBBLE | {"unit": "s"}], PENDULUM)
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
        define(run, [WOBBLE | {"unit": "s"}], PENDULUM)
        for name in ("records.jsonl", "provenance.json"):
            text = (run / name).read_text().replace("quanta/s", "s")
            (run / name).write_text(text.replace('"run"', '"other"'))
        with pytest.raises(AssayError, match=r"holds wobble of case pendulum-.* in quanta/s"):
            store.add(*read_night(chained(run)))
        assert len(store.nights(night.site, night.campaign)) == 1


RATE = {"unit": "bytes/s", "better": "higher", "definition": "a rate", "limit": "link"}
STREAM = {"name": "stream", "title": "Stream", "deciding": "", "shown": ""}
#: Of 12.5 MB/s less headers; the third block of the longest message is beyond.
VALUES = {1024: [3e6, 3e6, 3e6], 8192: [14e6, 15e6, 14e6], 65536: [11e6, 11e6, 12.6e6]}


def written(folder: Path, network: dict[str, Any]) -> Path:
    def measured(record: dict[str, Any]) -> dict[str, Any]:
        rate = {"unit": "bytes/s", "better": "higher"}
        metrics = [
            rate | {"name": name, "value": of[record["block"] - 1], "at": {"message_bytes": size}}
            for size, of in VALUES.items()
            for name in ("bounded", "free")
        ]
        return record | {"metrics": metrics, "flags": ["beyond-limit"]}

    run = write_run(folder / "run", [case("stream", "lam", {"x": 1})], blocks=3, edit=measured)
    define(run, [{"name": "bounded", **RATE}, {"name": "free", **RATE, "limit": ""}], STREAM)
    site = json.loads((run / "provenance.json").read_text())["site"]
    changed(run / "provenance.json", site=site | {"network": site["network"] | network})
    return run


def marks(run: Path) -> dict[tuple[str, Any], tuple[str, ...]]:
    found = {}
    for row in analyse(load_run(run)).rows:
        at = row.series.metric, row.series.at_value("message_bytes")
        found[at] = tuple(flag for flag in row.flags if flag.startswith("beyond"))
    return found


def test_each_value_is_held_against_its_bound(tmp_path):
    run = written(tmp_path, {"payload_share": 1448 / 1538})
    assert marks(run) == {
        ("bounded", 1024): (),
        ("bounded", 8192): ("beyond-limit",),
        ("bounded", 65536): ("beyond-limit in 1 of 3",),
        **{("free", size): () for size in VALUES},
    }
    build_report(run)
    text = (run / "report/report.md").read_text()
    marked = [line for line in text.splitlines() if r"beyond\-limit" in line]
    assert any("8 KiB" in line and "14.3" in line for line in marked)
    assert not any("1 KiB" in line for line in marked)


def test_without_a_known_rate_nothing_is_beyond(tmp_path):
    assert not any(marks(written(tmp_path, {"bits_per_second": None})).values())


TIME = {"unit": "s", "better": "lower", "definition": "a time"}
METRICS: list[dict[str, Any]] = [
    {"name": "halo_time", **TIME, "title": "halo exchange"},
    {"name": "halo_rate", "unit": "bytes/s", "better": "higher", "definition": "bytes over time"},
    {"name": "setup_time", **TIME},
    {"name": "lay", "unit": "1", "better": "lower", "definition": "where", "measured": False},
]
HALO = {"name": "halo", "title": "Halo exchange", "deciding": "halo_time", "shown": ""}
SIZES, RANKS, PATTERNS = (8, 1024, 65536), (2, 4, 8), ("faces", "edges")
ENVIRONMENTS = ("mpich", "lam")


def metric(name: str, value: float, **at: int) -> dict[str, Any]:
    known = next(one for one in METRICS if one["name"] == name)
    return {key: known[key] for key in ("name", "unit", "better")} | {"value": value, "at": at}


def measured(record: dict[str, Any]) -> dict[str, Any]:
    """`lam` takes twice as long; each block a percent longer than the one before."""
    base = (2 if record["environment"] == "lam" else 1) * (1 + 0.01 * record["block"])
    metrics = [metric("setup_time", 0.12 * base), metric("lay", 1.0)]
    for size in SIZES:
        time_s = base * record["params"]["ranks"] * (1e-5 + size * 1e-9)
        metrics.append(metric("halo_time", time_s, face_bytes=size))
        metrics.append(metric("halo_rate", size / time_s, face_bytes=size))
    return record | {"metrics": metrics}


def halo_run(folder: Path, cases: list[dict[str, Any]], blocks: int) -> Path:
    """A run of a check that Assay does not know."""
    return define(write_run(folder, cases, blocks=blocks, edit=measured), METRICS, HALO)


@pytest.fixture(scope="module")
def halo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cases = [
        case("halo", name, {"ranks": ranks, "nodes": ranks // 2, "pattern": pattern}, ranks)
        for name, ranks, pattern in product(ENVIRONMENTS, RANKS, PATTERNS)
    ]
    return halo_run(tmp_path_factory.mktemp("generic") / "run", cases, 4)


@pytest.fixture(scope="module")
def generic(halo: Path) -> CheckPart:
    (part,) = check_parts(analyse(load_run(halo)))
    return part


def test_each_metric_stands_against_its_first_axis(generic: CheckPart) -> None:
    # `nodes` varies in step with `ranks`; `lay` is not measured.
    assert [picture.title for picture in generic.pictures] == [
        "Halo exchange against face bytes",
        "Halo rate against face bytes",
        "Setup time against ranks",
    ]


def test_a_panel_holds_what_one_axis_varies_and_a_line_an_environment(generic: CheckPart) -> None:
    sizes, _, ranks = generic.pictures
    assert [len(sizes.panels), len(ranks.panels)] == [6, 2]  # ranks × patterns, patterns
    assert sizes.environments == list(ENVIRONMENTS)
    # Of 2 ranks and faces: (1e-5 + 65536e-9)·2·1.025 s in mpich.
    alt = next(p.alt for p in sizes.panels if "2 ranks" in p.alt and "faces" in p.alt)
    assert "mpich 20.5 to 155 µs; lam 41.0 to 310 µs" in alt
    assert "KiB" in svg_of(sizes.panels[0])  # sizes on a logarithmic axis of bytes
    assert "kB" not in svg_of(ranks.panels[0])


def test_environments_stand_side_by_side_with_their_spread(generic: CheckPart) -> None:
    table = generic.tables[0]
    assert table.title == "Halo exchange, µs: mean ± s"
    rates = next(one for one in generic.tables if one.title.startswith("Halo rate"))
    assert rates.title.endswith("/s: arithmetic mean of rates ± s")
    first = "face bytes", "ranks", "nodes", "pattern"
    assert tuple(column.title for column in table.columns[:4]) == first
    assert [column.environment for column in table.columns] == ["", "", "", "", *ENVIRONMENTS]
    assert [column.numeric for column in table.columns] == [True, True, True, False, True, True]
    assert len(table.rows) == len(SIZES) * len(RANKS) * len(PATTERNS)
    row = next(r for r in table.rows if [c.text for c in r[:4]] == ["8 B", "2", "1", "faces"])
    assert [cell.text for cell in row[4:]] == ["20.52 ± 0.26", "41.03 ± 0.52"]
    assert row[4].title.startswith("n = 4, mean 2.0516")


@pytest.mark.full
def test_the_page_shows_an_unknown_check_whole(halo: Path, tmp_path: Path) -> None:
    files = build_report(halo, tmp_path / "report", ("html", "md")).files
    page, text = (Path(files[name]).read_text() for name in ("html", "md"))
    anchors = "picture-halo-halo-time-face-bytes", "table-halo-halo-rate-side-by-side"
    assert all(f'id="{anchor}"' in page for anchor in ("check-halo", *anchors))
    assert "| 8 B | 2 | 1 | faces | 20.52 ± 0.26 | 41.03 ± 0.52 |" in text


def test_a_metric_without_an_axis_shows_environments_beside_each_other(tmp_path: Path) -> None:
    cases = [case("halo", name, {"ranks": 2}) for name in ENVIRONMENTS]
    (part,) = check_parts(analyse(load_run(halo_run(tmp_path, cases, 3))))
    assert part.pictures[-1].title == "Setup time"
    (panel,) = part.pictures[-1].panels
    assert "mpich 122 to 122 ms; lam 245 to 245 ms" in panel.alt
    (row,) = part.tables[2].rows
    assert [cell.text for cell in row] == ["2 ranks", "122.4 ± 1.2", "244.8 ± 2.4"]


def test_our_sections_are_the_modules_named_as_checks() -> None:
    assert own_section("hpl") is not None
    assert own_section("su3_rmd") is not None
    for name in ("halo", "sections", "common", "../hpl", "os", ""):
        assert own_section(name) is None
