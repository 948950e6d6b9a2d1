# SPDX-License-Identifier: Apache-2.0
"""A history of runs through the command line: nights, re-runs, changes; two days compared."""

import json
import shutil
import sqlite3
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

import numpy as np
import pytest

from assay.cli import main
from bench.tests.simulated.nights import Event, normal, simulate
from records.history.model import Change
from records.history.store import Store
from reports.tests.synthetic import HPL_FIXED, case, chained, changed, write_run
from reports.verdicts.comparison import day_spreads
from reports.verdicts.nightly.check import read_night

pytestmark = pytest.mark.numerical

NIGHTS = 12


def write_night(folder, number, *, slower=1.0, kernel="6.1", edit=None, suffix=""):
    path = folder / "results" / "quick" / f"202601{number:02d}T020000Z-00{number:02d}{suffix}"
    params = {"p": 1, "q": 2, "n": 2000, **HPL_FIXED}
    cases = [case("hpl", name, params) for name in ("lam", "mpich")]
    write_run(path, cases, seed=100 + number + len(suffix), slower=slower, edit=edit)
    known = {"started_at": f"2026-01-{number:02d}T02:00:00Z", "host": {"kernel": kernel}}
    changed(path / "provenance.json", **known)
    return path


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@cache
def known_nights(count):
    """A history of so many steady nights, made once."""
    folder = TemporaryDirectory(prefix="assay-nights-")
    history = Path(folder.name) / "history.sqlite"
    for number in range(1, count + 1):
        run = str(write_night(Path(folder.name), number))
        assert main(["nightly", "add", run, "--history", str(history)]) == 0
    return history, folder


def add_nights(folder, count=NIGHTS):
    (folder / "results").mkdir(exist_ok=True)
    shutil.copy(known_nights(count)[0], folder / "results" / "history.sqlite")


def add_night(folder, number, *words, **how):
    """Add a night, or with the suffix the re-run of it."""
    run = write_night(folder, number, **how)
    again = ("--rerun-of", run.name[:-1]) if "suffix" in how else ()
    assert main(["nightly", "add", str(run), *again, *words]) == 0


def check(folder, capsys, *options):
    capsys.readouterr()
    status = main(["nightly", "check", "--json", "--out", str(folder / "out"), *options])
    return status, json.loads(capsys.readouterr().out)


def verdicts_of(night):
    return [item["verdict"] for item in night["findings"]]


def test_steady_nights_pass(folder, capsys):
    add_nights(folder)
    status, night = check(folder, capsys)
    assert (status, night["verdict"], night["judged"]) == (0, "PASS", 2)
    assert not night["findings"]


