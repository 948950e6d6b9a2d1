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
from dataclasses import replace
from pathlib import Path

from records.errors import AssayError, InfrastructureError
from records.waiting import KILLED_S, scaled
from virtual_cluster import daemons, host, namespaces, network, processes, slurm
from virtual_cluster.spec import NODE_PATTERN
from virtual_cluster.state import State, folders, locked_state
from virtual_cluster.switches import Switch

_THROTTLE = Path(__file__).resolve().with_name("throttle.py")
_CGROUPS = Path("/sys/fs/cgroup")
#: The least quota that the kernel accepts.
_QUOTA_US = 1000
#: Controllers of control groups, with the folder of each where it has a hierarchy of its own.
_CONTROLLERS = {"cpu": "cpu", "io": "blkio"}
#: What is written into which files, in this order.
Limits = list[tuple[str, str]]


def cut_power(cluster: str, node: str) -> None:
    """Take a node's link down and kill all its processes at once, as a power cut does."""
    with locked_state(cluster) as state:
        check_node(state, node)
        if not has_power(state, node):
            raise AssayError(
                f"node {node} of cluster {cluster} has no power already; "
                f"bring it back with `assay cluster restore-node {node}`"
            )
        network.set_link(state, node, up=False)
        first = state.processes[node]
        if not processes.end(first, {first.space}):
            raise InfrastructureError(f"node {node}: process {first.pid} does not end")
        # As Slurm itself does after SlurmdTimeout, which honest nodes of a loaded machine need.
        slurm.set_node(state, node, "DOWN", "Not responding", check=False)


def restore_power(cluster: str, node: str) -> None:
    """Start a node again with its address and cores; returns when Slurm can give it jobs."""
    with locked_state(cluster) as state:
        check_node(state, node)
        if has_power(state, node):
            raise AssayError(
                f"node {node} of cluster {cluster} has power; there is nothing to restore"
            )
        start_again(state, node)


def start_again(state: State, node: str) -> None:
    """Start a node that has no power, as `restore_power`; the caller holds the cluster."""
    # Slurm may not have noticed yet; jobs that were on the node must not seem to go on.
    slurm.set_node(state, node, "DOWN", "power was cut")
    network.set_link(state, node, up=True)
    daemons.start_node(state, node)
    slurm.wait_for_nodes(state, [node])


def has_power(state: State, node: str) -> bool:
    """Whether the node's first process runs."""
    process = state.processes.get(node)
    return process is not None and process.alive()


def check_node(state: State, node: str) -> None:
    """Raise AssayError unless the cluster has a node of this name."""
    names = state.spec.node_names()
    if node not in names:
        raise AssayError(
            f"cluster {state.spec.name} has no node {node!r}; "
            f"its nodes are {names[0]} to {names[-1]}"
        )


def require_power(state: State, node: str) -> None:
    """Raise AssayError unless the node has power."""
    if not has_power(state, node):
        raise AssayError(
            f"node {node} of cluster {state.spec.name} has no power; "
            f"bring it back with `assay cluster restore-node {node}`"
        )


def degrade(
    cluster: str,
    node: str,
    cpu_share: float | None,
    link_share: float | None,
    disk_bytes_per_s: float | None = None,
) -> None:
    """Limit a node to these shares (0 < share < 1) of its cores' time and of its link's rate, and
    its reads and its writes of the machine's disk to a rate each.

    Or a switch below another one, by its name, to a share of the link's rate to the one above.
    """
    _refuse_unfit(cpu_share, link_share, disk_bytes_per_s)
    with locked_state(cluster) as state:
        uplink = _uplink(state, node)
        if uplink and (cpu_share is not None or disk_bytes_per_s is not None):
            raise AssayError(f"{node} is a switch and has no cores and no disk: give --link alone")
        if not uplink:
            check_node(state, node)
            require_power(state, node)
        if link_share is not None:
            link = state.spec.link
            if link.bits_per_s is None:
                raise AssayError(
                    f"the links of cluster {cluster} are unlimited, so there is no rate to"
                    " take a share of; bring the cluster up with --network gigabit or fast-ethernet"
                )
            slow = replace(link, bits_per_s=max(1000, round(link.bits_per_s * link_share)))
            if uplink:
                network.shape_uplink(state, uplink, slow)
            else:
                network.shape_link(state, node, slow)
        if cpu_share is not None:
            _slow_cores(state, node, cpu_share)
        if disk_bytes_per_s is not None:
            device = _disk(folders(cluster).work)
            _cap(state, node, "io", _disk_limits(device, round(disk_bytes_per_s)))


def _slow_cores(state: State, node: str, share: float) -> None:
    """By a control group where one can be written, else by a process that stops the node's."""
    cores = len(state.cores[node])
    if _is_writable("cpu"):
        limits = _cpu_limits(_QUOTA_US * cores, math.ceil(_QUOTA_US / share))
        _cap(state, node, "cpu", limits)
        return
    _end_throttle(state, node)
    space = state.processes[node].space
    argv = [sys.executable, str(_THROTTLE), f"{share * cores:g}", f"{space}"]
    words = namespaces.administrator(argv)
    daemons.start_beside(state, f"throttle-{node}", words)


