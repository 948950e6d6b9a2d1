# SPDX-License-Identifier: Apache-2.0
"""Cuts the power of a node, or makes a node or a switch slow on purpose; and restores both.

Cores are capped by the kernel's CPU quota in periods of about a millisecond, so that even short
timings show it; where the caller may write no control group, by stopping processes (throttle.py).
Links are capped by the token bucket filter that already shapes them; the disk by the kernel's
throttling of block devices, which holds what bypasses the page cache (O_DIRECT).
"""

from __future__ import annotations

import math
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from records.errors import AssayError, InfrastructureError
from records.waiting import KILLED_S, scaled
from virtual_cluster import daemons, host, namespaces, network, processes, slurm
from virtual_cluster.spec import NODE_PATTERN
from virtual_cluster.state import State, folders, locked_state

_THROTTLE = Path(__file__).resolve().with_name("throttle.py")
_CGROUPS = Path("/sys/fs/cgroup")
#: The least quota that the kernel accepts.
_QUOTA_US = 1000
#: Controllers of control groups, with the folder of each where it has a hierarchy of its own (v1).
_CONTROLLERS = {"cpu": "cpu", "io": "blkio"}


class Breakable:
    """A cluster of this name, whose nodes, links and switches can be broken on purpose."""

    def __init__(self, name: str) -> None:
        self.name = name

    def kill_node(self, node: str) -> None:
        """Cut the power of a node: its processes are killed at once, its link is down."""
        with locked_state(self.name) as state:
            require_power(state, node)
            network.set_link(state, node, up=False)
            first = state.processes[node]
            if not processes.end(first, {first.space}):
                raise InfrastructureError(f"node {node}: process {first.pid} does not end")
            # As Slurm itself does after SlurmdTimeout, which honest nodes of a loaded machine need.
            slurm.set_node(state, node, "DOWN", "Not responding", check=False)

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
        self,
        node: str,
        cpu_share: float | None = None,
        link_share: float | None = None,
        disk_bytes_per_s: float | None = None,
    ) -> None:
        """Limit a node to these shares (0 < share < 1) of its cores' time and of its link's rate,
        and its reads and its writes of the machine's disk that bypass caches to a rate each.

        Or a switch below another one, by its name, to a share of the link's rate to the one above.
        """
        _refuse_unfit(cpu_share, link_share, disk_bytes_per_s)
        with locked_state(self.name) as state:
            if not _is_switch(state, node):
                require_power(state, node)
            elif cpu_share is not None or disk_bytes_per_s is not None:
                raise AssayError(
                    f"{node} is a switch and has no cores and no disk: give --link alone"
                )
            if link_share is not None:
                if state.spec.link.bits_per_s is None:
                    raise AssayError(
                        f"the links of cluster {self.name} are unlimited, so there is no rate to"
                        " take a share of; bring the cluster up with"
                        " --network gigabit or fast-ethernet"
                    )
                network.shape_links(state, [node], link_share)
            if cpu_share is not None:
                _slow_cores(state, node, cpu_share)
            if disk_bytes_per_s is not None:
                _slow_disk(state, node, round(disk_bytes_per_s))

    def mend(self, node: str) -> None:
        """Restore a node's full core time, and link and disk rate, or a switch's link."""
        with locked_state(self.name) as state:
            if not _is_switch(state, node):
                _check_node(state, node)
            network.shape_links(state, [node])
            _end_throttle(state, node)
            remove_caps(self.name, node)


def start_again(state: State, node: str) -> None:
    """Start a node that has no power, as `restore_node`; the caller holds the cluster."""
    # Slurm may not have noticed yet; jobs that were on the node must not seem to go on.
    slurm.set_node(state, node, "DOWN", "power was cut")
    network.set_link(state, node, up=True)
    daemons.start_node(state, node)
    slurm.wait_for_nodes(state, [node])


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
    cores = len(state.cores[node])
    if _root("cpu"):
        quota, period = str(_QUOTA_US * cores), str(math.ceil(_QUOTA_US / share))
        v1 = [("quota", "-1"), ("period", period), ("quota", quota)]
        limits = [("cpu.max", f"{quota} {period}"), *((f"cpu.cfs_{of}_us", to) for of, to in v1)]
        _cap(state, node, "cpu", limits)
        return
    _end_throttle(state, node)
    space = state.processes[node].space
    argv = [sys.executable, str(_THROTTLE), f"{cores}", f"{share:g}", f"{space}"]
    daemons.start_beside(state, f"throttle-{node}", namespaces.administrator(argv))


