# SPDX-License-Identifier: Apache-2.0
"""Schedules of the nightly run: their text, and what it must carry."""

import shlex
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from assay import ROOT
from assay.cli import main
from assay.nightly import Schedule, parse_time, surroundings_of
from assay.sites import site_file
from assay.sites.description import SiteFile, of_partition
from assay.sites.site_file import complete
from assay.tests.campaign_texts import GOOD, SITE_FILE
from records.errors import AssayError, ExitStatus
from records.history.store import Store

NIGHTLY = Schedule(
    "assay-nightly-virtual",
    *(2, 30, ("/opt/as say/bin/assay", "nightly", "run", "--site", "100%"), Path("/srv/a b")),
)


def test_a_cron_entry_is_quoted(capsys):
    words = "cd '/srv/a b' && '/opt/as say/bin/assay' nightly run --site 100\\%"
    assert NIGHTLY.text("cron") == f"30 2 * * * {words}\n"
    assert main(["nightly", "schedule", "--with", "cron", "--at", "3:05"]) == 0
    assert capsys.readouterr().out.startswith("5 3 * * * cd ")


@pytest.mark.parametrize("name", ["end ", "end\\", " x", "q'\"", "$HOME", "%h", "a\\x41", "#", ";"])
def test_a_unit_starts_the_command_in_its_folder_whatever_its_name(tmp_path, name):
    folder, told = tmp_path / name, tmp_path / "told"
    folder.mkdir()
    (folder / "assay").write_text(f'#!/bin/sh\nprintf "%s\\n" "$PWD" "$1" > {told}\n')
    (folder / "assay").chmod(0o755)
    text = Schedule("assay-n", 2, 30, (str(folder / "assay"), f"{name}$$"), folder).text("systemd")
    (start,) = [x for x in text.splitlines() if x.startswith("Exec")]
    words = shlex.split(start.removeprefix("ExecStart="))
    words = [word.replace("%%", "%").replace("$$", "$") for word in words]
    subprocess.run(words, check=True)
    assert told.read_text().splitlines() == [str(folder), f"{name}$$"]
    if shutil.which("systemd-analyze"):
        units = [tmp_path / "assay-n.service", tmp_path / "assay-n.timer"]
        for path, unit in zip(units, text.split("\n\n# "), strict=True):
            path.write_text(f"# {unit}")
        verified = ["systemd-analyze", "verify", *units]
        answer = subprocess.run(verified, capture_output=True, text=True, check=False)
        assert (answer.returncode, answer.stderr) == (0, "")


@pytest.mark.parametrize("name", ["a\\\\b", "a\\%b"])
def test_a_backslash_that_crons_read_differently_is_refused(tmp_path, name):
    with pytest.raises(AssayError, match="backslash"):
        replace(NIGHTLY, folder=tmp_path / name).text("cron")


@pytest.mark.parametrize("text", ["24:00", "2", "02:60", "", "2:3", "02:30; rm"])
def test_times_that_are_none(text):
    with pytest.raises(AssayError, match="00:00 to 23:59"):
        parse_time(text)


SITE_YAML = """
schema: 2
name: theirs
modules_system: lmod
module_init: $LMOD_HERE/init/bash
work_dir: ${SCRATCH}/assay
partitions:
  batch:
    access: [--account=phys, --constraint=fat, -q normal]
    nodes: 4
    cores_per_node: 2
    longest_job_s: 7200
environments:
  mpich: {description: it, compiler: mpicc, launcher: assay-srun, library: ^MPICH}
"""


@pytest.fixture
def theirs(tmp_path, monkeypatch):
    """A Slurm site with modules, of which the caller's shell knows more than a schedule does."""
    slurm = tmp_path / "slurm" / "bin"
    slurm.mkdir(parents=True)
    (slurm / "sbatch").write_text("#!/bin/sh\n")
    (slurm / "sbatch").chmod(0o755)
    (tmp_path / "init").mkdir()
    (tmp_path / "init" / "bash").write_text("export MODULES=loaded\n")
    monkeypatch.setenv("PATH", f"{slurm}:/usr/bin:/bin")
    monkeypatch.setenv("SCRATCH", str(tmp_path / "a b"))
    monkeypatch.setenv("LMOD_HERE", str(tmp_path))
    site = SiteFile.model_validate(complete(yaml.safe_load(SITE_YAML)))
    return surroundings_of(of_partition(site, "batch"))


