# SPDX-License-Identifier: Apache-2.0
"""Brings a cluster up and takes it down."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace

from records.errors import AssayError, InfrastructureError
from virtual_cluster import (
    daemons,
    faults,
    host,
    namespaces,
    network,
    processes,
    slurm,
    trial,
)
from virtual_cluster import spec as plans
from virtual_cluster.slurm_conf import cluster_files
from virtual_cluster.spec import AUTO, ClusterSpec
from virtual_cluster.state import (
    Folders,
    State,
    cluster_lock,
    folders,
    load_state,
    locked_state,
)

Progress = Callable[[str], None]


def silent(_: str) -> None:
    """Print no progress."""


class Additions:
    """What a cluster has besides: nothing, unless setup/foreign_cluster makes it."""

    def prepare(self, state: State) -> None:
        """Write further files, before there is any process."""

    def start_daemons(self, state: State) -> None:
        """Start what slurmctld needs."""


def bring_up(
    spec: ClusterSpec, progress: Progress = silent, site: Additions | None = None
) -> State:
    """Make the cluster; on any failure take down what was made.

    Raises AssayError if it is up already, InfrastructureError if the machine cannot carry it.
    """
    trial.require(site=spec.of_root)
    host.require_programs()
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
            return _build(spec, progress, site or Additions())
        except BaseException:
            progress(f"cluster {spec.name}: failed, taking down what was made")
            _sweep(spec.name)
            raise


def take_down(name: str, progress: Progress = silent) -> bool:
    """Remove the cluster; return whether there was anything to remove.

    Raises InfrastructureError that lists what could not be removed.
    """
    with cluster_lock(name):
        found = leftovers(name)
        if found:
            progress(f"cluster {name}: ending its processes, removing {found}")
            _sweep_or_fail(name)
    return bool(found)


def revive(name: str, progress: Progress = silent) -> list[str]:
    """Start again what has ended of a cluster; return what that was when all nodes take jobs."""
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
    """Whether the cluster was brought up and its holder runs."""
    return state.phase == "up" and has_holder(state)


def has_holder(state: State) -> bool:
    """Whether the process with which all of the cluster ends runs."""
    holder = state.processes.get("holder")
    return state.boot_id == host.boot_id() and holder is not None and holder.alive()


def dead_parts(state: State) -> list[str]:
    """What does not run: munged, slurmctld, nodes by name."""
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
    if nodes:
        words.append(f"node {', '.join(nodes)} has no power (its first process has ended)")
    return " and ".join(words)


def remedy(state: State) -> str:
    """The commands that restore a cluster of which something has ended."""
    name = state.spec.name
    return (
        f"start it again with `assay cluster revive --name {name}`, or take all of it down with"
        f" `assay cluster down --name {name}`"
    )


def _build(spec: ClusterSpec, progress: Progress, site: Additions) -> State:
    begun = time.monotonic()
    state = _prepare(spec)
    site.prepare(state)
    if os.geteuid() == 0:
        progress(
            f"cluster {spec.name}: you are root: programs in it can do what root can do to files"
        )
    progress(f"cluster {spec.name}: network {spec.network}, {spec.nodes} nodes")
    log = folders(spec.name).console("holder")
    processes.start([], namespaces.holder(state), log, lambda one: state.record("holder", one))
    network.make_network(state)
    daemons.start_login(state)
    progress(f"cluster {spec.name}: munged and slurmctld")
    daemons.start_munge(state)
    site.start_daemons(state)
    daemons.start_controller(state, lambda: slurm.controller_answers(state))
    progress(f"cluster {spec.name}: slurmd on {spec.nodes} nodes")
    for node in spec.node_names():
        daemons.start_node(state, node)
    slurm.wait_for_nodes(state, spec.node_names())
    state.phase = "up"
    state.save()
    progress(f"cluster {spec.name}: up after {time.monotonic() - begun:.1f} s")
    return state


def planned(spec: ClusterSpec) -> State:
    """Addresses, cores and memory of a cluster on this machine, of which nothing is made."""
    usable = host.usable_cores()
    awake = host.way_to_keep_awake() if spec.awake == AUTO else spec.awake
    return State(
        spec=replace(spec, awake=awake),
        phase="starting",
        boot_id=host.boot_id(),
        addresses=plans.address_plan(spec.node_names()),
        cores=plans.core_plan(spec.core_counts(len(usable)), usable),
        memory_bytes_per_node=plans.memory_per_node(host.total_memory_bytes(), spec.nodes),
    )


def _prepare(spec: ClusterSpec) -> State:
    """Plan the cluster, make its folders and the files its hosts read."""
    where, state = folders(spec.name), planned(spec)
    where.make(spec.node_names())
    state.save()
    _write_files(where, cluster_files(state))
    (where.programs / "assay-spinner").symlink_to("/bin/sh")
    return state


def _write_files(where: Folders, files: dict[str, str]) -> None:
    """Write files below the cluster's folder: scripts in bin/."""
    for name, text in files.items():
        path = where.root / name
        path.write_text(text)
        path.chmod(0o755 if path.parent == where.programs else 0o644)


def leftovers(name: str) -> str:
    """What exists of a cluster of this name; "" when nothing does."""
    where = folders(name).root
    return f"folder {where}" if where.exists() else ""


def _sweep_or_fail(name: str) -> None:
    problems = _sweep(name)
    if problems:
        raise InfrastructureError(
            f"cluster {name}: not everything could be removed: {'; '.join(problems)}. "
            f"Fix that and run `assay cluster down --name {name}` again"
        )


def _sweep(name: str) -> list[str]:
    """Remove all of a cluster, however complete; return what could not be removed."""
    state, problems = load_state(name), []
    if state is not None and state.boot_id == host.boot_id():
        spaces = {one.space for one in state.processes.values()} - {0}
        holder = state.processes.get("holder")
        if holder is not None and not processes.end(holder, spaces):
            problems.append(f"process {holder.pid} does not end")
    faults.remove_caps(name)
    # Folders of jobs may be nested more deeply than shutil.rmtree can follow, be large, or closed.
    root = str(folders(name).root)
    for words in (["rm", "-rf"], ["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
        if os.path.lexists(root):
            host.run([*words, "--", root], check=False, limited=False)
    return problems + [left for left in [leftovers(name)] if left]