def _slow_disk(state: State, node: str, rate: int) -> None:
    disk = _disk(folders(state.spec.name).work)
    v1 = [(f"blkio.throttle.{way}_bps_device", f"{disk} {rate}") for way in ("read", "write")]
    _cap(state, node, "io", [("io.max", f"{disk} rbps={rate} wbps={rate}"), *v1])


def _end_throttle(state: State, node: str) -> None:
    """End the process that stops those of a node, and let them go on."""
    throttle = state.processes.pop(f"throttle-{node}", None)
    if throttle is None:
        return
    processes.end(throttle)
    spaces = {state.processes[node].space} if state.runs(node) else ()
    for pid in processes.inside(spaces):
        with suppress(OSError):
            if os.sched_getscheduler(pid) != os.SCHED_IDLE:  # what keeps cores awake stays as it is
                os.kill(pid, signal.SIGCONT)
    state.save()


def _refuse_unfit(
    cpu_share: float | None, link_share: float | None, disk_bytes_per_s: float | None
) -> None:
    """Raise AssayError for limits that cannot be set."""
    for option, share in (("--cpu", cpu_share), ("--link", link_share)):
        if share is not None and not 0.01 <= share < 1:
            raise AssayError(
                f"{option} {share:g}: allowed are shares from 0.01 to below 1, e.g. 0.5"
            )
    if disk_bytes_per_s is not None and not 1e4 <= disk_bytes_per_s <= 1e12:
        raise AssayError(
            f"--disk {disk_bytes_per_s / 1e6:g}: allowed are 0.01 to 1000000 MB/s, e.g. 20"
        )
    if cpu_share is None and link_share is None and disk_bytes_per_s is None:
        raise AssayError("nothing to degrade: give --cpu SHARE, --link SHARE, --disk MB/S or more")


def remove_caps(cluster: str, node: str = "*") -> None:
    """Remove the control groups of a node, or of all nodes."""
    for controller in _CONTROLLERS:
        root = _root(controller)
        for group in root.glob(_group(cluster, node)) if root else ():
            if NODE_PATTERN.fullmatch(group.name.removeprefix(_group(cluster, ""))):
                _release(group)


def _group(cluster: str, node: str) -> str:
    """Name of a node's control group."""
    return f"assay-{cluster}-{node}"


def _root(controller: str) -> Path | None:
    """The hierarchy with a controller, its own (v1) or the unified one (v2), where the caller may
    make groups there; None without any."""
    own = _CGROUPS / _CONTROLLERS[controller]
    if (own / "cgroup.procs").exists():
        return own if os.access(own, os.W_OK) else None
    control = _CGROUPS / "cgroup.subtree_control"
    if control.exists():
        with suppress(OSError):
            control.write_text(f"+{controller}")
        if controller in control.read_text().split() and os.access(_CGROUPS, os.W_OK):
            return _CGROUPS
    return None


def _disk(folder: Path) -> str:
    """The number of the whole disk that holds a folder: throttling takes no partition."""
    number = folder.stat().st_dev
    entry = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve()
    disk = entry.parent if (entry / "partition").exists() else entry
    try:
        return (disk / "dev").read_text().strip()
    except OSError:
        raise InfrastructureError(f"{folder} is on no block device that can be slowed") from None


def _cap(state: State, node: str, controller: str, limits: Sequence[tuple[str, str]]) -> None:
    """Put the node's processes into its group of a controller, and write what limits them into
    those of these files that the version of control groups has, in this order."""
    root = _root(controller)
    if root is None:
        raise InfrastructureError(
            f"no control group with the kernel's {controller} controller can be made below"
            f" {_CGROUPS}; run assay as root on a machine that has it, or degrade something else"
        )
    group = root / _group(state.spec.name, node)
    try:
        group.mkdir(exist_ok=True)
        for file, text in limits:
            if (group / file).exists():
                (group / file).write_text(text)
        _move(processes.inside({state.processes[node].space}), group)
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
