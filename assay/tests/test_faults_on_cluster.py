# SPDX-License-Identifier: Apache-2.0
"""Faults and queues of the machine under a run on a virtual cluster: waiting is not failing,
nothing false is recorded, and a resume completes the run."""

import json
import os
import pty
import re
import shlex
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from assay.tests.test_run_on_cluster import (
    ASSAY,
    ENDLESS,
    FOUR_NODES,
    PING_PONG,
    SITE,
    campaign,
    finish,
    planned_keys,
    records_of,
    run,
    start,
    the_run,
    wait_for,
    wait_for_records,
)
from assay.tests.test_run_on_cluster import pytestmark as needs_cluster
from checks.common.tests.test_folders import write_check
from virtual_cluster.daemons import ask
from virtual_cluster.tests.clusters import processes_of

pytestmark = [*needs_cluster, pytest.mark.usefixtures("cluster")]

ONE_STARTUP = "  - check: startup\n    fixed: {ranks: 2}\n"
#: What ends another's job, maintenance and a drain.
FREE = ("scancel", "--name=busy")
SERVICE_ENDS = ("scontrol", "delete", "reservationname=service")
RESUME = ("scontrol", "update", "nodename=n4", "state=resume")
BROKEN_FOR_LAM = """
#include <mpi.h>
#ifdef LAM_MPI
#error "this library is not served"
#endif
int main(void) { return 0; }
"""


@pytest.fixture
def programs(cluster):
    """The folder that comes first in the PATH of sessions and jobs, as it was afterwards."""
    where = Path(cluster.site_facts()["state_dir"]) / "bin"
    before = {path.name: path.read_bytes() for path in where.iterdir()}
    yield where
    for path in where.iterdir():
        path.unlink()
    for name, content in before.items():
        (where / name).write_bytes(content)
        (where / name).chmod(0o755)


def put(path, script):
    """Replace a program that may be started at any moment."""
    new = path.with_suffix(".new")
    new.write_text(f"#!/bin/sh\n{script}\n")
    new.chmod(0o755)
    new.replace(path)


def jobs(cluster):
    """Those of runs: what the cluster's sbatch hands in behind a job may outlive its run."""
    return [job for job in cluster.status()["jobs"] if job["name"] != "kick"]


@pytest.fixture
def slurm(cluster):
    """Gives Slurm a command; afterwards nothing of the test is left."""

    def command(*argv):
        return ask(cluster._state, *argv, check=False).strip()

    yield command
    command("scancel", "--me")
    command(*SERVICE_ENDS)
    command(*RESUME)
    command("scontrol", "update", "partitionname=all", "MaxTime=UNLIMITED", "MaxNodes=UNLIMITED")


def busy(slurm):
    held = ["--job-name=busy", "--nodes=4", "--exclusive", "--output=/dev/null", "--time=60"]
    assert "Submitted" in slurm("sbatch", *held, "--wrap=sleep 1000")


def waits_for(reason):
    """Whether `assay status` says that the run's job waits for this reason."""
    answer = subprocess.run([ASSAY, "status", "--json"], capture_output=True, check=False)
    current = (json.loads(answer.stdout) if answer.returncode == 0 else {}).get("current") or {}
    return re.search(reason, current.get("queue", {}).get("reason", "")) and current


def all_ok(folder, name):
    path = the_run(folder, name)
    assert {r.status for r in records_of(path)} == {"ok"}
    assert sorted((r.case_id, r.block) for r in records_of(path)) == planned_keys(path)
    assert not (path / "queue.json").exists()


def serviced(slurm):
    slurm(
        *("scontrol", "create", "reservation", "reservationname=service", "starttime=now"),
        *("duration=60", "users=root", "flags=maint,ignore_jobs", "nodes=ALL"),
    )


def drained(slurm):
    slurm("scontrol", "update", "nodename=n4", "state=drain", "reason=test")
    wait_for(lambda: slurm("sinfo", "--noheader", "--nodes=n4", "--format=%T") == "drained")


