# SPDX-License-Identifier: Apache-2.0
"""Jobs and sessions that attack whoever runs the harness, on a virtual cluster: nothing is read or
written, each forged outcome makes its launch wrong, every command can read the run, and what one's
user plants in a build runs as no other cluster's user."""

import stat
import subprocess
import time
from hashlib import sha256
from pathlib import Path

import pytest

from assay.cli import main
from assay.run.kept_builds import KeptBuilds, kept_folder
from assay.tests.test_run_on_cluster import (
    ASSAY,
    campaign,
    pytestmark,  # noqa: F401  what these tests need
    records_of,
    the_run,
)
from checks.common.sources import CHECKS
from records.run.archive import RawFiles
from virtual_cluster.tests.clusters import made

#: The start-up program, after an attack from within the job; its outcome is changed before it is
#: sent.
DEFINITION = """
from checks.common.parameters import quantity
from checks.startup import StartupDefinition, StartupParameters


class ThiefParameters(StartupParameters):
    attack: str = quantity("What the job does first.", "none", "none")
    forgery: str = quantity("What becomes of the outcome.", "none", "none")


class ThiefDefinition(StartupDefinition):
    name = "thief"
    no_options = frozenset({"attack", "forgery"})
    parameters = ThiefParameters


CHECK = ThiefDefinition()
"""
RUN = '''
from msgspec.structs import replace

from checks.common.session import outcome as outcomes
from checks.common.base import OwnProgram

ATTACK = """
secret=$(dirname "$SLURM_CONF")/../munge/key
out=$(echo rfm_*.out) err=$(echo rfm_*.err) stage=$PWD work=${PWD%%/session/*}
case $0 in
    stderr-link) ln -sfn "$secret" "$err" ;;
    stdout-link) ln -sfn "$secret" "$out" ;;
    script-link) ln -sfn "$secret" "$(echo rfm_*.sh)" ;;
    stderr-hard-link) rm "$err"; echo x >other; ln other "$err" ;;
    stderr-fifo) rm "$err"; mkfifo "$err" ;;
    stdout-fifo) rm "$out"; mkfifo "$out" ;;
    stderr-folder) rm "$err"; mkdir "$err" ;;
    stage-link) mv "$stage" "$stage.aside"; ln -s "$stage.aside" "$stage" ;;
    control)
        for file in site.json launches.jsonl reframe.out new; do
            (echo x >>"$work/control/$file") 2>/dev/null && echo "wrote $file" >&2
        done
        mv "$work/session" "$work/aside" 2>/dev/null && echo "moved session" >&2
        mv "$work" "$work.aside" 2>/dev/null && echo "moved work" >&2
        rm -rf "$work/control" 2>/dev/null && echo "removed control" >&2
        ls "$work/session" >/dev/null && echo "came to its end" >&2 ;;
    swap*) touch swap.me ;;
esac
exec "$@"
"""
SEND, HONEST = outcomes.send, []


class Run(OwnProgram):
    def command(self):
        return ["sh", "-c", ATTACK, self.params.attack, *super().command()]

    def judge(self, printed):
        if self.params.attack == "none":
            outcomes.send = self.forge
        return super().judge(printed)

    def forge(self, outcome):
        if outcome.launch_index < 0:
            return SEND(outcome)
        outcomes.send = SEND
        HONEST.append(outcome)
        first = replace(outcome, job_id="1", files={"stdout": "/"})
        before = [first, *HONEST][-2]
        SEND(replace(outcome, **{
            "job_of_another": {"job_id": before.job_id},
            "job_to_come": {"job_id": "4242424"},
            "node_of_another": {"nodes": ["n4"]},
            "files_of_another": {"files": outcome.files | {"stdout": before.files["stdout"]}},
            "reason_long": {"status": "failed", "reason": "x" * 3_000_000},
        }.get(self.params.forgery, {})))
'''
#: What is no file of the job, and what is said of it.
REFUSED = {
    "stderr-link": "stderr is a link",
    "stdout-link": "stdout is a link",
    "script-link": "script is a link",
    "stderr-hard-link": "stderr has 2 hard links",
    "stderr-fifo": "stderr is a FIFO",
    "stdout-fifo": "stdout is a FIFO",
    "stderr-folder": "stderr is a folder",
    "stage-link": "stdout lies behind a link",
}
ATTACKS = (*REFUSED, "control", "swap1", "swap2", "swap3")
#: What the job's user runs beside the jobs: files and links to a secret change places all the time.
SWAPS = """
import os, pathlib, sys, time
sessions, secret = sys.argv[1:]
while True:
    time.sleep(0.001)
    try:
        for mark in pathlib.Path(sessions).glob("*/session/stage/**/swap.me"):
            for file in mark.parent.glob("rfm_*.err"):
                other = f"{mark.parent}/other"
                for _ in range(20):
                    os.symlink(secret, other)
                    os.rename(other, file)
                    pathlib.Path(other).write_text("regular")
                    os.rename(other, file)
    except OSError:
        pass
"""
#: What becomes of an outcome, when Slurm is to be asked for it, as of a launch before this one.
#: What needs no cluster to be forged is in test_altered_messages.py.
FORGERIES = ("job_of_another", "job_to_come", "node_of_another", "files_of_another")


