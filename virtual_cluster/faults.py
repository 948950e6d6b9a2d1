# SPDX-License-Identifier: Apache-2.0
"""Cuts the power of a node, or makes a node or a switch slow on purpose; and restores both.

Cores are capped by the kernel's CPU quota in periods of about a millisecond, so that even short
timings show it; where the caller may write no control group, by stopping processes (throttle.py).
Links are capped by the token bucket filter that already shapes them.
"""

import math
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

from records.errors import AssayError, InfrastructureError
from records.waiting import KILLED_S, scaled
from virtual_cluster import daemons, host, namespaces
from virtual_cluster.spec import NODE_PATTERN
from virtual_cluster.state import State, locked_state

#: Folders of control groups with the CPU quota: of version 1, of version 2.
_GROUPS = (Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup"))
#: The least quota that the kernel accepts.
_QUOTA_US = 1000
_THROTTLE = Path(__file__).resolve().with_name("throttle.py")


class Breakable:
    """A cluster of this name, whose nodes, links and switches can be broken on purpose."""

    def __init__(self, name: str) -> None:
        self.name = name

    def kill_node(self, node: str) -> None:
        """Cut the power of a node: its processes are killed at once, its link is down."""
        with locked_state(self.name) as state:
            require_power(state, node)
            namespaces.set_link(state, node, up=False)
            first = state.processes[node]
            if not host.end(first, {first.space}):
                raise InfrastructureError(f"node {node}: process {first.pid} does not end")
            # As Slurm itself does after SlurmdTimeout, which honest nodes of a loaded machine need.
            daemons.set_node(state, node, "DOWN", "Not responding", check=False)

    def restore_node(self, node: str) -> None:
        """Start a node again with its address and cores; returns when Slurm can give it jobs."""
        with locked_state(self.name) as state:
            _check_node(state, node)
            if state.runs(node):
                raise AssayError(
                    f"node {node} of cluster {self.name} has power; there is nothing to restore"
                )
            start_again(state, node)

    def degrade(
        self, node: str, cpu_share: float | None = None, link_share: float | None = None
    ) -> None:
        """Limit a node to these shares (0 < share < 1) of its cores' time and of its link's rate;
        or a switch below another one, by its name, to a share of the link's rate to the one
        above."""
        for option, share in (("--cpu", cpu_share), ("--link", link_share)):
            if share is not None and not 0.01 <= share < 1:
                raise AssayError(
                    f"{option} {share:g}: allowed are shares from 0.01 to below 1, e.g. 0.5"
                )
        if cpu_share is None and link_share is None:
            raise AssayError("nothing to degrade: give --cpu SHARE, --link SHARE or both")
        with locked_state(self.name) as state:
            if not _is_switch(state, node):
                require_power(state, node)
            elif cpu_share is not None:
                raise AssayError(f"{node} is a switch and has no cores: give --link alone")
            if link_share is not None:
                if state.spec.link.bits_per_s is None:
                    raise AssayError(
                        f"the links of cluster {self.name} are unlimited, so there is no rate to"
                        " take a share of; bring the cluster up with"
                        " --network gigabit or fast-ethernet"
                    )
                namespaces.shape_links(state, [node], link_share)
            if cpu_share is not None:
                _slow_cores(state, node, cpu_share)

    def mend(self, node: str) -> None:
        """Restore a node's full core time and link rate, or a switch's link."""
        with locked_state(self.name) as state:
            if not _is_switch(state, node):
                _check_node(state, node)
            namespaces.shape_links(state, [node])
            _end_throttle(state, node)
            remove_caps(self.name, node)


def start_again(state: State, node: str) -> None:
    """Start a node that has no power, as `restore_node`; the caller holds the cluster."""
    # Slurm may not have noticed yet; jobs that were on the node must not seem to go on.
    daemons.set_node(state, node, "DOWN", "power was cut")
    namespaces.set_link(state, node, up=True)
    daemons.start_node(state, node)
    daemons.wait_for_nodes(state, [node])


def _check_node(state: State, node: str) -> None:
    """Raise AssayError unless the cluster has a node of this name."""
    names = state.spec.node_names()
    if node not in names:
        raise AssayError(
            f"cluster {state.spec.name} has no node {node!r}; "
            f"its nodes are {names[0]} to {names[-1]}"
        )


def require_power(state: State, node: str) -> None:
    """Raise AssayError unless the cluster has a node of this name, with power."""
    _check_node(state, node)
    if not state.runs(node):
        raise AssayError(
            f"node {node} of cluster {state.spec.name} has no power; "
            f"bring it back with `assay cluster restore-node {node}`"
        )


def _is_switch(state: State, name: str) -> bool:
    """Tell whether a switch of this name hangs below another one."""
    return any(switch.name == name and switch.above for switch in state.spec.switch_tree())


def _slow_cores(state: State, node: str, share: float) -> None:
    """By a control group where one can be written, else by a process that stops the node's."""
    cores, space = len(state.cores[node]), state.processes[node].space
    if root := _groups():
        quota, period = _QUOTA_US * cores, math.ceil(_QUOTA_US / share)
        _cap(root / _group(state.spec.name, node), quota, period, host.inside({space}))
        return
    _end_throttle(state, node)
    argv = [sys.executable, str(_THROTTLE), f"{share:g}", f"{space}"]
    daemons.start_beside(state, f"throttle-{node}", namespaces.administrator(argv))


def _end_throttle(state: State, node: str) -> None:
    """End the process that stops those of a node, and let them go on."""
    throttle = state.processes.pop(f"throttle-{node}", None)
    if throttle is None:
        return
    host.end(throttle)
    spaces = {state.processes[node].space} if state.runs(node) else ()
    for pid in host.inside(spaces):
        with suppress(OSError):
            if os.sched_getscheduler(pid) != os.SCHED_IDLE:  # what keeps cores awake stays as it is
                os.kill(pid, signal.SIGCONT)
    state.save()


def remove_caps(cluster: str, node: str = "*") -> None:
    """Remove the control groups of a node, or of all nodes."""
    root = _groups()
    for group in root.glob(_group(cluster, node)) if root else ():
        if NODE_PATTERN.fullmatch(group.name.removeprefix(_group(cluster, ""))):
            _release(group)


def _group(cluster: str, node: str) -> str:
    """Name of a node's control group."""
    return f"assay-{cluster}-{node}"


def _groups() -> Path | None:
    """Folder where the caller may make control groups with a CPU quota; None without any."""
    for root in _GROUPS:
        control = root / "cgroup.subtree_control"  # of version 2
        with suppress(OSError):
            if control.exists():
                control.write_text("+cpu")
        usable = "cpu" in control.read_text().split() if control.exists() else root.name == "cpu"
        if usable and (root / "cgroup.procs").exists() and os.access(root, os.W_OK):
            return root
    return None


def _cap(group: Path, quota_us: int, period_us: int, pids: list[int]) -> None:
    """Put processes into a group, and limit it as its version of control groups does."""
    try:
        group.mkdir(exist_ok=True)
        if (group / "cpu.max").exists():
            (group / "cpu.max").write_text(f"{quota_us} {period_us}")
        else:
            for name, value in (("quota", -1), ("period", period_us), ("quota", quota_us)):
                (group / f"cpu.cfs_{name}_us").write_text(str(value))
        _move(pids, group)
    except OSError as error:
        raise InfrastructureError(f"{group}: cannot be capped ({error.strerror})") from error


def _move(pids: list[int], group: Path) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            (group / "cgroup.procs").write_text(str(pid))


def _release(group: Path) -> None:
    for _ in host.tries(scaled(KILLED_S), 0.02):
        try:
            _move([int(pid) for pid in (group / "cgroup.procs").read_text().split()], group.parent)
            group.rmdir()
            return
        except OSError as error:  # busy: a process has forked, or has ended and is not reaped yet
            problem = f"{group}: cannot be removed ({error.strerror})"
    raise InfrastructureError(problem)
