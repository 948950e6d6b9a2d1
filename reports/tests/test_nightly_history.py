# SPDX-License-Identifier: Apache-2.0
"""A history of runs through the command line: nights, re-runs, changes, garbage."""

import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from assay.cli import main
from records.history.store import Store
from reports.tests.synthetic import HPL_FIXED, case, write_run
from reports.verdicts.nightly.night import read_night

pytestmark = pytest.mark.numerical

NIGHTS = 12


def few_cases():
    return [
        case("hpl", name, {"p": 1, "q": 2, "n": 2000, **HPL_FIXED}) for name in ("lam", "mpich")
    ]


def write_night(folder, number, *, slower=1.0, kernel="6.1", edit=None, suffix=""):
    path = folder / "results" / "quick" / f"202601{number:02d}T020000Z-00{number:02d}{suffix}"
    write_run(path, few_cases(), seed=100 + number + len(suffix), slower=slower, edit=edit)
    (path / "campaign.yaml").write_text("schema: 1\n")
    provenance = json.loads((path / "provenance.json").read_bytes())
    provenance["started_at"] = f"2026-01-{number:02d}T02:00:00Z"
    provenance["host"]["kernel"] = kernel
    (path / "provenance.json").write_text(json.dumps(provenance))
    return path


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def add_nights(folder, count=NIGHTS):
    for number in range(1, count + 1):
        assert main(["history", "add", str(write_night(folder, number))]) == 0


def check(folder, capsys, *options):
    capsys.readouterr()
    status = main(["history", "check", "--json", "--out", str(folder / "out"), *options])
    return status, json.loads(capsys.readouterr().out)


def test_steady_nights_pass(folder, capsys):
    add_nights(folder)
    status, night = check(folder, capsys)
    assert (status, night["verdict"], night["judged"]) == (0, "PASS", 2)
    assert not night["findings"]


