# SPDX-License-Identifier: Apache-2.0
"""Whole runs on a real virtual cluster: kill -9, power cuts, shared memory, daemons that stay."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from records.run.archive import RawFiles
from records.run.plan import Plan
from records.run.record import read_records
from virtual_cluster.host import tries
from virtual_cluster.tests import clusters
from virtual_cluster.tests.clusters import NEEDS_CLUSTER, lacking, processes_of

ASSAY = str(Path(sys.executable).with_name("assay"))
own_name = clusters.own_name
CLUSTER = own_name("r")
SITE = f"virtual:{CLUSTER}"
#: Processor time of a rank that exchanges messages; starting MPI takes less.
STARTED_S = 0.5
NEEDED = ("mpicc.mpich", "mpicc.openmpi", "lamboot")
MISSING = lacking(*NEEDED)

pytestmark = [
    *NEEDS_CLUSTER,
    pytest.mark.skipif(bool(MISSING), reason=f"needs {', '.join(MISSING)}: run make packages"),
]
#: What a module needs whose tests belong to make test-all only.
of_full = [*pytestmark, pytest.mark.full]

HEAD = """
schema: 1
name: {name}
question: does the run hold?
environments: [{environments}]
blocks: {blocks}
seed: 11
limits: {{launch_s: {launch_s}}}
{variants}
cases:
"""


def campaign(folder, name, environments, blocks, cases, **more):
    given = {"launch_s": 400, "variants": "", **more}
    head = HEAD.format(name=name, environments=environments, blocks=blocks, **given)
    path = folder / f"{name}.yaml"
    path.write_text(head + cases)
    return str(path)


STARTUP = "  - check: startup\n    matrix: {ranks: [1, 2]}\n"
FOUR_NODES = "  - check: startup\n    fixed: {ranks: 4, ranks_per_node: 1}\n"
PING_PONG = "  - check: pt2pt\n    fixed: {sizes: [1000], iterations: 10, warmup: 2}\n"
ENDLESS = PING_PONG.replace("iterations: 10", "iterations: 1000000, constructs: [Send/Recv]")
ENDLESS_PVM = "  - check: pvm_echo\n    fixed: {sizes: [1000], iterations: 100000}\n"
needs_pvm = pytest.mark.skipif(
    bool(lacking("pvmd")), reason="needs PVM, which image debian-12 has: ASSAY_TEST_IMAGE"
)


def start(*arguments):
    return subprocess.Popen(
        [ASSAY, "run", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def finish(process):
    output, _ = process.communicate(timeout=1800)
    return process.returncode, output


def run(*arguments):
    return finish(start(*arguments))


def the_run(folder, name):
    (path,) = (folder / "results" / name).iterdir()
    return path


def records_of(path):
    file = path / "records.jsonl"
    return list(read_records(file)) if file.exists() else []


def wait_for(seen):
    """What `seen()` gives once that is true; programs are built first."""
    found = next(filter(None, (seen() for _ in tries(600, 0.1))), None)
    assert found, "never saw what was waited for"
    return found


def wait_for_records(folder, name, count):
    runs = (folder / "results").glob
    return wait_for(
        lambda: next((r for r in runs(f"{name}/*") if len(records_of(r)) >= count), None)
    )


def _processor_s(pid):
    ticks = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


def planned_keys(path):
    plan = Plan.from_json((path / "plan.json").read_bytes())
    cases = [case.id for case in plan.cases if case.skipped is None]
    return sorted((case, block) for case in cases for block in range(1, plan.blocks + 1))


def test_a_driver_killed_in_the_middle_loses_nothing_and_counts_nothing_twice(cluster, folder):
    process = start(campaign(folder, "killed", "mpich, lam", 4, STARTUP), "--site", SITE)
    path = wait_for_records(folder, "killed", 5)
    process.send_signal(signal.SIGKILL)
    finish(process)
    before = records_of(path)
    assert 5 <= len(before) < 16
    status, output = run("--resume", str(path))
    assert status == 0, output
    after = records_of(path)
    assert after[: len(before)] == before
    assert sorted((r.case_id, r.block) for r in after) == planned_keys(path)
    assert {r.status for r in after} == {"ok"}
    with RawFiles(path) as files:
        assert all(files.read(record.artifacts["stdout"]) is not None for record in after)


@pytest.mark.full
def test_a_power_cut_is_recorded_and_a_resume_after_restoring_completes_the_run(cluster, folder):
    name = campaign(folder, "powercut", "openmpi", 6, FOUR_NODES + PING_PONG)
    process = start(name, "--site", SITE)
    path = wait_for_records(folder, "powercut", 3)
    cluster.kill_node("n4")
    status, output = finish(process)
    assert status == 4, output
    assert "launches need 4 nodes, and 3 of 4 take jobs (n4 down" in output.splitlines()[-1]
    hurt = [r for r in records_of(path) if r.status != "ok"]
    assert all(r.status in ("lost", "failed") and r.reason for r in hurt)
    two_nodes = [r for r in records_of(path) if r.check == "pt2pt"]
    assert len(two_nodes) == 6, "launches that fit the remaining nodes go on"
    cluster.restore_node("n4")
    status, output = run("--resume", str(path), "--site", SITE)
    good = sorted((r.case_id, r.block) for r in records_of(path) if r.status in ("ok", "failed"))
    assert good == planned_keys(path)
    assert status == (1 if any(r.status == "failed" for r in hurt) else 0), output


def test_a_launch_ended_by_its_limit_leaves_no_daemon(cluster, folder):
    cases = ENDLESS.replace("[1000], iterations: 1000000", "[1000000], iterations: 100000")
    name = campaign(folder, "limit", "lam, lam-lamd", 1, cases, launch_s=1000)
    process = start(name, "--site", SITE)
    wait_for(lambda: processes_of(cluster, "-x", "pt2pt"))
    clusters.run_in(cluster, "scancel", "--me")
    wait_for_records(folder, "limit", 1)  # the other launch is endless, too
    process.send_signal(signal.SIGTERM)
    status, output = finish(process)
    assert status == 4, output
    wait_for(lambda: not processes_of(cluster, "-x", "lamd"))


@pytest.mark.parametrize(
    ("environment", "program", "cases"),
    [
        ("lam", "pt2pt", ENDLESS),
        pytest.param("lam-lamd", "pt2pt", ENDLESS, marks=pytest.mark.full),
        pytest.param("pvm", "pvm_echo", ENDLESS_PVM, marks=needs_pvm),
    ],
)
def test_a_rank_that_dies_does_not_leave_the_job_hanging(
    cluster, folder, environment, program, cases
):
    process = start(campaign(folder, "dead", environment, 1, cases, launch_s=1200), "--site", SITE)
    pids = wait_for(lambda: len(found := processes_of(cluster, "-x", program)) == 2 and found)
    wait_for(lambda: min(map(_processor_s, pids)) > STARTED_S)
    os.kill(pids[1], signal.SIGKILL)
    status, output = finish(process)
    (record,) = records_of(the_run(folder, "dead"))
    assert (status, record.status) == (1, "failed"), output
    assert "time limit" not in record.reason
    wait_for(lambda: not processes_of(cluster, "-x", "lamd"))
    assert environment != "pvm" or not _left_behind(cluster, [record])


def test_mpich_through_shared_memory_of_one_kernel_is_caught(folder):
    name = campaign(folder, "cheat", "mpich", 1, PING_PONG)
    with clusters.made("c", nodes=2, isolated=False) as cluster:
        status, output = run(name, "--site", f"virtual:{cluster.name}")
    assert status == 2, output
    assert "environment mpich: " in output
    assert "the network was not used" in output
    assert not records_of(the_run(folder, "cheat"))


PVM_ECHO = """
  - check: pvm_echo
    matrix: {route: [direct, daemon]}
    fixed: {sizes: [0, 1000], iterations: 5}