def test_the_job_of_scrontab_carries_account_partition_qos_and_time(theirs):
    entry = replace(NIGHTLY, job_options=theirs[0], prologue=theirs[1])
    lines = entry.text("scrontab").splitlines()
    options = [line.removeprefix("#SCRON --") for line in lines if line.startswith("#SCRON ")]
    named = ["job-name=assay-nightly-virtual", "open-mode=append", "partition=batch"]
    asked = ["account=phys", "qos=normal", "nodes=1", "ntasks=1", "time=120"]
    assert options == [*named, *asked]


@pytest.mark.parametrize("kind", ["cron", "scrontab"])
def test_the_command_of_a_schedule_finds_slurm_modules_and_variables_without_a_login(
    theirs, tmp_path, kind
):
    told = tmp_path / "told"
    script = f'printf "%s\\n" "$PATH" "$SCRATCH" "$MODULES" > {told}'
    entry = Schedule("n", 2, 30, ("bash", "-c", script), tmp_path, prologue=theirs[1])
    (line,) = [x for x in entry.text(kind).splitlines() if x[0] != "#"]
    command = line.split(" ", 5)[5].replace(r"\%", "%")
    subprocess.run(["sh", "-c", command], env={"PATH": "/usr/bin:/bin"}, check=True)
    path = f"{tmp_path}/slurm/bin:/usr/local/bin:/usr/bin:/bin"
    assert told.read_text().splitlines() == [path, str(tmp_path / "a b"), "loaded"]


def test_a_night_that_cannot_run_leaves_its_reason_in_the_history(folder, capsys):
    assert main(["nightly", "run", "--campaign", "mine.yaml"]) == 2
    assert "history" not in capsys.readouterr().err
    with Store(folder / "results" / "history.sqlite") as store:
        (missed,) = store.missed("virtual", "mine")
        assert not store.groups()
    assert "mine.yaml" in missed.reason
    assert main(["nightly", "show"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert f"mine on virtual could not run: {missed.reason[:20]}" in told


def test_a_night_without_a_cluster_is_status_4_and_no_missed_night(folder, monkeypatch, capsys):
    monkeypatch.setattr(site_file, "SITES", folder)
    Path("silent").mkdir()
    Path("silent/site.yaml").write_text(SITE_FILE.replace("here", "silent"))
    Path("virtual").symlink_to(ROOT / "site-config" / "virtual")
    monkeypatch.setenv("PATH", str(folder))  # no squeue there
    Path("setpriv").symlink_to(str(shutil.which("setpriv", path="/usr/bin:/bin")))
    Path("c.yaml").write_text(GOOD)
    for site, said in (("virtual:t-none", "t-none"), ("silent", "Slurm does not answer")):
        assert main(["nightly", "run", "--campaign", "c.yaml", "--site", site]) == 4
        assert said in capsys.readouterr().err
    assert not Path("results").exists()


@pytest.mark.parametrize("kind", ["systemd", "scrontab", "cron"])
@pytest.mark.parametrize("planted", ["a\n* * * * * id", "a\r", "a\x1b[2J", "a\x00", "a\u2028b"])
def test_a_name_with_a_line_break_enters_no_table(kind, planted, tmp_path):
    command = (shutil.which("true"),)
    for folder, words, prologue in (
        (tmp_path / planted, command, ""),
        (tmp_path, (*command, planted), ""),
        (tmp_path, command, planted),
    ):
        with pytest.raises(AssayError, match="no line of a crontab or unit can hold"):
            Schedule("assay-nightly-here", 2, 30, words, folder, (), prologue).text(kind)


def test_a_night_that_is_not_decided_is_no_failed_unit():
    assert f"SuccessExitStatus={int(ExitStatus.INCONCLUSIVE)}\n" in NIGHTLY.text("systemd")
