# SPDX-License-Identifier: Apache-2.0
"""A Slurm of very many nodes on one kernel: the real slurmctld, and a real slurmd for each node.

Every slurmd has a port and, in a UTS namespace, a host name of its own; all share one address, so
that a thousand come up in a minute and take 4 GB. Nothing between nodes is measured here: what
launches would find out of the machine is answered by a program (simulated_ranks.py).
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from records.errors import InfrastructureError
from virtual_cluster.host import run, tries
from virtual_cluster.processes import failure
from virtual_cluster.slurm_conf import CGROUP_CONF, JOB_SETTINGS

#: Cores and mebibytes of each node, as Slurm is told.
CORES, MEGABYTES = 64, 262_144
#: The only address, on a link that leads nowhere: names are not resolved without a link.
_ADDRESS, _PORT = "10.78.0.1", 7001
#: Seconds that a node has to register.
_NODE_S, _LEAST_S = 1.0, 60.0
_INSIDE = "ASSAY_BENCH_INSIDE"
_NODE = 'hostname "$0" && exec slurmd -D -N "$0"'
_SETTINGS = """\
ClusterName=at-size
SlurmctldHost=login({address})
SlurmUser=root
AuthType=auth/none
CredType=cred/none
StateSaveLocation={folder}/spool
SlurmdSpoolDir={folder}/nodes/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/nodes/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/nodes/%n.log
SlurmdDebug=error
ProctrackType=proctrack/pgid
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
# A site whose epilog leaves nothing of a job.
Epilog={folder}/end-of-job
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0,sched_min_interval=1
# A thousand slurmd that share some cores may be late.
SlurmdTimeout=0
SlurmctldTimeout=300
MessageTimeout=60
TCPTimeout=10
ReturnToService=2
InactiveLimit=0
Waittime=0
NodeName=n[1-{nodes}] Port=[{first}-{last}] CPUs={cores} Boards=1 SocketsPerBoard=1 \
CoresPerSocket={cores} ThreadsPerCore=1 RealMemory={megabytes} State=UNKNOWN
PartitionName=all Nodes=n[1-{nodes}] Default=YES OverSubscribe=NO MaxTime=UNLIMITED State=UP
"""


def enter_namespaces(module: str, arguments: Sequence[str]) -> None:
    """Start the module again in namespaces of its own, where all processes end with it and it ends
    with its parent; returns there."""
    if os.environ.pop(_INSIDE, None):
        return
    spaces = ["--mount", "--net", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]
    # The shell waits as process 1, and so reaps what daemons leave.
    words = ["setpriv", "--pdeathsig=KILL", "unshare", *spaces, "sh", "-c", '"$@" & wait $!', "sh"]
    words += [sys.executable, "-m", module, *arguments]
    os.execvpe(words[0], words, {**os.environ, _INSIDE: "yes"})  # noqa: S606  no shell is needed


class OneKernelSlurm:
    """Slurm in the namespaces of this process; `folder` is its own. It ends with them."""

    def __init__(self, folder: Path, nodes: int) -> None:
        self.folder, self.nodes = folder, nodes
        self.daemons: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Bring it up; returns when every node takes jobs."""
        names = [f"n{number}" for number in range(1, self.nodes + 1)]
        self._write(names)
        self._join()
        os.environ["SLURM_CONF"] = str(self.folder / "slurm.conf")
        self._daemon("slurmctld", ["slurmctld", "-D"])
        for name in names:
            self._daemon(f"nodes/{name}", ["unshare", "--uts", "sh", "-c", _NODE, name])
        for _ in tries(_LEAST_S + _NODE_S * self.nodes, 0.5):
            if self.idle() == self.nodes:
                return
        raise failure(f"{self.idle()} of {self.nodes} nodes came up", self.folder / "slurmctld.log")

    def idle(self) -> int:
        """How many nodes take jobs now."""
        told = ["sinfo", "--noheader", "--states=idle", "--format=%D"]
        said = subprocess.run(told, capture_output=True, text=True, check=False).stdout
        return sum(map(int, said.split()))

    def processor_s(self) -> float:
        """Processor seconds of the daemons so far, and of launches that have ended."""
        own = sum(sum(_times(daemon.pid)[:2]) for daemon in self.daemons)
        return own + sum(_times(1)[2:])

    def _write(self, names: Sequence[str]) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)  # of an earlier time
        (self.folder / "spool").mkdir(parents=True)
        for name in names:
            (self.folder / "nodes" / name).mkdir(parents=True)
        epilog = self.folder / "end-of-job"
        epilog.write_text("#!/bin/sh\n")
        epilog.chmod(0o755)
        hosts = ["127.0.0.1 localhost", *(f"{_ADDRESS} {name}" for name in ["login", *names])]
        (self.folder / "hosts").write_text("".join(f"{line}\n" for line in hosts))
        (self.folder / "cgroup.conf").write_text(CGROUP_CONF)
        settings = {"address": _ADDRESS, "folder": self.folder, "nodes": self.nodes}
        ports = {"first": _PORT, "last": _PORT + self.nodes - 1}
        text = JOB_SETTINGS + _SETTINGS.format(
            **settings, **ports, cores=CORES, megabytes=MEGABYTES
        )
        (self.folder / "slurm.conf").write_text(text)

    def _join(self) -> None:
        """The names and the address, in these namespaces alone."""
        socket.sethostname("login")
        run(["mount", "--make-rprivate", "/"])
        run(["mount", "--bind", str(self.folder / "hosts"), "/etc/hosts"])
        run(["ip", "link", "set", "lo", "up"])
        run(["ip", "link", "add", "w0", "type", "veth", "peer", "name", "w1"])
        run(["ip", "address", "add", f"{_ADDRESS}/16", "dev", "w0"])
        for link in ("w0", "w1"):
            run(["ip", "link", "set", link, "up"])

    def _daemon(self, name: str, argv: list[str]) -> None:
        with (self.folder / f"{name}.console").open("wb") as log:
            self.daemons.append(
                subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            )
        if self.daemons[0].poll() is not None:
            raise InfrastructureError(f"slurmctld ended at once; see {self.folder}")


def _times(pid: int) -> list[float]:
    """Processor seconds: user and system, its own and of children that it has waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return [int(field) / os.sysconf("SC_CLK_TCK") for field in fields[11:15]]
