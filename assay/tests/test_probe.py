# SPDX-License-Identifier: Apache-2.0
"""Commands and steps: a caller that waits is called meanwhile, and may end them. What nodes and
probe jobs print becomes facts; what is absent or odd becomes none."""

import os
import pty
import sys

import pytest

from assay import commands
from assay.commands import output_of, run_command
from assay.probe.node_text import node_facts
from assay.probe.probe import Probes
from assay.probe.trials import Attempt, AttemptResult, JobEnd, Trial, read_probe
from assay.tests.campaign_texts import virtual_site
from checks.common.slurm.job import Allocation
from records.errors import InfrastructureError


@pytest.fixture
def paused(tmp_path):
    """A file that is there once a pause was made, and shell words that wait for it."""
    file = tmp_path / "paused"
    return file, f"while ! [ -e {file} ]; do sleep 0.05; done"


def test_a_command_is_read_whole_and_pauses_are_made_while_it_runs(paused):
    file, until_paused = paused
    script = f"head -c 300000 /dev/zero; {until_paused}; cat | wc -c; echo last >&2; exit 3"
    answer = run_command(
        ["bash", "-c", script], dict(os.environ), b"x" * 200000, pause=lambda _: file.touch()
    )
    assert (answer.status, answer.stderr) == (3, "last\n")
    assert answer.stdout == 300000 * "\0" + "200000\n"


def test_a_command_that_does_not_end_in_time_is_ended_and_named():
    with pytest.raises(InfrastructureError, match=r"^it did not answer within 0 s"):
        run_command(["sleep", "1000"], dict(os.environ), limit_s=0.1, called="it")


def test_a_step_is_waited_for_with_pauses_of_which_one_may_end_it(tmp_path, monkeypatch, paused):
    """So the harness renews the allocation's beat during a proof, and heeds a signal."""
    srun, pid = tmp_path / "srun", tmp_path / "pid"
    (tmp_path / "profile").write_text(f"PATH={tmp_path}:$PATH\n")
    monkeypatch.setattr(commands, "PROFILE", str(tmp_path / "profile"))
    allocation = Allocation(job_id="1", nodes=["n1", "n2", "n3", "n4"], ends_at=1e12)
    file, until_paused = paused

    def interrupted(_):
        if pid.exists() and pid.read_text().endswith("\n"):
            raise InfrastructureError("ended by SIGINT")

    def step(script, pause):
        srun.write_text(f"#!/bin/sh\n{script}\n")
        srun.chmod(0o755)
        of_run = {"allocation": allocation, "run": "night-1"}
        with Probes(virtual_site(), str(tmp_path), print, pause=pause, **of_run) as probes:
            return probes.step("proof", 2, 1, 60.0).output.split()

    words = step(f'{until_paused}; echo "$@"', lambda _: file.touch())
    assert {"--nodelist=n3", "n3,n4"} <= {*words}, "not those that srun takes by itself"
    assert "--job-name=assay-night-1.proof" in words, "by which what it leaves is ended"
    with pytest.raises(InfrastructureError, match="ended by SIGINT"):
        step(f'echo "$$" > {pid}; exec sleep 1000', interrupted)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_a_short_command_cannot_reach_the_callers_terminal():
    show = "import os; print(os.getsid(0) == os.getpid(), os.readlink('/proc/self/fd/0'))"
    pid, master = pty.fork()
    if pid == 0:
        os._exit(0 if output_of([sys.executable, "-c", show]) == "True /dev/null" else 1)
    try:
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    finally:
        os.close(master)


