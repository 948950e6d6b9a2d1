# SPDX-License-Identifier: Apache-2.0
"""Brings a cluster up and takes it down."""

from __future__ import annotations

import os
import pwd
import time
from collections.abc import Callable
from pathlib import Path

from records.errors import AssayError, InfrastructureError
from virtual_cluster import account, daemons, faults, host, network, power, processes, slurm
from virtual_cluster import spec as plans
from virtual_cluster.slurm_conf import (
    cgroup_conf,
    epilog_script,
    hosts_file,
    sbatch_script,
    slurm_conf,
    topology_conf,
)
from virtual_cluster.spec import ClusterSpec
from virtual_cluster.state import (
    State,
    cluster_lock,
    folders,
    is_last,
    load_state,
    locked_state,
    machine_lock,
    mark_namespace_folder,
    namespace_folder_is_ours,
    remove_root,
)

Progress = Callable[[str], None]


def silent(_: str) -> None:
    """Print no progress."""


def bring_up(spec: ClusterSpec, progress: Progress = silent) -> State:
    """Make the cluster; on any failure take down what was made.

    Raises AssayError if it is up already, InfrastructureError if the machine cannot carry it.
    """
    host.require_rights("up")
    host.require_programs()
    with cluster_lock(spec.name):
        state = load_state(spec.name)
        ended = dead_parts(state) if state is not None else []
        if state is not None and _is_there(state) and "slurmctld" not in ended:
            size = f"({state.spec.nodes} nodes, {state.spec.network})"
            if ended:
                raise InfrastructureError(
                    f"cluster {spec.name} {size} is up, but {told(ended)}; {mending(state)}"
                )
            raise AssayError(
                f"cluster {spec.name} is up already {size}; "
                f"use it, take it down with `assay cluster down --name {spec.name}`, "
                "or choose another --name"
            )
        if leftovers(spec.name):
            why = f" ({told(ended)})" if ended else ""
            progress(f"cluster {spec.name}: remains of one that was killed are removed first{why}")
            _sweep_or_fail(spec.name)
        try:
            return _build(spec, progress)
        except BaseException:
            progress(f"cluster {spec.name}: failed, taking down what was made")
            _sweep(spec.name)
            raise


def take_down(name: str, progress: Progress = silent) -> bool:
    """Remove the cluster; return whether there was anything to remove.

    Raises InfrastructureError that lists what could not be removed.
    """
    host.require_rights("down")
    with cluster_lock(name):
        found = leftovers(name)
        if found:
            progress(f"cluster {name}: ending its processes, removing {', '.join(found)}")
            _sweep_or_fail(name)
    with machine_lock():
        if is_last():
            if namespace_folder_is_ours():
                network.drop_namespace_folder()
            remove_root()
    return bool(found)


def revive(name: str, progress: Progress = silent) -> list[str]:
    """Start again what has ended of a cluster; return what that was when all nodes take jobs."""
    host.require_rights("revive")
    with locked_state(name) as state:
        ended = dead_parts(state)
        if "munged" in ended:
            progress(f"cluster {name}: munged")
            daemons.start_munge(state)
        if "slurmctld" in ended:
            progress(f"cluster {name}: slurmctld")
            daemons.start_controller(state, lambda: slurm.controller_answers(state))
        for node in (part for part in ended if part in state.spec.node_names()):
            progress(f"cluster {name}: node {node}")
            power.start_again(state, node)
        for node, condition in slurm.node_states(state).items():
            if condition.startswith("drain"):  # Slurm's doing when killed amid a submission
                progress(f"cluster {name}: node {node} was {condition}")
                slurm.set_node(state, node, "RESUME")
        slurm.wait_for_nodes(state, state.spec.node_names())
    return ended


def is_alive(state: State) -> bool:
    """Whether the cluster is up and what all of it needs runs."""
    return _is_there(state) and not {"munged", "slurmctld"} & set(dead_parts(state))


def _is_there(state: State) -> bool:
    """Whether the cluster was brought up in this boot and something of it runs."""
    running = any(process.alive() for process in state.processes.values())
    return state.phase == "up" and state.boot_id == host.boot_id() and running


def dead_parts(state: State) -> list[str]:
    """What does not run: munged, slurmctld, nodes by name. A node ends with its slurmd."""
    parts = ["munged", "slurmctld", *state.spec.node_names()]
    return [
        part
        for part in parts
        if (process := state.processes.get(part)) is None or not process.alive()
    ]


def told(parts: list[str]) -> str:
    """What has ended, in words."""
    daemons_ended = [part for part in parts if part in ("munged", "slurmctld")]
    nodes = [part for part in parts if part not in daemons_ended]
    words = [f"its {part} has ended" for part in daemons_ended]
    words += [f"node {', '.join(nodes)} has no power (its slurmd has ended)"] if nodes else []
    return " and ".join(words)


