# SPDX-License-Identifier: Apache-2.0
"""What tests of real clusters share: where they can be made, commands in them, traces of them."""

import os
import pwd
import secrets
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import virtual_cluster
from virtual_cluster import host
from virtual_cluster.api import Cluster
from virtual_cluster.spec import ClusterSpec

LACKING = [*host.missing_capabilities(), *host.missing_programs()]
REASON = "needs root" if os.geteuid() != 0 else ", ".join(LACKING)
NEEDS_CLUSTER = [
    pytest.mark.cluster,
    pytest.mark.skipif(bool(REASON), reason=f"a virtual cluster cannot be made here: {REASON}"),
]
#: What a test waits for comes soon, or late on a loaded machine, or never.
PATIENCE_S = 300.0


def own_name(kind: str) -> str:
    """A name that no other test gives a cluster, in this namespace of processes or another."""
    return f"t-{kind}{secrets.token_hex(4)}"


@contextmanager
def made(kind: str, **spec: Any) -> Iterator[Cluster]:
    """A cluster that is taken down whatever happens."""
    name = own_name(kind)
    try:
        yield virtual_cluster.up(ClusterSpec(name, **spec))
    finally:
        virtual_cluster.down(name)


def as_user(cluster: Cluster, *argv: str) -> str:
    done = subprocess.run(
        cluster.user_command(argv),
        cwd=cluster.site_facts()["work_dir"],
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
    lines = as_user(cluster, "srun", "--label", "-N4", "sh", "-c", script).splitlines()
    return [line.split(":", 1)[1].strip() for line in sorted(lines)]


def traces(name: str) -> dict[str, list[str]]:
    """Everything on the machine that bears the name of a cluster."""
    mine = f"assay-{name}"
    folder = f"/assay/{name}"
    commands = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            commands[entry.name] = (entry / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
    netns = Path("/run/netns")
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    links = host.run(["ip", "-o", "link"]).stdout.splitlines()
    found = {
        "processes": [f"{pid} {c}" for pid, c in commands.items() if mine in c or folder in c],
        "namespaces": [p.name for p in netns.glob(f"{mine}-*")] if netns.exists() else [],
        "mounts": [line for line in mounts if mine in line or folder in line],
        "links": [line for line in links if mine in line],
        "users": [entry.pw_name for entry in pwd.getpwall() if folder in entry.pw_dir],
        "files": [str(path) for path in Path("/var/lib/assay").glob(f"{name}*")],
    }
    return {kind: things for kind, things in found.items() if things}


def wait_for(condition: Callable[[], bool]) -> None:
    assert any(condition() for _ in host.tries(PATIENCE_S, 0.02))


def wait_until_idle(cluster: Cluster) -> None:
    """Slurm clears the nodes of a job after its commands have ended."""
    wait_for(lambda: {node["state"] for node in cluster.status()["nodes"]} == {"idle"})


def sleepers(namespace: Path) -> list[int]:
    """The processes `sleep` in a namespace."""
    found = []
    for pid in host.run(["ip", "netns", "pids", namespace.name]).stdout.split():
        with suppress(OSError):  # it has ended meanwhile
            if Path(f"/proc/{pid}/comm").read_text() == "sleep\n":
                found.append(int(pid))
    return found