#: What begins it, the reason that Slurm gives, and what ends it.
WAITS = {
    "busy": (busy, "Resources", FREE),
    "service": (serviced, "ReqNodeNotAvail", SERVICE_ENDS),
    "drained": (drained, "UnavailableNodes:n4|DRAINED", RESUME),
}


@pytest.mark.parametrize("name", WAITS)
def test_what_will_end_is_waited_for_and_status_says_why(folder, slurm, name):
    begins, reason, ends = WAITS[name]
    begins(slurm)
    process = start(campaign(folder, "patient", "mpich", 1, FOUR_NODES), "--site", SITE)
    assert wait_for(lambda: waits_for(reason))["queue"]["waited_s"] > 0
    shown = subprocess.run([ASSAY, "status"], capture_output=True, text=True, check=True).stdout
    shown = " ".join(shown.split())  # lines are broken at the width of a terminal
    assert "waits since" in shown
    assert re.search(reason, shown)
    slurm(*ends)
    status, output = finish(process)
    assert status == 0, output
    all_ok(folder, "patient")


def test_a_reason_that_never_clears_stops_a_run_and_nothing_is_recorded(folder, slurm):
    busy(slurm)
    process = start(campaign(folder, "limit", "mpich", 1, FOUR_NODES), "--site", SITE)
    wait_for(lambda: waits_for("Resources"))
    slurm("scontrol", "update", "partitionname=all", "MaxTime=3")
    slurm(*FREE)  # the environments are proved in two minutes
    status, output = finish(process)
    assert status == 2, output
    assert "PartitionTimeLimit" in output.splitlines()[-1]
    assert not records_of(the_run(folder, "limit"))


def test_a_wait_ends_with_the_campaigns_own_limit_and_the_run_can_go_on(folder, slurm):
    busy(slurm)
    name = campaign(folder, "patient", "mpich", 1, FOUR_NODES, launch_s="400, queue_s: 3")
    status, output = run(name, "--site", SITE)
    assert status == 3, output
    assert "limits.queue_s = 3 is used up" in output.splitlines()[-1]
    slurm(*FREE)
    path = the_run(folder, "patient")
    # Slurm may take longer than the limit to start a job again.
    status, output = wait_for(lambda: (ended := run("--resume", str(path)))[0] != 3 and ended)
    assert status == 0, output
    all_ok(folder, "patient")


@pytest.mark.full
def test_a_build_that_fails_is_no_verdict_and_its_launches_run_once_it_is_mended(folder):
    write_check(folder / "mine")
    source = folder / "mine" / "hello" / "hello.c"
    source.write_text(BROKEN_FOR_LAM)
    name = campaign(folder, "unbuilt", "lam, mpich", 2, ONE_STARTUP)
    mine = ("--checks", str(folder / "mine"))
    status, output = run(name, "--site", SITE, *mine)
    path = the_run(folder, "unbuilt")
    assert status == 4, output
    assert [(r.environment, r.status) for r in records_of(path)] == [("mpich", "ok")] * 2
    log = path / "builds" / "lam.log"
    assert "this library is not served" in log.read_text()
    assert not (log.parent.stat().st_mode | log.stat().st_mode) & 0o027
    last = output.splitlines()[-1]
    for told in ("2 launches of lam were not run", "Programs", str(log), f"--resume {path}"):
        assert told.replace(f"{folder}/", "") in last
    source.write_text("int main(void) { return 0; }\n")
    status, output = run("--resume", str(path), *mine)
    assert status == 0, output
    assert sorted((r.case_id, r.block) for r in records_of(path)) == planned_keys(path)


@pytest.mark.parametrize(
    ("script", "ended"),
    [
        pytest.param(
            *("exec sleep 1000", (4, "squeue did not answer within")), marks=pytest.mark.full
        ),
        ("echo 'slurm_load_jobs error: Munge' >&2; exit 1", (4, "slurm_load_jobs error")),
        ("", (2, "needs 4 nodes; partition all")),
    ],
)
def test_a_deaf_or_too_small_scheduler_begins_no_run(folder, programs, slurm, script, ended):
    if script:
        put(programs / "squeue", script)
    else:
        slurm("scontrol", "update", "partitionname=all", "MaxNodes=3")
    status, output = run(campaign(folder, "none", "mpich", 1, FOUR_NODES), "--site", SITE)
    assert (status, ended[1] in output) == (ended[0], True), output
    assert "Traceback" not in output
    assert not (folder / "results").exists()