def test_slow_night_is_suspect_until_its_rerun_fails_too_and_open_until_accepted(folder, capsys):
    add_nights(folder)
    add_night(folder, 13, slower=1.2, kernel="6.2")
    status, night = check(folder, capsys)
    assert (status, verdicts_of(night)) == (3, ["suspect", "suspect"])
    suite = ElementTree.parse(folder / "out" / "junit.xml").getroot()  # noqa: S314 our own
    assert (suite.get("tests"), suite.get("skipped")) == ("2", "2")
    assert (folder / "out" / "index.html").read_text().count('<figure id="trends"') == 1
    add_night(folder, 13, slower=1.2, kernel="6.2", suffix="b")
    status, night = check(folder, capsys)
    assert (status, verdicts_of(night)) == (1, ["regression", "regression"])
    assert {"name": "host.kernel", "before": "6.1", "after": "6.2"} in night["context_changes"]
    add_night(folder, 14, slower=1.2, kernel="6.2")
    status, night = check(folder, capsys)
    assert (status, verdicts_of(night)) == (1, ["open", "open"])
    numbers = [str(item["change"]["id"]) for item in night["findings"]]
    why = ["--author", "A. Nyone", "--reason", "kernel 6.2"]
    assert main(["nightly", "accept-change", *numbers, *why]) == 0
    status, night = check(folder, capsys)
    # The new reference has one night only.
    assert (status, night["verdict"], night["findings"]) == (3, "LEARNING", [])
    capsys.readouterr()
    assert main(["nightly", "show", "--changes"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "accepted by A. Nyone: kernel 6.2" in shown
    assert "host.kernel: 6.1 → 6.2" in shown


def test_other_nodes_tell_where_to_look(folder, capsys):
    add_nights(folder)
    add_night(folder, 13, slower=1.2)
    add_night(folder, 13, slower=1.2, suffix="b")
    moved = {"nodes": ["n3", "n4"]}
    add_night(folder, 13, "--elsewhere", suffix="c", edit=lambda record: record | moved)
    status, night = check(folder, capsys)
    assert (status, night["other_nodes"]) == (1, moved["nodes"])
    assert [item["slow_elsewhere"] for item in night["findings"]] == [False, False]
    assert "look at the nodes of the night" in (folder / "out" / "night.txt").read_text()


@pytest.mark.parametrize("schema", [2, 3, 4, 5, 6])
def test_history_of_an_earlier_schema_is_read(folder, capsys, schema):
    add_nights(folder)
    with sqlite3.connect("results/history.sqlite") as database:
        database.execute("ALTER TABLE launch DROP COLUMN retry")
        for table in ("launch", "reference") if schema < 6 else ():
            database.execute(f"DROP TABLE {table}")
        if schema < 6:
            database.execute("ALTER TABLE night DROP COLUMN imported")
        of_5 = ("night", "kinds"), ("night", "finds"), ("value", "unexplained")
        for table, column in of_5 if schema < 5 else ():
            database.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        if schema < 4:
            database.execute("DROP TABLE missed")
        for column in ("title", "check_title") if schema < 3 else ():
            database.execute(f"ALTER TABLE series DROP COLUMN {column}")
        database.execute(f"PRAGMA user_version={schema}")
    status, night = check(folder, capsys)
    assert (status, night["judged"]) == (0, 2)
    with sqlite3.connect("results/history.sqlite") as database:
        titles = database.execute("SELECT DISTINCT title, check_title FROM series").fetchall()
    assert titles == [("rate", "hpl" if schema < 3 else "HPL")]


def test_good_rerun_dismisses(folder, capsys):
    add_nights(folder)
    add_night(folder, 13, slower=1.2)
    add_night(folder, 13, suffix="b")
    status, night = check(folder, capsys)
    assert (status, verdicts_of(night)) == (0, ["dismissed", "dismissed"])


@pytest.mark.full
def test_improvement_is_a_change_and_no_regression_and_is_found_once(folder, capsys):
    add_nights(folder, 20)
    for number in range(21, 27):
        add_night(folder, number, slower=0.8)
        status, night = check(folder, capsys)
        assert status == 0
        assert not {*verdicts_of(night)} & {"regression", "suspect"}
    assert check(folder, capsys) == (status, night)
    with sqlite3.connect("results/history.sqlite") as database:
        assert database.execute("SELECT count(*) FROM change").fetchone() == (2,)
    main(["nightly", "show", "--changes"])
    assert "improvement (lasting) since 2026-01-21" in capsys.readouterr().out


FAILED = {"status": "failed", "reason": "time limit", "metrics": []}


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (lambda one: one | FAILED, (1, {"failed": 10}, {"no valid launch tonight": 2})),
        (
            lambda one: one if one["block"] == 1 else None,
            (3, {"ok": 2}, {"fewer than 3 valid launches tonight": 2}),
        ),
    ],
)
def test_a_night_of_too_few_valid_launches_is_kept(folder, capsys, edit, told):
    add_nights(folder)
    add_night(folder, 13, edit=edit)
    status, night = check(folder, capsys)
    assert (status, night["launches"], night["not_judged"]) == told
    failed = night["summary"] == "10 of 10 launches ended without a result tonight."
    assert failed == (status == 1) == (night["answer"]["details"] == ["time limit"])


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


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"schema":2', '"schema":9', "schema is 9"),
        ('"metrics":', "\n", "not a record"),
        ('"value":', '"value":NaN,"x":', "not a"),
        ('"value":', '"value":-', "cannot be measured"),
    ],
)
def test_damaged_records_add_nothing(folder, capsys, old, new, said):
    path = write_night(folder, 1)
    records = path / "records.jsonl"
    records.write_text(records.read_text().replace(old, new, 1))
    chained(path)
    assert main(["nightly", "add", str(path)]) == 2
    assert said in capsys.readouterr().err
    assert not Path("results/history.sqlite").exists()


