# SPDX-License-Identifier: Apache-2.0
"""What tests of real clusters share: where they can be made, commands in them, traces of them."""

import os
import secrets
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from virtual_cluster import api, host, images, namespaces
from virtual_cluster.api import Cluster, state_of
from virtual_cluster.spec import ClusterSpec
from virtual_cluster.state import state_root

#: What clusters of tests boot: the image that is named, else the programs of this machine.
IMAGE = os.environ.get("ASSAY_TEST_IMAGE") or (
    images.DEFAULT if host.missing_programs() else images.MACHINE
)
REASON = namespaces.refusal()
booted = partial(ClusterSpec, image=IMAGE)
NEEDS_CLUSTER = [
    pytest.mark.cluster,
    pytest.mark.skipif(bool(REASON), reason=f"a virtual cluster cannot be made here: {REASON}"),
]
#: What a test waits for comes soon, or late on a loaded machine, or never.
PATIENCE_S = 300.0


def lacking(*programs: str) -> list[str]:
    """Programs that hosts of a cluster of tests do not have, once its image is here."""
    image = images.found(IMAGE)
    return [one for one in programs if image and host.program(one, str(image.tree)) == one]


def needs_own_python() -> pytest.MarkDecorator:
    """Skips a test where hosts have another Python than this one: there only sessions, jobs and
    `assay vet --local` run, for want of SciPy."""
    image = images.found(IMAGE) if IMAGE in images.names() else None
    other = image is not None and image.python != f"3.{sys.version_info.minor}"
    return pytest.mark.skipif(other, reason=f"Assay itself runs in no Python of image {IMAGE}")


def own_name(kind: str) -> str:
    """A name that no other test gives a cluster, in this namespace of processes or another."""
    return f"t-{kind}{secrets.token_hex(4)}"


@contextmanager
def made(kind: str, **spec: Any) -> Iterator[Cluster]:
    """A cluster that is taken down whatever happens."""
    name = own_name(kind)
    try:
        yield api.up(booted(name, **spec))
    finally:
        api.down(name)


def run_in(cluster: Cluster, *argv: str) -> str:
    done = subprocess.run(
        cluster.user_command(argv, folder=Path(cluster.site_facts()["work_dir"])),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        stdin=subprocess.DEVNULL,
        start_new_session=True,  # the caller's terminal is out of reach
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def on_nodes(cluster: Cluster, script: str) -> list[str]:
    """What the script prints on each of the four nodes, in their order."""
    lines = run_in(cluster, "srun", "--label", "-N4", "sh", "-c", script).splitlines()
    return [line.split(":", 1)[1].strip() for line in sorted(lines)]


def processes_of(cluster: Cluster, *pattern: str) -> list[int]:
    """What `pgrep` finds on the hosts of a cluster; ids outside of it."""
    state, found = state_of(cluster.name), list[int]()
    for name in ("login", *state.spec.node_names()):
        of = [f"--ns={state.processes[name].pid}", "--nslist=pid"]
        found += map(int, host.run(["pgrep", *of, *pattern], check=False).stdout.split())
    return found


def received(cluster: Cluster, device: str, host_name: str = "login") -> int:
    """Bytes that a device of a host has received."""
    show = ["cat", f"/sys/class/net/{device}/statistics/rx_bytes"]
    return int(host.run(cluster.admin_command(show, host_name)).stdout)


def send(cluster: Cluster, node: str, peer: str, megabytes: int = 1) -> None:
    """Send so much from a node to the discard of nobody: UDP datagrams to a closed port."""
    place = f"/dev/udp/{cluster.site_facts()['addresses'][peer]}/9"
    words = f"for i in $(seq {20 * megabytes}); do head -c 50000 /dev/zero >{place}; done"
    command = cluster.node_command(node, ["bash", "-c", words])
    subprocess.run(command, capture_output=True, check=False)


#: Files of namespaces: as long as one is open, the kernel gives its number to no other.
_HELD: list[int] = []


def spaces_of(name: str) -> set[int]:
    """The PID namespaces of a cluster that is up; their numbers stay theirs."""
    processes = [one for one in state_of(name).processes.values() if one.alive()]
    _HELD.extend(os.open(f"/proc/{one.pid}/ns/pid", os.O_RDONLY) for one in processes)
    return {one.space for one in processes}


def traces(name: str, spaces: Collection[int] = ()) -> dict[str, list[str]]:
    """Everything on the machine that bears the name of a cluster, or lives in its namespaces."""
    folder = f"/assay/{name}"
    found: dict[str, list[str]] = {"processes": []}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().decode(errors="replace")
            inside = (entry / "ns" / "pid").stat().st_ino in spaces
        except OSError:
            continue
        if inside or folder in words:
            found["processes"].append(f"{entry.name} {words}")
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    found["mounts"] = [line for line in mounts if folder in line]
    found["files"] = [str(path) for path in state_root().glob(f"{name}*")]
    found["groups"] = [str(path) for path in Path("/sys/fs/cgroup").glob(f"*/assay-{name}-*")]
    return {kind: things for kind, things in found.items() if things}


def wait_for(condition: Callable[[], bool]) -> None:
    assert any(condition() for _ in host.tries(PATIENCE_S, 0.02))


def wait_until_idle(cluster: Cluster) -> None:
    """Slurm clears the nodes of a job after its commands have ended."""
    wait_for(lambda: {node["state"] for node in cluster.status()["nodes"]} == {"idle"})


def sleepers(cluster: Cluster, node: str) -> list[int]:
    """Ids, in a node, of its processes `sleep 1000`; the cluster's own sleep more briefly."""
    words = cluster.node_command(node, ["pgrep", "-f", r"^[^ ]*sleep 1000$"])
    return [int(pid) for pid in host.run(words, check=False).stdout.split()]