def test_a_refusing_scheduler_and_a_closed_terminal_lose_no_launch(cluster, folder, programs):
    name = campaign(folder, "three", "mpich", 40, PING_PONG)
    sbatch = (programs / "sbatch").read_text()
    process = start(name, "--site", SITE)
    path = wait_for_records(folder, "three", 1)
    put(programs / "sbatch", "echo 'sbatch: error: Invalid account' >&2; exit 1")
    status, output = finish(process)
    assert status == 2
    told = "assay: Slurm did not take the job: sbatch: error: Invalid account."
    assert output.splitlines()[-1].startswith(told)
    assert f"assay run --resume {path.relative_to(folder)}" in output.splitlines()[-1]
    kept = records_of(path)
    assert {record.status for record in kept} == {"ok"}

    put(programs / "sbatch", "echo 'Unable to contact slurm controller' >&2; exit 1")
    process, terminal = pty.fork()
    if process == 0:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup would have it ignored
        os.execv(ASSAY, [ASSAY, "run", "--resume", str(path)])  # noqa: S606
    shown = bytearray()
    wait_for(lambda: shown.extend(os.read(terminal, 65536)) or b"paused" in shown)
    assert records_of(path) == kept
    put(programs / "sbatch", sbatch.partition("\n")[2])
    wait_for_records(folder, "three", len(kept) + 1)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 4
    assert not jobs(cluster)
    assert {record.status for record in records_of(path)} == {"ok"}
    assert len(records_of(path)) < 40


SESSION = Path(__file__).parents[2] / "checks" / "common" / "launch" / "session.sh"
DAEMON = "setsid sh -c 'sleep 7654 & exit' >/dev/null 2>&1 </dev/null"
#: Prints how many are there, once they are as many as asked for, or after a while.
SEEN = (
    "for _ in $(seq 600); do found=$(pgrep -fxc 'sleep 7654');"
    " [ $found -ge {} ] && break; sleep 0.1; done; echo $found"
)


def test_where_slurm_leaves_daemonised_processes_the_session_ends_them(cluster):
    """Within the job, before the epilog of a virtual cluster does it."""
    launched = f"srun --mpi=none sh -c {shlex.quote(f'{DAEMON} & {SEEN.format(1)}')}"
    count = f"srun --mpi=none sh -c {shlex.quote(SEEN.format(0))}"
    job = f"#!/bin/sh\nASSAY_SWEEP=yes {SESSION} none 600 {launched}\necho left\n{count}\n"
    submit = "mkdir -p ~/swept && cd ~/swept && sbatch -W -N2 --ntasks-per-node=1 -o out; cat out"
    words = cluster.user_command(["sh", "-c", submit])
    answer = subprocess.run(words, input=job, stdout=subprocess.PIPE, text=True, check=True)
    before, after = answer.stdout.split("left\n")
    assert sum(int(line) for line in before.splitlines() if line.isdigit()) >= 2, answer
    assert after.split() == ["0", "0"], answer


def test_a_daemon_of_a_library_that_dies_is_named_in_the_record(cluster, folder):
    process = start(campaign(folder, "dead-lamd", "lam", 1, ENDLESS, launch_s=1200), "--site", SITE)
    wait_for(lambda: len(processes_of(cluster, "-x", "pt2pt")) == 2)
    # Both are named first: the program may end with its daemon.
    daemon, rank = (processes_of(cluster, "-x", name)[0] for name in ("lamd", "pt2pt"))
    os.kill(daemon, signal.SIGKILL)
    with suppress(ProcessLookupError):
        os.kill(rank, signal.SIGKILL)
    status, output = finish(process)
    (record,) = records_of(the_run(folder, "dead-lamd"))
    assert (status, record.status) == (1, "failed"), output
    assert "lamd had ended on n" in record.reason