def test_slow_night_is_suspect_until_its_rerun_fails_too_and_open_until_accepted(folder, capsys):
    add_nights(folder)
    slow = write_night(folder, 13, slower=1.2, kernel="6.2")
    main(["history", "add", str(slow)])
    status, night = check(folder, capsys)
    assert status == 3
    assert {item["verdict"] for item in night["findings"]} == {"suspect"}
    again = write_night(folder, 13, slower=1.2, kernel="6.2", suffix="b")
    assert main(["history", "add", str(again), "--rerun-of", slow.name]) == 0
    status, night = check(folder, capsys)
    assert status == 1
    assert [item["verdict"] for item in night["findings"]] == ["regression", "regression"]
    assert {"name": "host.kernel", "before": "6.1", "after": "6.2"} in night["context_changes"]
    main(["history", "add", str(write_night(folder, 14, slower=1.2, kernel="6.2"))])
    status, night = check(folder, capsys)
    assert status == 1
    assert {item["verdict"] for item in night["findings"]} == {"open"}
    numbers = [str(item["change"]["id"]) for item in night["findings"]]
    accept = [
        "history",
        "accept-change",
        *numbers,
        "--author",
        "A. Nyone",
        "--reason",
        "kernel 6.2",
    ]
    assert main(accept) == 0
    status, night = check(folder, capsys)
    assert (status, night["verdict"]) == (3, "LEARNING")  # the new reference has one night only
    assert not night["findings"]
    capsys.readouterr()
    assert main(["history", "show", "--changes"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "accepted by A. Nyone: kernel 6.2" in shown
    assert "host.kernel: 6.1 → 6.2" in shown


def test_other_nodes_tell_where_to_look(folder, capsys):
    add_nights(folder)
    slow = write_night(folder, 13, slower=1.2)
    again = write_night(folder, 13, slower=1.2, suffix="b")
    main(["history", "add", str(slow)])
    main(["history", "add", str(again), "--rerun-of", slow.name])

    def moved(record):
        return record | {"nodes": ["n3", "n4"]}

    other = write_night(folder, 13, suffix="c", edit=moved)
    assert main(["history", "add", str(other), "--rerun-of", slow.name, "--elsewhere"]) == 0
    status, night = check(folder, capsys)
    assert status == 1
    assert night["other_nodes"] == ["n3", "n4"]
    assert [item["slow_elsewhere"] for item in night["findings"]] == [False, False]
    assert "look at the nodes of the night" in (folder / "out" / "night.txt").read_text()


def test_elsewhere_is_of_a_rerun(folder, capsys):
    assert main(["history", "add", str(write_night(folder, 1)), "--elsewhere"]) == 2
    assert "--rerun-of" in capsys.readouterr().err


@pytest.mark.parametrize("schema", [1, 2, 3, 4])
def test_history_of_an_earlier_schema_is_read(folder, capsys, schema):
    add_nights(folder)
    with sqlite3.connect("results/history.sqlite") as database:
        for table, column in (("night", "kinds"), ("night", "finds"), ("value", "unexplained")):
            database.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        if schema < 4:
            database.execute("DROP TABLE missed")
        for column in ("title", "check_title") if schema < 3 else ():
            database.execute(f"ALTER TABLE series DROP COLUMN {column}")
        if schema == 1:
            database.execute("ALTER TABLE night DROP COLUMN elsewhere")
        database.execute(f"PRAGMA user_version={schema}")
    status, night = check(folder, capsys)
    assert (status, night["judged"]) == (0, 2)
    with sqlite3.connect("results/history.sqlite") as database:
        titles = database.execute("SELECT DISTINCT title, check_title FROM series").fetchall()
    assert titles == [("rate", "HPL")]


def test_good_rerun_dismisses(folder, capsys):
    add_nights(folder)
    slow = write_night(folder, 13, slower=1.2)
    main(["history", "add", str(slow)])
    main(["history", "add", str(write_night(folder, 13, suffix="b")), "--rerun-of", slow.name])
    status, night = check(folder, capsys)
    assert status == 0
    assert {item["verdict"] for item in night["findings"]} == {"dismissed"}


def test_improvement_is_a_change_and_no_regression(folder, capsys):
    add_nights(folder, 20)
    for number in range(21, 29):
        main(["history", "add", str(write_night(folder, number, slower=0.8))])
        status, night = check(folder, capsys)
        assert status == 0
        assert not {item["verdict"] for item in night["findings"]} & {"regression", "suspect"}
    main(["history", "show", "--changes"])
    assert "improvement (lasting) since 2026-01-21" in capsys.readouterr().out


def test_check_again_finds_the_same_and_nothing_twice(folder, capsys):
    add_nights(folder, 20)
    for number in range(21, 27):
        main(["history", "add", str(write_night(folder, number, slower=0.8))])
    first = check(folder, capsys)
    assert check(folder, capsys) == first
    with sqlite3.connect("results/history.sqlite") as database:
        assert database.execute("SELECT count(*) FROM change").fetchone() == (2,)


def test_outputs_are_well_formed(folder, capsys):
    add_nights(folder)
    main(["history", "add", str(write_night(folder, 13, slower=1.2))])
    check(folder, capsys)
    suite = ElementTree.parse(folder / "out" / "junit.xml").getroot()  # noqa: S314 our own
    assert suite.get("tests") == "2"
    assert suite.get("skipped") == "2"
    page = (folder / "out" / "index.html").read_text()
    assert page.count('<figure id="case-') == 2


def all_failed(record):
    return record | {"status": "failed", "reason": "time limit", "metrics": []}


def test_night_without_a_valid_launch_is_kept_and_fails(folder, capsys):
    add_nights(folder)
    assert main(["history", "add", str(write_night(folder, 13, edit=all_failed))]) == 0
    status, night = check(folder, capsys)
    assert status == 1
    assert night["launches"] == {"failed": 10}
    assert night["not_judged"] == {"no valid launch tonight": 2}


def test_one_launch_is_no_value(folder, capsys):
    add_nights(folder)
    one = write_night(folder, 13, edit=lambda r: r if r["block"] == 1 else None)
    main(["history", "add", str(one)])
    status, night = check(folder, capsys)
    assert status == 3
    assert night["not_judged"] == {"fewer than 3 valid launches tonight": 2}


def test_few_nights_are_said_to_be_few(folder, capsys):
    add_nights(folder, 2)
    status, night = check(folder, capsys)
    assert (status, night["verdict"], night["more_nights"]) == (3, "LEARNING", 9)
    told = "Night 2: all 10 launches right; for PASS about 9 more nights are needed."
    assert night["answer"]["sentence"] == told
    assert night["not_judged"] == {"fewer than 3 earlier nights to compare with": 2}
    junit = (folder / "out" / "junit.xml").read_text()
    assert 'tests="2" failures="0" errors="0" skipped="2"' in junit
    assert junit.count("<skipped ") == 2


def negative(record):
    for metric in record["metrics"]:
        metric["value"] = -metric["value"]
    return record


def test_a_night_with_negative_values_is_refused(folder, capsys):
    add_nights(folder)
    night = write_night(folder, 13, edit=negative)
    capsys.readouterr()
    assert main(["history", "add", str(night)]) == 2
    assert "cannot be measured" in capsys.readouterr().err


def test_zero_variance(folder, capsys):
    def flat(record):
        for metric in record["metrics"]:
            metric["value"] = 1e9
        return record

    for number in range(1, 14):
        main(["history", "add", str(write_night(folder, number, edit=flat))])
    status, night = check(folder, capsys)
    assert (status, night["judged"]) == (0, 2)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda lines: [lines[0].replace(b'"schema":1', b'"schema":9'), *lines[1:]], "schema is 9"),
        (lambda lines: [lines[0][: len(lines[0]) // 2] + b"\n", *lines[1:]], "not a record"),
        (lambda lines: [lines[0].replace(b'"value":', b'"value":NaN,"x":'), *lines[1:]], "not a"),
    ],
)
def test_damaged_records_add_nothing(folder, capsys, damage, said):
    path = write_night(folder, 1)
    records = path / "records.jsonl"
    records.write_bytes(b"".join(damage(records.read_bytes().splitlines(keepends=True))))
    assert main(["history", "add", str(path)]) == 2
    assert said in capsys.readouterr().err
    assert not Path("results/history.sqlite").exists()


def test_a_run_without_its_time_has_that_of_its_id_or_enters_no_history(folder, capsys):
    path = write_night(folder, 1, edit=lambda record: record | {"started_at": None})
    provenance = json.loads((path / "provenance.json").read_bytes())

    def added(run_id, started_at):
        changed = provenance | {"run_id": run_id, "started_at": started_at}
        (path / "provenance.json").write_text(json.dumps(changed))
        lines = (path / "records.jsonl").read_text().replace(path.name, run_id)
        (path / "records.jsonl").write_text(lines)
        return main(["history", "add", str(path)])

    assert added(path.name, "yesterday") == 2
    assert "`started_at`: found 'yesterday'" in capsys.readouterr().err
    assert added(path.name, None) == 0
    with Store(Path("results/history.sqlite")) as store:
        assert store.find(path.name).started_at == "2026-01-01T02:00:00Z"
    assert added("by-hand", None) == 2


def test_half_a_last_line_is_said_and_does_not_count(folder, capsys):
    path = write_night(folder, 1)
    records = path / "records.jsonl"
    records.write_bytes(records.read_bytes()[:-20])
    assert main(["history", "add", str(path)]) == 0
    _, night = check(folder, capsys)
    assert night["launches"] == {"ok": 9}
    assert "torn" in night["warnings"][0]


def test_a_run_enters_once(folder, capsys):
    path = str(write_night(folder, 1))
    assert main(["history", "add", path]) == 0
    assert main(["history", "add", path]) == 2
    assert "already in" in capsys.readouterr().err


@pytest.mark.parametrize(
    "content", [b"no database at all" * 100, b"SQLite format 3\0" + b"\1" * 999]
)
def test_file_that_is_no_history(folder, capsys, content):
    path = write_night(folder, 1)
    Path("results/history.sqlite").write_bytes(content)
    assert main(["history", "add", str(path)]) == 2
    assert "damaged or no history" in capsys.readouterr().err


def test_killed_while_adding_leaves_whole_nights_only(folder):
    add_nights(folder, 2)
    path = write_night(folder, 3)
    program = (
        "import os, signal\n"
        "from records.history import store\n"
        "from assay.cli import main\n"
        "left = [1]\n"
        "real = store.Store._series_id\n"
        "def dying(self, night, key):\n"
        "    if not left: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    left.pop(); return real(self, night, key)\n"
        "store.Store._series_id = dying\n"
        f"main(['history', 'add', {str(path)!r}])\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == -9
    with sqlite3.connect("results/history.sqlite") as database:
        assert database.execute("SELECT count(*) FROM night").fetchone() == (2,)
        assert database.execute("SELECT count(*) FROM value").fetchone() == (4,)
    assert main(["history", "add", str(path)]) == 0


def test_full_disk_keeps_what_was_there(folder, capsys):
    add_nights(folder, 2)
    path = write_night(folder, 3)
    night, values = read_night(path)
    with Store(Path("results/history.sqlite")) as store:
        pages = store.database.execute("PRAGMA page_count").fetchone()[0]
        store.database.execute(f"PRAGMA max_page_count={pages}")
        many = values * 1 + [type(values[0])(values[0].series, tuple(np.arange(1.0, 20000.0)))]
        with pytest.raises(Exception, match="what it held before is safe"):
            store.add(night, many)
        assert len(store.nights("virtual", "quick")) == 2
