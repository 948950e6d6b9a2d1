# SPDX-License-Identifier: Apache-2.0
"""A history of runs through the command line: nights, re-runs, changes; two days compared;
of garbage one clear statement each, never a traceback."""

import json
import os
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
from reports.verdicts.nightly.evidence import read_night

pytestmark = pytest.mark.numerical

NIGHTS = 12
HISTORY = "results/history.sqlite"


def write_night(folder, number, *, slower=1.0, kernel="6.1", edit=None, suffix=""):
    path = folder / "results" / "quick" / f"202601{number:02d}T020000Z-00{number:02d}{suffix}"
    params = {"p": 1, "q": 2, "n": 2000, **HPL_FIXED}
    cases = [case("hpl", name, params) for name in ("lam", "mpich")]
    write_run(path, cases, seed=100 + number + len(suffix), slower=slower, edit=edit)
    known = {"started_at": f"2026-01-{number:02d}T02:00:00Z", "host": {"kernel": kernel}}
    changed(path / "provenance.json", **known)
    return path


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


def check(folder, capsys):
    capsys.readouterr()
    status = main(["nightly", "check", "--json", "--out", str(folder / "out")])
    return status, json.loads(capsys.readouterr().out)


def verdicts_of(night):
    return [item["verdict"] for item in night["findings"]]


def test_slow_night_is_suspect_until_its_rerun_fails_and_open_until_accepted(folder, capsys, said):
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
    shown = said(0, "nightly", "show", "--changes")
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
    with sqlite3.connect(HISTORY) as database:
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
    assert (status, night["verdict"], night["judged"]) == (0, "PASS", 2)
    assert not night["findings"]
    with sqlite3.connect(HISTORY) as database:
        titles = database.execute("SELECT DISTINCT title, check_title FROM series").fetchall()
    assert titles == [("rate", "hpl" if schema < 3 else "HPL")]


def test_good_rerun_dismisses(folder, capsys):
    add_nights(folder)
    add_night(folder, 13, slower=1.2)
    add_night(folder, 13, suffix="b")
    status, night = check(folder, capsys)
    assert (status, verdicts_of(night)) == (0, ["dismissed", "dismissed"])


@pytest.mark.full
def test_improvement_is_a_change_and_no_regression_and_is_found_once(folder, capsys, said):
    add_nights(folder, 20)
    for number in range(21, 27):
        add_night(folder, number, slower=0.8)
        status, night = check(folder, capsys)
        assert status == 0
        assert not {*verdicts_of(night)} & {"regression", "suspect"}
    assert check(folder, capsys) == (status, night)
    with sqlite3.connect(HISTORY) as database:
        assert database.execute("SELECT count(*) FROM change").fetchone() == (2,)
    assert "improvement (lasting) since 2026-01-21" in said(0, "nightly", "show", "--changes")


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


def test_a_history_without_a_series_is_shown(folder, capsys):
    add_night(folder, 1, edit=lambda record: record | FAILED)
    status, night = check(folder, capsys)
    assert (status, night["launches"]) == (1, {"failed": 10})


def test_damaged_records_add_nothing(folder, said):
    path = write_night(folder, 1)
    records = path / "records.jsonl"
    records.write_text(records.read_text().replace('"value":', '"value":-', 1))
    assert "cannot be measured" in said(2, "nightly", "add", str(chained(path)))
    assert not Path(HISTORY).exists()


def test_a_run_without_its_time_has_that_of_its_id_or_enters_no_history(folder, said):
    path = write_night(folder, 1, edit=lambda record: record | {"started_at": None})

    def added(status, run_id, started_at):
        changed(path / "provenance.json", run_id=run_id, started_at=started_at)
        lines = (path / "records.jsonl").read_text().replace(path.name, run_id)
        (path / "records.jsonl").write_text(lines)
        return said(status, "nightly", "add", str(chained(path)))

    assert "`started_at`: found 'yesterday'" in added(2, path.name, "yesterday")
    added(0, path.name, None)
    with Store(Path(HISTORY)) as store:
        assert store.find(path.name).started_at == "2026-01-01T02:00:00Z"
    added(2, "by-hand", None)


def test_half_a_last_line_is_said_and_does_not_count_and_a_run_enters_once(folder, capsys, said):
    path = write_night(folder, 1)
    records = path / "records.jsonl"
    records.write_bytes(records.read_bytes()[:-20])
    assert main(["nightly", "add", str(path)]) == 0
    _, night = check(folder, capsys)
    assert night["launches"] == {"ok": 9}
    assert "torn" in night["warnings"][0]
    assert "already in" in said(2, "nightly", "add", str(path))


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
    with sqlite3.connect(HISTORY) as database:
        assert database.execute("SELECT count(*) FROM night").fetchone() == (2,)
        assert database.execute("SELECT count(*) FROM value").fetchone() == (4,)
    assert main(["nightly", "add", str(path)]) == 0


def test_full_disk_keeps_what_was_there(folder, capsys):
    add_nights(folder, 2)
    night, values = read_night(write_night(folder, 3))
    many = [*values, replace(values[0], launches=tuple(np.arange(1.0, 20000.0)))]
    with Store(Path(HISTORY)) as store:
        pages = store.database.execute("PRAGMA page_count").fetchone()[0]
        store.database.execute(f"PRAGMA max_page_count={pages}")
        with pytest.raises(Exception, match="what it held before is safe"):
            store.add(night, many)
        assert len(store.nights("virtual", "quick")) == 2


def test_without_a_history_two_days_cannot_tell(folder, said):
    runs = write_night(folder, 1), write_night(folder, 2, slower=1.3)
    told = said(0, "compare", *map(str, runs))
    assert "spread of days: not known" in told
    assert "two days cannot tell" in told
    assert "worse" not in told