def _end_throttle(state: State, node: str) -> None:
    """End the process that stops those of a node, and let them go on."""
    throttle = state.processes.pop(f"throttle-{node}", None)
    if throttle is None:
        return
    processes.end(throttle)
    for pid in processes.inside(state.processes[node].space):
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


def _uplink(state: State, name: str) -> Switch | None:
    """The switch of this name that hangs below another one."""
    return next((s for s in state.spec.switch_tree() if s.name == name and s.above), None)


def mend(cluster: str, node: str) -> None:
    """Restore a node's full core time and link rate, or a switch's link."""
    with locked_state(cluster) as state:
        if uplink := _uplink(state, node):
            network.shape_uplink(state, uplink, state.spec.link)
            return
        check_node(state, node)
        network.shape_link(state, node, state.spec.link)
        _end_throttle(state, node)
        for controller in _CONTROLLERS:
            with suppress(InfrastructureError):  # without it nothing was capped
                _release(_root(controller) / _group(cluster, node))


def remove_caps(cluster: str) -> None:
    """Remove the control groups of a cluster whose processes have ended."""
    for controller in _CONTROLLERS:
        with suppress(InfrastructureError):
            for group in _root(controller).glob(f"{_group(cluster, '*')}"):
                if NODE_PATTERN.fullmatch(group.name.removeprefix(_group(cluster, ""))):
                    _release(group)


def _group(cluster: str, node: str) -> str:
    """Name of a node's control group."""
    return f"assay-{cluster}-{node}"


def _root(controller: str) -> Path:
    """The hierarchy with a controller: its own (v1), or the unified one (v2)."""
    own = _CGROUPS / _CONTROLLERS[controller]
    if (own / "cgroup.procs").exists():
        return own
    control = _CGROUPS / "cgroup.subtree_control"
    if control.exists():
        with suppress(OSError):
            control.write_text(f"+{controller}")
        if controller in control.read_text().split():
            return _CGROUPS
    raise InfrastructureError(
        f"the kernel's {controller} controller cannot be used below {_CGROUPS}; run assay as root"
        " on a machine that has it, or degrade something else"
    )


def _is_writable(controller: str) -> bool:
    """Whether the caller may make groups of a controller."""
    with suppress(InfrastructureError):
        return os.access(_root(controller), os.W_OK)
    return False


def _disk(folder: Path) -> str:
    """The number of the whole disk that holds a folder: throttling takes no partition."""
    number = folder.stat().st_dev
    entry = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve()
    disk = entry.parent if (entry / "partition").exists() else entry
    try:
        return (disk / "dev").read_text().strip()
    except OSError:
        raise InfrastructureError(f"{folder} is on no block device that can be slowed") from None


def _disk_limits(device: str, rate: int) -> list[Limits]:
    """By version of control groups, what is written into which file."""
    names = [f"blkio.throttle.{way}_bps_device" for way in ("read", "write")]
    return [
        [("io.max", f"{device} rbps={rate} wbps={rate}")],
        [(name, f"{device} {rate}") for name in names],
    ]


def _cpu_limits(quota_us: int, period_us: int) -> list[Limits]:
    """The same of a share of the cores."""
    return [
        [("cpu.max", f"{quota_us} {period_us}")],
        [
            ("cpu.cfs_quota_us", "-1"),
            ("cpu.cfs_period_us", str(period_us)),
            ("cpu.cfs_quota_us", str(quota_us)),
        ],
    ]


def _cap(state: State, node: str, controller: str, limits: Sequence[Limits]) -> None:
    """Put the node's processes into its group of a controller, with limits in the form that the
    kernel has."""
    group = _root(controller) / _group(state.spec.name, node)
    try:
        group.mkdir(exist_ok=True)
        for limit in limits:
            if (group / limit[0][0]).exists():
                for file, text in limit:
                    (group / file).write_text(text)
                break
        _move(processes.inside(state.processes[node].space), group)
    except OSError as error:
        raise InfrastructureError(f"{group}: cannot be capped ({error.strerror})") from error


def _move(pids: list[int], group: Path) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            (group / "cgroup.procs").write_text(str(pid))


def _release(group: Path) -> None:
    if not group.is_dir():
        return
    for _ in host.tries(scaled(KILLED_S), 0.02):
        try:
            _move([int(pid) for pid in (group / "cgroup.procs").read_text().split()], group.parent)
            group.rmdir()
            return
        except OSError as error:  # busy: a process has forked, or has ended and is not reaped yet
            problem = f"{group}: cannot be removed ({error.strerror})"
    raise InfrastructureError(problem)