"""
VARIANT = "variants: {lam-short: {of: lam-tcp, settings: {short_message_bytes: 16384}}}"


def _left_behind(cluster, records):
    """Temporary files of these launches on any node, and processes of daemons."""
    files = clusters.run_in(cluster, "srun", "-N4", "sh", "-c", "ls /tmp").split()
    jobs = tuple(f"assay-{kind}-{r.job_id}-" for r in records for kind in ("lam", "pvm"))
    found = [file for file in files if file.startswith(jobs)]
    return found + processes_of(cluster, "-x", "pvmd") + processes_of(cluster, "-x", "lamd")


@needs_pvm
def test_pvm_and_a_variant_of_lam_run_between_nodes_and_leave_nothing(cluster, folder):
    cases = PING_PONG + PVM_ECHO
    name = campaign(folder, "daemons", "pvm, lam-short", 1, cases, variants=VARIANT)
    status, output = run(name, "--site", SITE)
    assert status == 0, output
    records = records_of(the_run(folder, "daemons"))
    found = sorted((r.environment, r.check, r.params.get("route", ""), r.status) for r in records)
    assert found == [
        ("lam-short", "pt2pt", "", "ok"),
        ("lam-short", "pvm_echo", "daemon", "skipped"),
        ("lam-short", "pvm_echo", "direct", "skipped"),
        ("pvm", "pt2pt", "", "skipped"),
        ("pvm", "pvm_echo", "daemon", "ok"),
        ("pvm", "pvm_echo", "direct", "ok"),
    ]
    assert not _left_behind(cluster, records)


PAIRS = (
    "  - check: alltoall_pairs\n"
    "    fixed: {ranks: 3, turns: false, latency_iterations: 5, bandwidth_iterations: 3,"
    " only: ['n4:n3', 'n3:n9']}\n"
)


def test_a_launch_gets_the_hosts_of_its_pairs_and_leaves_out_absent_ones(cluster, folder):
    name = campaign(folder, "listed", "mpich", 3, PAIRS)
    status, output = run(name, "--site", f"virtual:{cluster.name}")
    assert status == 0, output
    for record in records_of(the_run(folder, "listed")):
        assert record.status == "ok" and len(record.nodes) == 3
        assert {"n3", "n4"} <= set(record.nodes)
        measured = [m for m in record.metrics if m.name.startswith("pair_")]
        assert [m.at for m in measured] == [{"node": "n3", "peer": "n4"}] * 2


@pytest.mark.full
@pytest.mark.usefixtures("cluster")
def test_a_disk_and_memory_are_measured(folder):
    part = ("--environments", "mpich", "--scale", "small", "--blocks", "1", "--no-report")
    status, output = run("storage", "--site", SITE, *part)
    assert status == 0, output
    records = records_of(the_run(folder, "storage"))
    assert {one.params["target"]: one.status for one in records} == {"disk": "ok", "memory": "ok"}
