# SPDX-License-Identifier: Apache-2.0
"""Brings a cluster up and takes it down."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable
from pwd import struct_passwd

from records.errors import AssayError, InfrastructureError
from virtual_cluster import (
    account,
    daemons,
    faults,
    host,
    network,
    processes,
    site_setup,
    slurm,
)
from virtual_cluster import spec as plans
from virtual_cluster.slurm_conf import cluster_files
from virtual_cluster.spec import ClusterSpec
from virtual_cluster.state import (
    Folders,
    State,
    cluster_lock,
    folders,
    leave_machine,
    load_state,
    locked_state,
    machine_lock,
    note_namespace_folder,
)

Progress = Callable[[str], None]


def silent(_: str) -> None:
    """Print no progress."""


def bring_up(spec: ClusterSpec, progress: Progress = silent) -> State:
    """Make the cluster; on any failure take down what was made.

    Raises AssayError if it is up already, InfrastructureError if the machine cannot carry it.
    """
    host.require_rights("up")
    host.require_programs(spec.site.programs if spec.site else {})
    with cluster_lock(spec.name):
        state = load_state(spec.name)
        ended = dead_parts(state) if state is not None else []
        if state is not None and _is_there(state) and "slurmctld" not in ended:
            found = f"cluster {spec.name} ({state.spec.nodes} nodes, {state.spec.network}) is up"
            if ended:
                raise InfrastructureError(f"{found}, but {describe_ended(ended)}; {remedy(state)}")
            raise AssayError(
                f"{found} already; use it, take it down with `assay cluster down --name"
                f" {spec.name}`, or choose another --name"
            )
        if leftovers(spec.name):
            why = f" ({describe_ended(ended)})" if ended else ""
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
        leave_machine()
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
            faults.start_again(state, node)

        def resume(node: str, condition: str) -> None:
            progress(f"cluster {name}: node {node} was {condition}")
            slurm.set_node(state, node, "RESUME")

        # Slurm drains nodes when killed amid a submission, also once it runs again.
        slurm.wait_for_nodes(state, state.spec.node_names(), resume)
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


def describe_ended(parts: list[str]) -> str:
    """What has ended, in words."""
    daemons_ended = [part for part in parts if part in ("munged", "slurmctld")]
    nodes = [part for part in parts if part not in daemons_ended]
    words = [f"its {part} has ended" for part in daemons_ended]
    words += [f"node {', '.join(nodes)} has no power (its slurmd has ended)"] if nodes else []
    return " and ".join(words)


def remedy(state: State) -> str:
    """The commands that restore a cluster of which something has ended."""
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
    if spec.site:
        site_setup.start_login(state, spec.site)
    progress(f"cluster {spec.name}: munged and slurmctld")
    daemons.start_munge(state)
    if spec.site:
        site_setup.start_daemons(state, spec.site)
    daemons.start_controller(state, lambda: slurm.controller_answers(state))
    progress(f"cluster {spec.name}: slurmd on {spec.nodes} nodes")
    for node in spec.node_names():
        daemons.start_node(state, node)
    slurm.wait_for_nodes(state, spec.node_names())
    if spec.site:
        site_setup.run_commands(state, spec.site.commands)
    state.phase = "up"
    state.save()
    progress(f"cluster {spec.name}: up after {time.monotonic() - begun:.1f} s")
    return state


def planned(spec: ClusterSpec) -> State:
    """Addresses, cores and memory of a cluster on this machine, of which nothing is made."""
    usable = host.usable_cores()
    return State(
        spec=spec,
        phase="starting",
        boot_id=host.boot_id(),
        addresses=plans.address_plan(spec.node_names()),
        cores=plans.core_plan(spec.core_counts(len(usable)), usable),
        memory_bytes_per_node=plans.memory_per_node(host.total_memory_bytes(), spec.nodes),
    )


def _prepare(spec: ClusterSpec) -> State:
    """Plan the cluster, make its folders, its user and the files its daemons read."""
    where, state = folders(spec.name), planned(spec)
    where.make(spec.node_names())
    state.save()
    with machine_lock():
        note_namespace_folder()
        for user, name in spec.accounts().items():
            home = where.home / user
            home.mkdir(mode=0o700, exist_ok=True)
            state.users[user] = account.make_account(name, home)
            os.chown(home, *state.users[user])
    state.uid, state.gid = next(iter(state.users.values()))
    os.chown(where.work, state.uid, state.gid)
    state.save()
    _write_files(
        where, cluster_files(spec, where.root, state.addresses, state.memory_bytes_per_node)
    )
    if spec.site:
        site_setup.make_links_and_devices(spec.site, where)
    return state


def _write_files(where: Folders, files: dict[str, str]) -> None:
    """Write files below the cluster's folder: scripts in bin/, a secret for root alone."""
    where.secret.touch(mode=0o600)
    where.secret.write_text(secrets.token_hex(16))
    for name, text in files.items():
        path = where.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600 if "{secret}" in text else 0o644)
        path.write_text(text.replace("{secret}", where.secret.read_text()))
        if path.parent == where.programs:
            path.chmod(0o755)


def leftovers(name: str) -> list[str]:
    """What exists of a cluster of this name, in words; empty when nothing does."""
    where = folders(name)
    found = []
    if where.root.exists():
        found.append(f"folder {where.root}")
    namespaces = network.namespaces_of(name)
    if namespaces:
        found.append(f"{len(namespaces)} network namespaces")
    found += [f"user {user.pw_name}" for user in _accounts(name)]
    return found


def _sweep_or_fail(name: str) -> None:
    problems = _sweep(name)
    if problems:
        raise InfrastructureError(
            f"cluster {name}: not everything could be removed: {'; '.join(problems)}. "
            f"Fix that and run `assay cluster down --name {name}` again"
        )


def _sweep(name: str) -> list[str]:
    """Remove all of a cluster, however complete; return what could not be removed."""
    state = load_state(name)
    recorded = state.processes.values() if state and state.boot_id == host.boot_id() else ()
    stubborn = processes.end(recorded)
    stubborn += processes.end_all_inside(network.namespaces_of(name), processes.ancestors())
    users = _accounts(name)
    for user in users:  # a process with a network of its own would get the next cluster's user
        stubborn += processes.end_all_of(user.pw_uid)
    problems = [f"process {process.pid} does not end" for process in dict.fromkeys(stubborn)]
    faults.remove_caps(name)
    for namespace in network.namespaces_of(name):
        network.remove_namespace(namespace)
    if users:
        with machine_lock():
            for user in users:
                account.remove_account(user.pw_name)
    # The user's folders may be nested more deeply than shutil.rmtree can follow, and be large.
    host.run(["rm", "-rf", "--", str(folders(name).root)], check=False, limited=False)
    return problems + leftovers(name)


def _accounts(name: str) -> list[struct_passwd]:
    return account.accounts_of(ClusterSpec(name=name).user_name, folders(name).home)