def mending(state: State) -> str:
    """The commands that mend a cluster of which something has ended."""
    name = state.spec.name
    return (
        f"start it again with `assay cluster revive --name {name}`, or take all of it down with"
        f" `assay cluster down --name {name}`"
    )


def _build(spec: ClusterSpec, progress: Progress) -> State:
    begun = time.monotonic()
    state = _prepare(spec)
    progress(f"cluster {spec.name}: network {spec.network}, {spec.nodes} nodes")
    network.make_network(spec, state.addresses)
    progress(f"cluster {spec.name}: munged and slurmctld")
    daemons.start_munge(state)
    daemons.start_controller(state, lambda: slurm.controller_answers(state))
    progress(f"cluster {spec.name}: slurmd on {spec.nodes} nodes")
    for node in spec.node_names():
        daemons.start_node(state, node)
    slurm.wait_for_nodes(state, spec.node_names())
    state.phase = "up"
    state.save()
    progress(f"cluster {spec.name}: up after {time.monotonic() - begun:.1f} s")
    return state


def _prepare(spec: ClusterSpec) -> State:
    """Plan the cluster, make its folders, its user and the files its daemons read."""
    nodes = spec.node_names()
    usable = host.usable_cores()
    where = folders(spec.name)
    state = State(
        spec=spec,
        phase="starting",
        boot_id=host.boot_id(),
        addresses=plans.address_plan(nodes),
        cores=plans.core_plan(nodes, spec.cpus(len(usable)), usable),
        memory_bytes_per_node=plans.memory_per_node(host.total_memory_bytes(), spec.nodes),
    )
    where.make(nodes)
    state.save()
    with machine_lock():
        if not network.namespace_folder_exists():
            mark_namespace_folder()
        state.uid, state.gid = account.make_account(spec.user_name, where.home)
    os.chown(where.home, state.uid, state.gid)
    os.chown(where.work, state.uid, state.gid)
    state.save()
    where.slurm_conf.write_text(
        slurm_conf(
            spec, where.root, state.addresses, spec.cpus(len(usable)), state.memory_bytes_per_node
        )
    )
    where.slurm_conf.with_name("cgroup.conf").write_text(cgroup_conf())
    if len(spec.switch_tree()) > 1:
        where.slurm_conf.with_name("topology.conf").write_text(topology_conf(spec))
    where.hosts.write_text(hosts_file(state.addresses))
    where.sbatch.write_text(sbatch_script(host.program("sbatch"), nodes[-1]))
    where.sbatch.chmod(0o755)
    where.epilog.write_text(epilog_script())
    where.epilog.chmod(0o755)
    return state


def leftovers(name: str) -> list[str]:
    """What exists of a cluster of this name, in words; empty when nothing does."""
    where = folders(name)
    found = []
    if where.root.exists():
        found.append(f"folder {where.root}")
    namespaces = network.namespaces_of(name)
    if namespaces:
        found.append(f"{len(namespaces)} network namespaces")
    user = ClusterSpec(name=name).user_name
    if account.account_exists(user, where.home):
        found.append(f"user {user}")
    return found


def _sweep_or_fail(name: str) -> None:
    problems = _sweep(name)
    if problems:
        raise InfrastructureError(
            f"cluster {name}: not everything could be removed: {'; '.join(problems)}. "
            f"Mend that and run `assay cluster down --name {name}` again"
        )


def _sweep(name: str) -> list[str]:
    """Remove all of a cluster, however complete; return what could not be removed."""
    state = load_state(name)
    recorded = state.processes.values() if state and state.boot_id == host.boot_id() else ()
    stubborn = processes.end(recorded)
    stubborn += processes.end_all_inside(namespace_files(name), processes.ancestors())
    user = ClusterSpec(name=name).user_name
    has_user = account.account_exists(user, folders(name).home)
    if has_user:  # a process with a network of its own would get the next cluster's user
        stubborn += processes.end_all_of(pwd.getpwnam(user).pw_uid)
    problems = [f"process {process.pid} does not end" for process in dict.fromkeys(stubborn)]
    faults.remove_caps(name)
    for namespace in network.namespaces_of(name):
        network.remove_namespace(namespace)
    if has_user:
        with machine_lock():
            account.remove_account(user)
    # The user's folders may be nested more deeply than shutil.rmtree can follow.
    host.run(["rm", "-rf", "--", str(folders(name).root)], check=False)
    return problems + leftovers(name)


def namespace_files(name: str) -> list[Path]:
    """Where the cluster's network namespaces are mounted."""
    return [network.namespace_file(namespace) for namespace in network.namespaces_of(name)]