def rights_of(uid):
    """The effective capabilities of each process that is wholly a user's, by its command."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
            status = (process / "status").read_text()
            if command != (process / "cmdline").read_bytes():
                continue  # the status may be of any of the programs that follow each other
            said = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
            # Between the change of the user and the start of the program, setpriv still has them.
            if set(said["Uid"].split()) == {str(uid)} and not command.startswith(b"setpriv\0"):
                found[command] = int(said["CapEff"], 16)
        except OSError:
            continue
    return found


@pytest.fixture(scope="module")
def cluster():
    """One of its own: what these jobs leave on it hurts no other test."""
    with made("a", nodes=4, network="unlimited") as cluster:
        yield cluster


def planted(folder):
    check = folder / "checks" / "thief"
    check.mkdir(parents=True)
    (check / "__init__.py").write_text(DEFINITION)
    (check / "run.py").write_text(RUN)
    program = (CHECKS / "startup" / "startup.c").read_text()
    (check / "thief.c").write_text(program.replace('"startup"', '"thief"'))
    case = "  - check: thief\n    fixed: {{ranks: 1}}\n    matrix: {{{}: {}}}\n"
    forgeries = case.format("forgery", [*FORGERIES, "none", "reason_long"])
    return campaign(folder, "attacked", "mpich", 1, case.format("attack", [*ATTACKS]) + forgeries)


@pytest.fixture(scope="module")
def attacked(cluster, tmp_path_factory):
    """Run directory after all attacks, the records by attack or forgery, rights seen meanwhile and
    the secret."""
    folder = tmp_path_factory.mktemp("attacked")
    name = planted(folder)
    facts = cluster.site_facts()
    key = f"{facts['state_dir']}/munge/key"
    swaps = ["/usr/bin/python3", "-c", SWAPS, facts["runs_dir"], key]
    attacker = subprocess.Popen(cluster.user_command(swaps), cwd="/")
    site = f"virtual:{cluster.name}"
    words = [ASSAY, "run", name, "--site", site, "--checks", str(folder / "checks")]
    rights = {}
    try:
        with subprocess.Popen(
            words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            while process.poll() is None:
                rights |= rights_of(facts["uid"])
                time.sleep(0.2)
            output = process.stdout.read()
    finally:
        attacker.kill()
        attacker.wait()
    assert process.returncode == 1, output
    (path,) = (folder / "results" / "attacked").iterdir()
    records = {}
    for record in records_of(path):
        attack, forgery = (record.params.get(name, "none") for name in ("attack", "forgery"))
        records[forgery if attack == "none" else attack] = record
    assert records.keys() == {*ATTACKS, *FORGERIES, "none", "reason_long"}, output
    return path, records, rights, Path(key).read_bytes()


def raw(path, name):
    with RawFiles(path) as files:
        return files.read(name)


def test_launches_that_attack_nothing_or_in_vain_are_ok_with_their_raw_output(attacked):
    path, records, _, _ = attacked
    assert (records["none"].status, records["none"].reason) == ("ok", None)
    for kind in ("script", "stdout", "stderr"):
        assert raw(path, records["none"].artifacts[kind]) is not None
    assert records["control"].status == "ok"  # it changes nothing that the harness writes
    assert raw(path, records["control"].artifacts["stderr"]) == b"came to its end\n"


@pytest.mark.parametrize("attack", REFUSED)
def test_what_is_no_file_of_the_job_is_refused_and_named_in_the_record(attacked, attack):
    record = attacked[1][attack]
    assert record.status in ("wrong", "failed")
    assert "raw output refused: " in record.reason
    assert REFUSED[attack] in record.reason
    assert REFUSED[attack].split()[0] not in record.artifacts


def test_no_secret_reaches_the_run_directory_and_raw_output_is_private(attacked):
    path, _, _, secret = attacked
    for file in path.rglob("*"):
        if file.is_file():
            assert secret not in file.read_bytes(), file
    with RawFiles(path) as files:
        for archive in (path / "raw").iterdir():
            for name in files.members(f"raw/{archive.name}"):
                assert secret not in (files.read(f"raw/{archive.name}/{name}") or b""), name
    for file in (path / "raw").iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE((path / "raw").stat().st_mode) == 0o700


def test_the_session_and_what_it_starts_have_no_capability(attacked):
    *_, rights, _ = attacked
    assert any(b"checks.common.session.command_line" in command for command in rights)
    assert {command: mask for command, mask in rights.items() if mask} == {}


def test_the_jobs_user_prepares_no_work_folder(cluster):
    facts = cluster.site_facts()
    runs = facts["runs_dir"]
    before = set(Path(runs).iterdir())
    for script in (f"mkdir {runs}/x", f"ln -s /etc {runs}/x", f"mv {runs} {runs}.aside"):
        command = cluster.user_command(["sh", "-c", script])
        assert subprocess.run(command, cwd="/", capture_output=True, check=False).returncode
    assert set(Path(runs).iterdir()) == before


def test_each_forgery_makes_its_launch_wrong_and_is_refused(attacked):
    _, found, _, _ = attacked
    for name in FORGERIES:
        assert found[name].status == "wrong", name
        assert "was refused" in found[name].reason, name
        assert found[name].metrics == [] and found[name].nodes == [], name
    assert found["reason_long"].status == "failed"
    assert all(len(one.reason or "") <= 4000 for one in found.values())
    assert all((one.reason or "").isprintable() for one in found.values())


@pytest.mark.full
def test_every_command_reads_the_run(attacked):
    run, *_ = attacked
    checks = ["--checks", str(run.parents[2] / "checks")]
    before = records_of(run)
    for words, statuses in (
        (["status"], (0, 1)),
        (["report"], (0, 1)),
        (["verify", *checks], (0,)),
        (["verify"], (3,)),  # nobody here can judge its launches again
        (["run", *checks, "--resume"], (1,)),
    ):
        ended = subprocess.run(
            [ASSAY, *words, str(run)], capture_output=True, text=True, check=False
        )
        assert ended.returncode in statuses, ended
        assert "Traceback" not in ended.stderr
    assert records_of(run) == before


PLANTED = '#!/bin/sh\necho "planted program of uid $(id -u)" >&2\n'
#: Replaces the program of a folder.
PLANT = 'cd "$1" && printf %s "$2" >other && chmod 755 other && mv other startup'


@pytest.fixture
def another():
    with made("q", nodes=1, network="unlimited") as cluster:
        yield cluster


@pytest.mark.full
def test_a_program_planted_in_a_build_runs_as_no_other_user(cluster, another, folder, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    take_in = KeptBuilds.take_in

    def planted_before(self, built):
        """What the user plants once make has linked it is there when it is copied."""
        words = ["/bin/sh", "-ec", PLANT, "sh", built.folder, PLANTED]
        subprocess.run(cluster.user_command(words), cwd="/", check=True)
        take_in(self, built)

    def launched(name, site):
        file = campaign(folder, name, "mpich", 1, "  - check: startup\n    fixed: {ranks: 1}\n")
        status = main(["run", file, "--site", f"virtual:{site.name}"])
        path = the_run(folder, name)
        (record,) = records_of(path)
        return status, record, raw(path, record.artifacts["stderr"]).decode()

    with monkeypatch.context() as patch:
        patch.setattr(KeptBuilds, "take_in", planted_before)
        _, attacked, said = launched("first", cluster)
    assert f"planted program of uid {cluster.site_facts()['uid']}" in said
    planted = sha256(PLANTED.encode()).hexdigest()
    assert attacked.programs["startup"] == planted
    status, record, said = launched("second", another)
    assert "planted program" not in said
    assert (status, record.status) == (0, "ok")
    assert record.programs.keys() >= {"startup", "stepkeeper"}
    assert planted not in record.programs.values()
    kept = {sha256(file.read_bytes()).hexdigest() for file in kept_folder().glob("*/startup")}
    assert kept == {planted, record.programs["startup"]}