#: A node of an InfiniBand cluster as facts.sh printed it there, shortened.
INFINIBAND = """
== lscpu
Model name:                      AMD EPYC 7742 64-Core Processor
Thread(s) per core:              1
Core(s) per socket:              64
Socket(s):                       2
NUMA node(s):                    8
== cpuinfo
microcode\t: 0x8301055
== dmi
bios_vendor=Dell Inc.
bios_version=2.8.4
bios_date=06/29/2022
== settings
smt=off
transparent_hugepage=[always] madvise never
memlock=unlimited
== memory
MemTotal:       263745896 kB
== nics
nic=ethernet eno1
state=up
type=1
megabits=25000
mtu=1500
driver=mlx5_core
driver_version=5.8-2.0.3
firmware=16.35.2000
counters=yes
nic=ethernet ib0
state=up
type=32
megabits=100000
mtu=2044
driver=mlx5_core
counters=yes
nic=ethernet virbr0
state=down
type=1
nic=infiniband mlx5_0/1
state=4: ACTIVE
rate=100 Gb/sec (4X EDR)
layer=InfiniBand
driver=mlx5_core
firmware=20.33.1048
counters=yes
== mounts
proc /proc proc rw 0 0
/dev/sda2 / xfs rw 0 0
tmpfs /dev/shm tmpfs rw 0 0
tmpfs /run/user/0 tmpfs rw 0 0
nfs01:/home /home nfs4 rw,vers=4.2 0 0
10.0.0.1@o2ib:/scratch /scratch lustre rw 0 0
/etc/auto.home /misc autofs rw 0 0
""".replace("\n== ", "\n\n== ")


def test_facts_of_an_infiniband_node():
    facts = node_facts(INFINIBAND)
    assert facts.processor == "AMD EPYC 7742 64-Core Processor"
    assert (facts.sockets, facts.cores, facts.threads_per_core, facts.numa_nodes) == (2, 128, 1, 8)
    assert (facts.microcode, facts.memory_bytes) == ("0x8301055", 263745896 * 1024)
    assert facts.firmware == "Dell Inc. 2.8.4 06/29/2022"
    huge = {"transparent_hugepage": "always"}
    assert facts.settings == {"smt": "off", **huge, "memlock": "unlimited"}
    assert set(facts.nics) == {"eno1", "mlx5_0/1"}
    port = facts.nics["mlx5_0/1"]
    assert (port.bits_per_second, port.state, port.counters_readable) == (100e9, "active", True)
    assert facts.nics["eno1"].driver == "mlx5_core 5.8-2.0.3"
    local = {"/": "xfs", "/dev/shm": "tmpfs"}  # noqa: S108  a mount point
    assert facts.file_systems == {**local, "/home": "nfs4", "/scratch": "lustre"}


def test_facts_of_slingshot_and_of_a_wire_without_a_speed():
    text = """== nics
nic=cxi cxi0
speed=BS_200G
state=up
nic=ethernet eth0
type=1
megabits=10000
driver=veth
nic=ethernet eth1
type=1
megabits=-1
driver=virtio_net
"""
    nics = node_facts(text).nics
    assert nics["cxi0"].bits_per_second == 200e9
    assert not nics["cxi0"].counters_readable
    assert nics["eth0"].bits_per_second is nics["eth1"].bits_per_second is None


@pytest.mark.parametrize(
    "text", ["", "== lscpu\nCore(s) per socket: many\n", "== memory\nMemTotal: -1 kB\n", "\0"]
)
def test_odd_text_gives_no_facts(text):
    facts = node_facts(text)
    assert facts.processor is facts.cores is facts.memory_bytes is None


def test_an_environment_with_daemons_shares_no_build_with_one_that_has_no_keeper_for_them():
    """Open MPI 5 by its mpirun and by PRRTE's daemons: one compiler, one preparation."""
    mpirun = Trial("openmpi5", "mpicc", [])
    assert mpirun.build_key == Trial("openmpi5-srun", "mpicc", []).build_key
    assert mpirun.build_key != Trial("openmpi5-prte", "mpicc", [], helpers=True).build_key