def test_history_tells_how_far_days_differ(folder, said):
    add_nights(folder, 8)
    runs = write_night(folder, 20), write_night(folder, 21, slower=1.3)
    told = said(0, "compare", *map(str, runs))
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


def edited(statement):
    with sqlite3.connect(HISTORY) as database:
        database.execute(statement)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("PRAGMA user_version=99", "is a history of schema 99"),
        ("PRAGMA application_id=7", "no history of Assay"),
        ("UPDATE night SET context='{\"host' WHERE id=2", "is damaged"),
        ("UPDATE series SET params='[1,' WHERE id=1", "is damaged"),
        ("UPDATE night SET nodes='null' WHERE id=1", "is damaged"),
        ("DROP TABLE value", "no such table"),
        *(
            (f"UPDATE night SET {name}='{odd}' WHERE id=3", "is damaged")  # noqa: S608 own values
            for name in ("run_id", "site", "campaign")
            for odd in ("../../x", "/etc/x", "-rf", "a b", "$(id)", "")
            if (name, odd) != ("run_id", "")
        ),
        ("UPDATE night SET nodes='[\"-x\"]' WHERE id=1", "is damaged"),
        ('UPDATE night SET statuses=\'{"ok": ' + "1" * 400 + "}' WHERE id=1", "is damaged"),
        ("UPDATE night SET failures='" + "[" * 100_000 + "' WHERE id=1", "is damaged"),
        ("UPDATE night SET warnings=CAST(x'ff' AS TEXT) WHERE id=1", "is damaged"),
        ("UPDATE series SET at='{\"x\": [[1]]}' WHERE id=1", "is damaged"),
        ("UPDATE series SET environment='../x' WHERE id=1", "is damaged"),
        ("UPDATE series SET metric='a;b' WHERE id=1", "is damaged"),
        (
            "INSERT INTO change (series,kind,stage,since,found,before,after,n_before)"
            " VALUES (1,'regression','tonight',77,77,1.0,2.0,9)",
            "night 77 is not in this history",
        ),
    ],
)
def test_damaged_history_is_one_message(folder, capsys, statement, said):
    beside = {*folder.parent.iterdir()}
    add_nights(folder, 3)
    edited(statement)
    capsys.readouterr()
    for command in ("check", "show"):
        assert main(["nightly", command]) == 2
        told = capsys.readouterr().err
        assert said in told or (command == "show" and "DROP" in statement)
        assert told.count("\n") == 1
        assert {*folder.parent.iterdir()} == beside


@pytest.mark.parametrize("kind", ["folder", "FIFO", "loop", "text", "truncated"])
def test_what_is_no_history_is_one_message(folder, capsys, kind):
    add_nights(folder, 3)
    path = Path(HISTORY)
    whole = path.read_bytes()
    for beside in path.parent.glob("history.sqlite*"):
        beside.unlink()
    if kind == "folder":
        path.mkdir()
    elif kind == "FIFO":
        os.mkfifo(path)
    elif kind == "loop":
        path.symlink_to(path.name)
    else:
        path.write_bytes(b"no history\n" * 100 if kind == "text" else whole[: len(whole) // 2])
    capsys.readouterr()
    accept = ["accept-change", "1", "--author", "a", "--reason", "b"]
    for words in (["check"], ["show"], accept, ["add", str(write_night(folder, 4))]):
        assert main(["nightly", *words]) == 2
        told = capsys.readouterr().err
        assert told.count("\n") == 1
        assert HISTORY in told


@pytest.mark.parametrize("value", ["0.0", "-1.0", "9e999", "1e300"])
def test_impossible_values_in_the_file_give_no_number(folder, capsys, value):
    add_nights(folder)
    edited(f"UPDATE value SET median={value} WHERE series=1")  # noqa: S608 own values
    status, night = check(folder, capsys)
    assert status in (0, 3)
    assert not night["findings"]
    assert night["judged"] == (2 if value == "1e300" else 1)


def test_zero_variance_then_a_step(folder, capsys):
    def add(number, value):
        def flat(record):
            return record | {"metrics": [one | {"value": value} for one in record["metrics"]]}

        add_night(folder, number, edit=flat)

    for number in range(1, 14):
        add(number, 1e9)
    add(14, 0.99e9)
    assert check(folder, capsys)[0] == 0
    add(15, 0.9e9)
    status, night = check(folder, capsys)
    assert (status, {*verdicts_of(night)}) == (3, {"suspect"})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nightly", "check", "--site", "nowhere"], "holds no nights of this"),
        (["nightly", "check", "--alarms-a-month", "nan"], "must be above 0"),
        (["nightly", "check", "--alarms-a-month", "0"], "must be above 0"),
        (["nightly", "accept-change", "99", "--author", "a", "--reason", "b"], "no change 99"),
        (["nightly", "accept-change", "1", "--author", " ", "--reason", "b"], "must not be empty"),
        (["nightly", "add", "no-such-run"], "no-such-run"),
        (["nightly", "add", "no-such-run", "--elsewhere"], "--rerun-of"),
        (["nightly", "check", "--find", "91"], "--find must be above 0 and at most 90"),
        (["nightly", "check", "--find", "nan"], "--find must be above 0 and at most 90"),
        (["nightly", "check", "--history", "absent.sqlite"], "there is no history yet"),
        (["nightly", "schedule", "--with", "cron", "--at", "25:00"], "00:00 to 23:59"),
    ],
)
def test_wrong_words_are_one_message(folder, capsys, words, said):
    add_nights(folder, 1)
    capsys.readouterr()
    assert main(words) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") <= 2
