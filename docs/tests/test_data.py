# SPDX-License-Identifier: Apache-2.0
"""docs/data.md names every column and key of the real files, and its examples run."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from assay.cli.schema import FOLDER, all_forms, form_schema
from assay.documents.report import build_report
from assay.tests.published_forms import published
from records.forms import key_table
from records.history.store import SCHEMA as HISTORY_SCHEMA
from records.history.store import Store
from reports.render.formats import COMMON, CSV_COLUMNS, PARQUET_COLUMNS, SCHEMA
from reports.tests.synthetic import case, quick_cases, write_run
from reports.tests.test_nightly_history import write_night
from reports.verdicts.nightly.evidence import read_night

PAGE = Path(__file__).parents[1] / "data.md"


def section(title: str) -> str:
    return PAGE.read_text().split(f"\n## {title}\n")[1].split("\n## ")[0]


def named(title: str) -> set[str]:
    """What stands in back quotes in the first cells of a section's table."""
    cells = re.findall(r"^\| ([^|]*) \|", section(title), flags=re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def example(language: str, of: str) -> str:
    """The page's example in a language that reads a file."""
    blocks = re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (found,) = [block for block in blocks if of in block]
    return str(found)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    out = folder / "report"
    cases = [
        one for one in quick_cases() if one["check"] != "pt2pt" or "-" not in one["environment"]
    ]
    # A check of somebody else, with names that our columns have.
    odd = {"mean": 3, "Unit": "=1+1", "n": 7, "param_n": 8, "sizes": [1, 2], "ranks": 2}
    odd |= {"half": 0.5, "p": 1, "q": 1}
    cases += [case("hpl", name, odd) for name in ("mpich", "lam")]
    build_report(write_run(folder / "run", cases), out, formats=("csv", "json", "parquet"))
    return out


@pytest.fixture
def rows(report: Path) -> pl.DataFrame:
    return pl.read_csv(report / "summary.csv", infer_schema_length=None)


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two nights with two series each."""
    folder = tmp_path_factory.mktemp("history")
    for number in (1, 2):
        run = write_night(folder, number)
        with Store(folder / "history.sqlite", create=True) as store:
            store.add(*read_night(run))
    return folder / "history.sqlite"


def test_the_page_names_every_column() -> None:
    assert named("Columns of summary.csv") == set(CSV_COLUMNS)
    assert named("Columns of values.parquet") == set(PARQUET_COLUMNS)
    assert f"version of these columns: {SCHEMA}" in section("Columns of summary.csv")
    assert set(COMMON) <= set(CSV_COLUMNS) & set(PARQUET_COLUMNS)


def test_both_tables_have_these_columns_and_those_of_parameters_and_points(
    report: Path, rows: pl.DataFrame
) -> None:
    values = pl.read_parquet(report / "values.parquet")
    assert tuple(rows.columns[: len(CSV_COLUMNS)]) == CSV_COLUMNS
    assert tuple(values.columns[: len(PARQUET_COLUMNS)]) == PARQUET_COLUMNS
    further = rows.columns[len(CSV_COLUMNS) :]
    assert further == values.columns[len(PARQUET_COLUMNS) :]
    assert {"p", "q", "nb", "placement", "construct", "param_n", "param_mean"} <= set(further)
    assert not {"sizes", "constructs", "n"} & set(further)
    assert pl.read_parquet_metadata(report / "values.parquet")["assay.schema"] == str(SCHEMA)
    assert rows["schema"].unique().to_list() == [SCHEMA]
    assert len(values) == rows["n"].sum()


def test_a_row_says_what_its_texts_say(rows: pl.DataFrame) -> None:
    latency = rows.filter(pl.col("metric") == "half_round_trip")
    sizes = latency["at"].str.extract(r"message_bytes=(\d+)").cast(pl.Int64)
    assert (sizes == latency["message_bytes"]).all()
    assert latency["better"].unique().to_list() == ["lower"]
    hpl = rows.filter((pl.col("check") == "hpl") & pl.col("nb").is_not_null())
    assert (hpl["params"].str.extract(r"; n=(\d+)").cast(pl.Int64) == hpl["param_n"]).all()
    assert set(hpl["grid"].unique()) == {"1x1", "1x2", "2x2"}
    assert hpl.filter(pl.col("metric") == "rate")["better"].unique().to_list() == ["higher"]
    assert set(hpl["nodes"].unique()) == {2}


def test_names_that_are_taken_are_led_by_param(rows: pl.DataFrame) -> None:
    columns = ("param_mean", "param_Unit", "param_n", "param_param_n", "ranks")
    odd = rows.filter(pl.col("half") == 0.5).select(columns).unique()
    assert odd.rows() == [(3, "'=1+1", 7, 8, 2)]


def test_verdicts_have_their_keys_and_zeros(report: Path) -> None:
    found = published("verdicts", (report / "verdicts.json").read_text())
    assert found["launches"]["lost"] == found["launches"]["failed"] == 0


def test_each_form_is_published_as_the_code_has_it_and_linked() -> None:
    shipped = {one.name.partition(".")[0]: json.loads(one.read_text()) for one in FOLDER.iterdir()}
    made = json.loads(json.dumps({name: form_schema(name) for name in all_forms()}))
    assert shipped == made, "run make schema"
    # Python 3.13 keeps docstrings without it, 3.11 with it.
    assert not re.findall(r"[^\"]*\\n +", json.dumps(made)), "a description is indented"
    assert set(re.findall(r"schemas/([\w-]+)\.schema\.json", PAGE.read_text())) == set(all_forms())


def test_a_table_of_keys_explains_a_struct_once() -> None:
    table = key_table(form_schema("verdicts"))
    assert "| `choice.points[].…` | Keys as in `choice.overall[]` |" in table
    assert table.count("Questions judged together") == 1


def test_every_key_of_a_form_is_described() -> None:
    def bare(node: Any, path: str) -> list[str]:
        if not isinstance(node, dict):
            return []
        found = [
            f"{path}.{key}"
            for key, value in node.get("properties", {}).items()
            if not value.get("description") and "$ref" not in value
            if len(value.get("enum", ())) != 1  # a tag says what the object is
        ]
        return found + [hit for key, value in node.items() for hit in bare(value, f"{path}.{key}")]

    names = set(all_forms()) - {"plan"}
    assert not [hit for name in names for hit in bare(form_schema(name), name)]


def test_the_examples_of_polars_run(
    report: Path, history: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names: dict[str, Any] = {}
    for folder, of in ((history.parent, "history.sqlite"), (report, "values.parquet")):
        monkeypatch.chdir(folder)
        exec(example("python", of), found := dict[str, Any]())  # noqa: S102
        names, said = names | found, capsys.readouterr().out
    assert len(names["shares"]) == 4
    assert names["shares"]["share"].to_list() == pytest.approx([1, 1, 1, 1], rel=0.3)
    assert "message_bytes" in said
    assert names["factors"]["factor"].min() == 1
    assert len(names["factors"]) == len(names["medians"]) > 50


def test_the_example_of_duckdb_runs(report: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    duckdb = pytest.importorskip("duckdb", reason="no DuckDB: pip install duckdb")
    monkeypatch.chdir(report)
    rows = duckdb.sql(example("sql", "summary.csv")).fetchall()
    assert {row[4] for row in rows} <= {"mpich", "openmpi", "lam", "lam-lamd"}
    assert all(row[5] >= 1 for row in rows)


def test_the_page_names_every_column_of_a_history(history: Path) -> None:
    cells = re.findall(
        r"^\|([^|]*)\| ([^|]*) \|", section("Tables of history.sqlite"), flags=re.MULTILINE
    )
    named: dict[str, set[str]] = {}
    table = ""
    for first, second in cells[1:]:
        table = first.strip("` ") or table
        named.setdefault(table, set()).update(re.findall(r"`(\w+)`", second))
    with Store(history) as store:
        tables = store.database.execute("SELECT name FROM sqlite_master WHERE type='table'")
        found = {
            name: {row["name"] for row in store.database.execute(f"PRAGMA table_info({name})")}
            for (name,) in tables.fetchall()
        }
    assert named == found
    assert f"`PRAGMA user_version`: {HISTORY_SCHEMA}" in section("Tables of history.sqlite")


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="needs R: make packages")
def test_the_example_of_r_runs(report: Path) -> None:
    done = subprocess.run(
        ["Rscript", "-e", example("r", "summary.csv")],
        cwd=report,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "message_bytes" in done.stdout
