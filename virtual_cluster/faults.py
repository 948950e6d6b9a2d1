# SPDX-License-Identifier: Apache-2.0
"""Cuts the power of a node, or makes a node or a switch slow on purpose; and restores both.

Cores are capped by the kernel's CPU quota in periods of about a millisecond, so that even short
timings show it; links by the token bucket filter that already shapes them.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from records.errors import AssayError, InfrastructureError
from virtual_cluster import daemons, host, network, processes, slurm
from virtual_cluster import spec as plans
from virtual_cluster.state import State, locked_state
from virtual_cluster.switches import Switch

_CGROUPS = Path("/sys/fs/cgroup")
#: The least quota that the kernel accepts.
_QUOTA_US = 1000
RELEASE_TIMEOUT_S = 5.0


def cut_power(cluster: str, node: str) -> None:
    """Take a node's link down and kill all its processes at once, as a power cut does."""
    host.require_rights("kill-node")
    with locked_state(cluster) as state:
        check_node(state, node)
        if not has_power(state, node):
            raise AssayError(
                f"node {node} of cluster {cluster} has no power already; "
                f"bring it back with `assay cluster restore-node {node}`"
            )
        network.set_link(cluster, node, up=False)
        stubborn = processes.end([state.processes[node]])
        stubborn += processes.end_all_inside(
            [network.namespace_file(cluster, node)], processes.ancestors()
        )
        if stubborn:
            raise InfrastructureError(
                f"node {node}: processes {[process.pid for process in stubborn]} do not end"
            )


def restore_power(cluster: str, node: str) -> None:
    """Start a node again with its address and cores; returns when Slurm can give it jobs."""
    host.require_rights("restore-node")
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
    network.set_link(state.spec.name, node, up=True)
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


def first_process(state: State, node: str) -> int:
    """Id of the node's first process, to enter its namespaces; AssayError if it has no power."""
    found: int | None = None
    if has_power(state, node) and state.spec.isolated:
        found = processes.first_process(network.namespace_file(state.spec.name, node))
    elif has_power(state, node):
        found = state.processes[node].pid
    if found is None:
        raise AssayError(
            f"node {node} of cluster {state.spec.name} has no power; "
            f"bring it back with `assay cluster restore-node {node}`"
        )
    return found


def degrade(cluster: str, node: str, cpu_share: float | None, link_share: float | None) -> None:
    """Limit a node to these shares (0 < share < 1) of its cores' time and of its link's rate.

    Or a switch below another one, by its name, to a share of the link's rate to the one above.
    """
    host.require_rights("degrade")
    for option, share in (("--cpu", cpu_share), ("--link", link_share)):
        if share is not None and not 0.01 <= share < 1:
            raise AssayError(
                f"{option} {share:g}: allowed are shares from 0.01 to below 1, e.g. 0.5"
            )
    if cpu_share is None and link_share is None:
        raise AssayError("nothing to degrade: give --cpu SHARE, --link SHARE or both")
    with locked_state(cluster) as state:
        uplink = _uplink(state, node)
        if uplink and cpu_share is not None:
            raise AssayError(f"{node} is a switch and has no cores: give --link alone")
        if not uplink:
            check_node(state, node)
            first_process(state, node)
        if link_share is not None:
            link = state.spec.link
            if link.bits_per_s is None:
                raise AssayError(
                    f"the links of cluster {cluster} are unlimited, so there is no rate to"
                    " take a share of; bring the cluster up with --network gigabit or fast-ethernet"
                )
            slow = replace(link, bits_per_s=max(1000, round(link.bits_per_s * link_share)))
            if uplink:
                network.shape_uplink(state.spec, uplink, slow)
            else:
                network.shape_link(state.spec, node, slow)
        if cpu_share is not None:
            _cap(state, node, cpu_share)


def _uplink(state: State, name: str) -> Switch | None:
    """The switch of this name that hangs below another one."""
    return next((s for s in state.spec.switch_tree() if s.name == name and s.above), None)


def mend(cluster: str, node: str) -> None:
    """Restore a node's full core time and link rate, or a switch's link."""
    host.require_rights("mend")
    with locked_state(cluster) as state:
        if uplink := _uplink(state, node):
            network.shape_uplink(state.spec, uplink, state.spec.link)
            return
        check_node(state, node)
        network.shape_link(state.spec, node, state.spec.link)
        _release(_cgroup(cluster, node))


def remove_caps(cluster: str) -> None:
    """Remove the control groups of a cluster whose processes have ended."""
    with suppress(InfrastructureError):
        for group in _root().glob(f"assay-{cluster}-*"):
            if plans.is_namespace_of(cluster, group.name):
                _release(group)


def _root() -> Path:
    """The hierarchy with the cpu controller: its own (v1), or the unified one (v2)."""
    if (_CGROUPS / "cpu" / "cgroup.procs").exists():
        return _CGROUPS / "cpu"
    control = _CGROUPS / "cgroup.subtree_control"
    if control.exists():
        with suppress(OSError):
            control.write_text("+cpu")
        if "cpu" in control.read_text().split():
            return _CGROUPS
    raise InfrastructureError(
        f"the kernel's cpu controller is not usable below {_CGROUPS}: cores cannot be capped here"
    )


def _cgroup(cluster: str, node: str) -> Path:
    return _root() / plans.namespace_of(cluster, node)


def _cap(state: State, node: str, share: float) -> None:
    group = _cgroup(state.spec.name, node)
    quota_us = _QUOTA_US * len(state.cores[node])
    period_us = math.ceil(_QUOTA_US / share)
    try:
        group.mkdir(exist_ok=True)
        if (group / "cpu.max").exists():
            (group / "cpu.max").write_text(f"{quota_us} {period_us}")
        else:
            (group / "cpu.cfs_quota_us").write_text("-1")
            (group / "cpu.cfs_period_us").write_text(str(period_us))
            (group / "cpu.cfs_quota_us").write_text(str(quota_us))
        inside = processes.inside_network([network.namespace_file(state.spec.name, node)])
        _move([process.pid for process in inside], group)
    except OSError as error:
        raise InfrastructureError(f"{group}: cores cannot be capped ({error.strerror})") from error


def _move(pids: list[int], group: Path) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            (group / "cgroup.procs").write_text(str(pid))


def _release(group: Path) -> None:
    if not group.is_dir():
        return
    for _ in host.tries(RELEASE_TIMEOUT_S, 0.02):
        try:
            _move([int(pid) for pid in (group / "cgroup.procs").read_text().split()], group.parent)
            group.rmdir()
            return
        except OSError as error:  # busy: a process has forked, or has ended and is not reaped yet
            problem = f"{group}: cannot be removed ({error.strerror})"
    raise InfrastructureError(problem)
