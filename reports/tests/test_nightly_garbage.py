# SPDX-License-Identifier: Apache-2.0
"""Garbage in a history and in its runs: one clear statement each, never a traceback."""

import os
import sqlite3
from pathlib import Path

import pytest

from assay.cli import main
from reports.tests.test_nightly_history import (
    add_night,
    add_nights,
    check,
    folder,  # noqa: F401 a fixture used by its name
    verdicts_of,
    write_night,
)

HISTORY = "results/history.sqlite"


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
def test_damaged_history_is_one_message(folder, capsys, statement, said):  # noqa: F811 the fixture
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
def test_what_is_no_history_is_one_message(folder, capsys, kind):  # noqa: F811 the fixture
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
def test_impossible_values_in_the_file_give_no_number(folder, capsys, value):  # noqa: F811 the fixture
    add_nights(folder)
    edited(f"UPDATE value SET median={value} WHERE series=1")  # noqa: S608 own values
    status, night = check(folder, capsys)
    assert status in (0, 3)
    assert not night["findings"]
    assert night["judged"] == (2 if value == "1e300" else 1)


def test_zero_variance_then_a_step(folder, capsys):  # noqa: F811 the fixture
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
def test_wrong_words_are_one_message(folder, capsys, words, said):  # noqa: F811 the fixture
    add_nights(folder, 1)
    capsys.readouterr()
    assert main(words) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") <= 2
