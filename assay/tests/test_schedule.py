# SPDX-License-Identifier: Apache-2.0
"""Schedules of the nightly run: shown, written, replaced, taken away; other entries stay."""

import shutil
import subprocess
from pathlib import Path

import pytest

from assay.cli import main
from assay.nightly import schedule
from assay.nightly.schedule import Schedule, parse_time, without_block
from records.errors import AssayError

NIGHTLY = Schedule(
    "assay-nightly-virtual",
    2,
    30,
    command=("/opt/as say/bin/assay", "nightly", "run", "--site", "100%"),
    folder=Path("/srv/a b"),
)


def test_cron_entry_is_quoted_and_between_its_marks():
    text = NIGHTLY.texts("cron")["crontab"]
    assert text.splitlines()[0] == "# begin assay-nightly-virtual"
    assert text.splitlines()[1] == (
        "30 2 * * * cd '/srv/a b' && '/opt/as say/bin/assay' nightly run --site 100\\%"
    )


def test_scrontab_entry_names_the_job():
    assert "#SCRON --job-name=assay-nightly-virtual" in NIGHTLY.texts("scrontab")["scrontab"]


@pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is missing: install systemd"
)
def test_systemd_accepts_the_time(tmp_path):
    texts = NIGHTLY.texts("systemd")
    timer = next(text for path, text in texts.items() if path.endswith(".timer"))
    moment = next(line for line in timer.splitlines() if line.startswith("OnCalendar="))
    answer = subprocess.run(
        ["systemd-analyze", "calendar", moment.removeprefix("OnCalendar=")], check=False
    )
    assert answer.returncode == 0


@pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is missing: install systemd"
)
def test_systemd_accepts_the_units(tmp_path):
    folder = tmp_path / "a b"
    folder.mkdir()
    command = (shutil.which("true"), 'a "b"', "100%", "$HOME")
    texts = Schedule("assay-nightly-here", 2, 30, command, folder, tmp_path).texts("systemd")
    for path, text in texts.items():
        Path(path).write_text(text)
    answer = subprocess.run(
        ["systemd-analyze", "verify", *texts], capture_output=True, text=True, check=False
    )
    assert (answer.returncode, answer.stderr) == (0, "")


def test_table_keeps_what_is_not_ours(monkeypatch):
    table = ["# mine\n0 1 * * * true\n"]
    monkeypatch.setattr(schedule, "_table", lambda program: table[-1])
    monkeypatch.setattr(schedule, "_write_table", lambda program, text: table.append(text))
    NIGHTLY.install("cron")
    NIGHTLY.install("cron")
    assert table[-1].count("# begin assay-nightly-virtual") == 1
    assert table[-1].startswith("# mine\n0 1 * * * true\n")
    assert NIGHTLY.remove("cron")
    assert table[-1] == "# mine\n0 1 * * * true\n"
    assert not NIGHTLY.remove("cron")


def test_block_of_another_name_stays():
    other = "# begin assay-nightly-virtual-2\nx\n# end assay-nightly-virtual-2\n"
    assert without_block(other, NIGHTLY.name) == other


@pytest.mark.parametrize("text", ["24:00", "2", "02:60", "", "2:3", "02:30; rm"])
def test_times_that_are_none(text):
    with pytest.raises(AssayError, match="00:00 to 23:59"):
        parse_time(text)


def test_install_shows_and_writes_nothing_unless_told(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", open("/dev/null"))  # noqa: PTH123, SIM115
    monkeypatch.setattr(Schedule, "install", lambda *_: pytest.fail("it was written"))
    assert main(["nightly", "install", "--with", "systemd"]) == 0
    shown = capsys.readouterr().out
    assert "OnCalendar=*-*-* 02:30:00" in shown
    assert "nothing written" in shown
