# SPDX-License-Identifier: Apache-2.0
"""What tests of real clusters share: where they can be made, commands in them, traces of them."""

import secrets
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import virtual_cluster
from virtual_cluster import host, trial
from virtual_cluster.api import Cluster
from virtual_cluster.spec import ClusterSpec
from virtual_cluster.state import load_state, state_root

REASON = ", ".join(host.missing_programs()) or trial.refusal()
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


def processes_of(cluster: Cluster, *pattern: str, host_name: str = "") -> list[int]:
    """What `pgrep` finds on a host of the cluster, or on all of them; ids outside of it."""
    state = load_state(cluster.name)
    assert state is not None
    found: list[int] = []
    for name in [host_name] if host_name else ["login", *state.spec.node_names()]:
        of = [f"--ns={state.processes[name].pid}", "--nslist=pid"]
        found += map(int, host.run(["pgrep", *of, *pattern], check=False).stdout.split())
    return found


def traces(name: str) -> dict[str, list[str]]:
    """Everything on the machine that bears the name of a cluster."""
    folder = f"{state_root()}/{name}"
    commands = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            commands[entry.name] = (entry / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    found = {
        "processes": [f"{pid} {command}" for pid, command in commands.items() if folder in command],
        "mounts": [line for line in mounts if folder in line],
        "files": [str(path) for path in state_root().glob(f"{name}*")],
    }
    return {kind: things for kind, things in found.items() if things}


def wait_for(condition: Callable[[], bool]) -> None:
    assert any(condition() for _ in host.tries(PATIENCE_S, 0.02))


def wait_until_idle(cluster: Cluster) -> None:
    """Slurm clears the nodes of a job after its commands have ended."""
    wait_for(lambda: {node["state"] for node in cluster.status()["nodes"]} == {"idle"})


def sleepers(cluster: Cluster, host_name: str) -> list[int]:
    """The processes `sleep` on a host, but that which holds the login host."""
    return processes_of(cluster, "-fx", "sleep [0-9]+", host_name=host_name)