TRIAL = Trial("mpich", "mpicc", [Attempt("srun --mpi=pmix", ""), Attempt("mpirun", "")])
EVIDENCE = (
    '{"assay":"evidence","library":"MPICH 4.0.2","library_file":"/lib/libmpi.so","standard":"4.0",'
    '"variables":{},"ranks":[{"rank":0,"host":"c1","cpus":[0],"boot_id":"x"}],"links":[]}'
)
PRINTED = f"""
== job
nodes=c1
== token
abc
== node/c1
=== token
abc
=== kernel
Linux 5.14
== trial/0/modules
loaded=gcc/12:mpich/4.0
== trial/0/compiler
version=gcc (GCC) 12.3.0
shows=gcc -I/opt=odd -lmpi
== trial/0/build
0
| make: nothing to be done
| == end
== trial/0/attempt/0
status=3 begun=100.5 ended=101.0
== trial/0/out/0
| placement: 1 ranks instead of 2 on 1 nodes; rank 0 is on c1
| {EVIDENCE}
| placement: 1 ranks instead of 2 on 1 nodes; rank 0 is on c1
| {EVIDENCE}
== trial/0/err/0
| srun: error: c1: tasks 0-1: Exited with exit code 3
== trial/0/attempt/1
status=0 begun=102.0 ended=102.5
== trial/0/out/1
| {EVIDENCE}
== trial/0/err/1
== trial/0/prepare
ready=yes status=0
| loading
== end
""".replace("\n== ", "\n\n== ")


def read(text, told="abc"):
    return read_probe(JobEnd("7", "COMPLETED", text), [TRIAL], told)


def test_the_first_start_that_places_ranks_right_is_kept():
    result = read(PRINTED)
    trial = result.trials["mpich"]
    assert result.shared
    assert result.nodes["c1"].kernel == "Linux 5.14"
    assert (trial.ready, trial.modules) == (True, ["gcc/12", "mpich/4.0"])
    assert trial.compiles_with == "gcc -I/opt=odd -lmpi"
    assert trial.build_output == "make: nothing to be done\n== end"
    assert "1 ranks instead of 2" in trial.attempts[0].reason
    assert trial.right is trial.attempts[1]
    assert trial.right.evidence.library == "MPICH 4.0.2"


NOT_SET = '[n1:17588] Warning: could not find environment variable "ASSAY_TOKEN"'
NO_PORTS = """\
--------------------------------------------------------------------------
WARNING: There is at least non-excluded one OpenFabrics device found,
but there are no active ports detected (or Open MPI was unable to use
them).  This is most certainly not what you wanted.

  Local host: n1
--------------------------------------------------------------------------
"""
NO_PAIRING = "Unable to find reachable pairing between local and remote interfaces"


@pytest.mark.parametrize(
    ("errors", "reason"),
    [
        (f"{NOT_SET}\n{NO_PAIRING}\n", NO_PAIRING),
        (f"srun: warning: no partition\n{NO_PORTS}\n{NO_PAIRING}", NO_PAIRING),
        (f"{NOT_SET}\n", NOT_SET),
        (
            NO_PORTS,
            "WARNING: There is at least non-excluded one OpenFabrics device found, but there",
        ),
    ],
)
def test_a_warning_is_the_reason_only_where_nothing_else_was_said(errors, reason):
    attempt = AttemptResult(label="mpirun", status=1, seconds=1.0, output="", errors=errors)
    assert attempt.reason.startswith(reason)


def test_a_folder_that_a_node_does_not_see_is_not_shared():
    assert not read(PRINTED, told="other").shared
    assert not read(PRINTED.replace("== node/c1", "not shared: c1 cannot write\n== x/y")).shared
    assert not read_probe(JobEnd("7", "FAILED", None), [TRIAL], "abc").shared


def test_a_job_cut_short_leaves_what_it_had_found():
    trial = read(PRINTED[: PRINTED.index("== trial/0/attempt/1")]).trials["mpich"]
    assert trial.build_status == 0
    assert trial.right is None
    assert read(PRINTED[:20]).trials["mpich"].build_status is None
