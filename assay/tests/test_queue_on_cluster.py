# SPDX-License-Identifier: Apache-2.0
"""Waiting is not failing: busy, reserved, drained and limited, on a real virtual cluster."""

import json
import re
import subprocess
import time

import pytest

from assay.tests.test_run_on_cluster import (
    ASSAY,
    SITE,
    campaign,
    finish,
    planned_keys,
    records_of,
    run,
    start,
    the_run,
    wait_for,
)
from assay.tests.test_run_on_cluster import pytestmark as needs_cluster
from virtual_cluster.network import enter_login

pytestmark = [*needs_cluster, pytest.mark.usefixtures("cluster")]

ALL_NODES = "  - check: startup\n    fixed: {ranks: 4, ranks_per_node: 1}\n"


@pytest.fixture
def slurm(cluster):
    """Gives Slurm a command as its administrator; afterwards nothing of the test is left."""

    def command(*argv):
        environment = ["env", f"SLURM_CONF={cluster.site_facts()['slurm_conf']}"]
        answer = subprocess.run(
            [*enter_login(cluster.name), "--", *environment, *argv],
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
        )
        return answer.stdout.strip()

    yield command
    command("scancel", "--user=nobody", f"--user={cluster.site_facts()['user']}")
    command("scontrol", "delete", "reservationname=service")
    command("scontrol", "update", "nodename=n4", "state=resume")
    command("scontrol", "update", "partitionname=all", "MaxTime=UNLIMITED", "MaxNodes=UNLIMITED")


def busy(slurm, seconds):
    """Another user's job on all nodes."""
    held = ["--uid=65534", "--nodes=4", "--exclusive", "--output=/dev/null", "--time=60"]
    assert "Submitted" in slurm("sbatch", *held, f"--wrap=sleep {seconds}")


def status_of_newest():
    answer = subprocess.run([ASSAY, "status", "--json"], capture_output=True, check=False)
    return json.loads(answer.stdout) if answer.returncode == 0 else {}


def waits_for(reason):
    """Whether `assay status` says that the run's job waits for this reason."""
    current = status_of_newest().get("current") or {}
    return re.search(reason, current.get("queue", {}).get("reason", "")) and current


def wait_in_queue(folder, name, reason, end):
    """A run of four nodes that waits, until `end()`; its output and status."""
    process = start(campaign(folder, name, "mpich", 1, ALL_NODES), "--site", SITE)
    current = wait_for(lambda: waits_for(reason))
    told = subprocess.run([ASSAY, "status"], capture_output=True, text=True, check=True).stdout
    told = " ".join(told.split())  # lines are broken at the width of a terminal
    assert "waits since" in told
    assert re.search(reason, told)
    assert current["queue"]["waited_s"] > 0
    end()
    status, output = finish(process)
    return status, output


def all_ok(folder, name):
    path = the_run(folder, name)
    assert {r.status for r in records_of(path)} == {"ok"}
    assert sorted((r.case_id, r.block) for r in records_of(path)) == planned_keys(path)
    assert not (path / "queue.json").exists()


def test_a_run_waits_for_nodes_that_another_user_has_and_status_says_why(folder, slurm):
    busy(slurm, 1000)
    status, output = wait_in_queue(
        folder, "busy", "Resources", lambda: slurm("scancel", "--user=nobody")
    )
    assert status == 0, output
    all_ok(folder, "busy")
    assert "its nodes are in use" in output


def test_maintenance_is_waited_for(folder, slurm):
    slurm(
        *("scontrol", "create", "reservation", "reservationname=service", "starttime=now"),
        *("duration=60", "users=root", "flags=maint,ignore_jobs", "nodes=ALL"),
    )
    status, output = wait_in_queue(
        folder,
        "service",
        "ReqNodeNotAvail",
        lambda: slurm("scontrol", "delete", "reservationname=service"),
    )
    assert status == 0, output
    all_ok(folder, "service")


def test_a_drained_node_is_waited_for(folder, slurm):
    slurm("scontrol", "update", "nodename=n4", "state=drain", "reason=test")
    wait_for(lambda: slurm("sinfo", "--noheader", "--nodes=n4", "--format=%T") == "drained")
    status, output = wait_in_queue(
        folder,
        "drained",
        "UnavailableNodes:n4|DRAINED",
        lambda: slurm("scontrol", "update", "nodename=n4", "state=resume"),
    )
    assert status == 0, output
    all_ok(folder, "drained")
    assert "launches of 4 nodes will wait" in output
    assert "n4 is drained" in output


def test_what_the_partition_never_takes_is_refused_before_the_run(folder, slurm):
    slurm("scontrol", "update", "partitionname=all", "MaxNodes=3")
    status, output = run(campaign(folder, "never", "mpich", 1, ALL_NODES), "--site", SITE)
    assert status == 2, output
    assert "needs 4 nodes; partition all" in output
    assert not (folder / "results").exists()


def test_a_reason_that_never_clears_stops_a_run_and_nothing_is_recorded(folder, slurm):
    busy(slurm, 1000)
    process = start(campaign(folder, "limit", "mpich", 1, ALL_NODES), "--site", SITE)
    wait_for(lambda: waits_for("Resources"))
    slurm("scontrol", "update", "partitionname=all", "MaxTime=3")
    slurm("scancel", "--user=nobody")  # the environments are proved in two minutes
    status, output = finish(process)
    assert status == 2, output
    assert "PartitionTimeLimit" in output.splitlines()[-1]
    assert not records_of(the_run(folder, "limit"))


def test_a_wait_ends_with_the_campaigns_own_limit_and_the_run_can_go_on(folder, slurm):
    busy(slurm, 1000)
    text = campaign(folder, "patient", "mpich", 1, ALL_NODES)
    limited = (folder / "patient.yaml").read_text().replace("launch_s: 400", "queue_s: 3")
    (folder / "patient.yaml").write_text(limited)
    begun = time.monotonic()
    status, output = run(text, "--site", SITE)
    assert time.monotonic() - begun > 3
    assert status == 3, output
    assert "limits.queue_s = 3 is used up" in output.splitlines()[-1]
    slurm("scancel", "--user=nobody")
    path = the_run(folder, "patient")
    # Slurm may take longer than the limit to start a job again.
    status, output = wait_for(lambda: (ended := run("--resume", str(path)))[0] != 3 and ended)
    assert status == 0, output
    all_ok(folder, "patient")