def test_a_run_without_its_time_has_that_of_its_id_or_enters_no_history(folder, capsys):
    path = write_night(folder, 1, edit=lambda record: record | {"started_at": None})

    def added(run_id, started_at):
        changed(path / "provenance.json", run_id=run_id, started_at=started_at)
        lines = (path / "records.jsonl").read_text().replace(path.name, run_id)
        (path / "records.jsonl").write_text(lines)
        chained(path)
        return main(["nightly", "add", str(path)])

    assert added(path.name, "yesterday") == 2
    assert "`started_at`: found 'yesterday'" in capsys.readouterr().err
    assert added(path.name, None) == 0
    with Store(Path("results/history.sqlite")) as store:
        assert store.find(path.name).started_at == "2026-01-01T02:00:00Z"
    assert added("by-hand", None) == 2


def test_half_a_last_line_is_said_and_does_not_count_and_a_run_enters_once(folder, capsys):
    path = write_night(folder, 1)
    records = path / "records.jsonl"
    records.write_bytes(records.read_bytes()[:-20])
    assert main(["nightly", "add", str(path)]) == 0
    _, night = check(folder, capsys)
    assert night["launches"] == {"ok": 9}
    assert "torn" in night["warnings"][0]
    assert main(["nightly", "add", str(path)]) == 2
    assert "already in" in capsys.readouterr().err


@pytest.mark.full
def test_killed_while_adding_leaves_whole_nights_only(folder):
    add_nights(folder, 2)
    path = write_night(folder, 3)
    program = (
        "import os, signal\n"
        "from records.history import store\n"
        "from assay.cli import main\n"
        "left = [1]\n"
        "real = store.Store.series_id\n"
        "def dying(self, *whose):\n"
        "    if not left: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    left.pop(); return real(self, *whose)\n"
        "store.Store.series_id = dying\n"
        f"main(['nightly', 'add', {str(path)!r}])\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == -9
    with sqlite3.connect("results/history.sqlite") as database:
        assert database.execute("SELECT count(*) FROM night").fetchone() == (2,)
        assert database.execute("SELECT count(*) FROM value").fetchone() == (4,)
    assert main(["nightly", "add", str(path)]) == 0


def test_full_disk_keeps_what_was_there(folder, capsys):
    add_nights(folder, 2)
    path = write_night(folder, 3)
    night, values = read_night(path)
    many = [*values, replace(values[0], launches=tuple(np.arange(1.0, 20000.0)))]
    with Store(Path("results/history.sqlite")) as store:
        pages = store.database.execute("PRAGMA page_count").fetchone()[0]
        store.database.execute(f"PRAGMA max_page_count={pages}")
        with pytest.raises(Exception, match="what it held before is safe"):
            store.add(night, many)
        assert len(store.nights("virtual", "quick")) == 2


def compared(capsys, first, second):
    capsys.readouterr()
    assert main(["compare", str(first), str(second)]) == 0
    return " ".join(capsys.readouterr().out.split())


def test_without_a_history_two_days_cannot_tell(folder, capsys):
    told = compared(capsys, write_night(folder, 1), write_night(folder, 2, slower=1.3))
    assert "spread of days: not known" in told
    assert "two days cannot tell" in told
    assert "worse" not in told


def test_history_tells_how_far_days_differ(folder, capsys):
    add_nights(folder, 8)
    first, second = write_night(folder, 20), write_night(folder, 21, slower=1.3)
    told = compared(capsys, first, second)
    assert "spread of days: from the history, 2 series of 8 nights" in told
    changed = told.partition("2 worse")[2]
    assert changed.count(" worse ") == 2
    assert ": rate" in changed


def test_runs_compared_are_left_out_and_changes_do_not_count():
    history = simulate(Event("step", step=0.2, at=20), normal, 0.01, (3, 40), 4)
    since = history.nights[20].id
    for series in range(3):
        history.changes.append(Change(series, "regression", "tonight", since, since, 1.0, 1.2, 20))
    found = day_spreads(history, {"night-3"})
    assert [day.nights for day in found.values()] == [19] * 3
    assert all(0 <= day.spread < 0.02 for day in found.values())
