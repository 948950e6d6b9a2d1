# SPDX-License-Identifier: Apache-2.0
"""The interface of a virtual cluster: bring it up, load it, use it, take it down."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from records.errors import AssayError, ClusterDownError, InfrastructureError, UnreachableError
from virtual_cluster import daemons, faults, host, images, namespaces
from virtual_cluster import spec as plans
from virtual_cluster.daemons import cluster_files
from virtual_cluster.images import Image
from virtual_cluster.session_python import session_packages
from virtual_cluster.spec import AUTO, ClusterSpec
from virtual_cluster.state import State, cluster_lock, folders, load_state, locked_state

Progress = Callable[[str], None]


def silent(_: str) -> None:
    """Print no progress."""


class Additions:
    """Files and daemons that a cluster has besides: none, unless setup/foreign_cluster makes it."""

    def prepare(self, state: State) -> None:
        """Write further files, before there is any process."""

    def start_daemons(self, state: State) -> None:
        """Start what slurmctld needs."""


def up(
    spec: ClusterSpec,
    progress: Progress = silent,
    site: Additions | None = None,
    sources: tuple[str, str] = ("", ""),
) -> Cluster:
    """Bring a cluster up; returns when every node takes jobs. On any failure what was made is taken
    down. Its image is fetched where it is not here, from these `sources` (images.get).

    Raises AssayError if it is up already, InfrastructureError if the machine cannot carry it.
    """
    _require_namespaces(spec)
    image = images.get(spec.image, progress, *sources)
    _require_namespaces(spec, image)
    host.require_programs(str(image.tree))
    packages = session_packages(image, progress)
    with cluster_lock(spec.name):
        state = load_state(spec.name)
        ended = dead_parts(state) if state is not None else []
        if state and state.phase == "up" and state.runs("holder") and "slurmctld" not in ended:
            found = f"cluster {spec.name} ({state.spec.nodes} nodes, {state.spec.network}) is up"
            if ended:
                raise InfrastructureError(f"{found}, but {remedy(state, ended)}")
            raise AssayError(
                f"{found} already; use it, take it down with `assay cluster down --name"
                f" {spec.name}`, or choose another --name"
            )
        if folders(spec.name).root.exists():
            why = f" ({describe_ended(ended)})" if ended else ""
            progress(f"cluster {spec.name}: remains of one that was killed are removed first{why}")
            _sweep(spec.name)
        try:
            return Cluster(_build(state_planned(spec, image, packages), progress, site))
        except BaseException:
            progress(f"cluster {spec.name}: failed, taking down what was made")
            with suppress(InfrastructureError):
                _sweep(spec.name)
            raise


def down(name: str = "default", progress: Progress = silent) -> bool:
    """Take down a cluster, alive or not, or what is left of it; return whether there was any.

    Raises InfrastructureError that lists what could not be removed.
    """
    root = folders(name).root
    with cluster_lock(name):
        found = root.exists()
        if found:
            progress(f"cluster {name}: ending its processes, removing folder {root}")
            _sweep(name)
    return found


def revive(name: str = "default", progress: Progress = silent) -> list[str]:
    """Start again what has ended of a cluster that was up; return what that was when all nodes take
    jobs."""
    state_of(name)  # refuses a cluster that never was up, or is dead
    with locked_state(name) as state:
        ended = dead_parts(state)
        if "munged" in ended:
            progress(f"cluster {name}: munged")
            daemons.start_munge(state)
        if "slurmctld" in ended:
            progress(f"cluster {name}: slurmctld")
            daemons.start_controller(state)
        for node in (part for part in ended if part in state.spec.node_names()):
            progress(f"cluster {name}: node {node}")
            faults.start_again(state, node)

        def resume(node: str, condition: str) -> None:
            progress(f"cluster {name}: node {node} was {condition}")
            daemons.set_node(state, node, "RESUME")

        # Slurm drains nodes when killed amid a submission, also once it runs again.
        daemons.wait_for_nodes(state, state.spec.node_names(), resume)
    return ended


def state_of(name: str) -> State:
    """The state of a cluster that was brought up since the machine was started; ClusterDownError
    with the remedy for another one."""
    state = load_state(name)
    option = "" if name == "default" else f" --name {name}"
    if state is None or state.phase != "up":
        raise ClusterDownError(
            f"there is no cluster {name}; bring it up with `assay cluster up{option}`"
        )
    if not state.runs("holder"):
        raise ClusterDownError(
            f"cluster {name} is dead (all of it has ended, or the machine was started anew); "
            f"`assay cluster up{option}` removes its remains and brings up a new one"
        )
    return state


def dead_parts(state: State) -> list[str]:
    """Parts that do not run: munged, slurmctld, nodes by name."""
    parts = ["munged", "slurmctld", *state.spec.node_names()]
    return [part for part in parts if not state.runs(part)]


def describe_ended(parts: list[str]) -> str:
    """Text of what has ended: a node has no power once its first process has."""
    return f"{', '.join(parts)} {'has' if len(parts) == 1 else 'have'} ended"


def remedy(state: State, ended: list[str]) -> str:
    """Say what has ended of a cluster, and the commands that restore it."""
    name = state.spec.name
    return (
        f"{describe_ended(ended)}; start it again with `assay cluster revive --name {name}`, or"
        f" take all of it down with `assay cluster down --name {name}`"
    )


def _require_namespaces(spec: ClusterSpec, image: Image = images.OF_MACHINE) -> None:
    if why := namespaces.refusal(str(image.tree), site=spec.of_root):
        raise InfrastructureError(f"no virtual cluster can be made here: {why}")


def _build(state: State, progress: Progress, site: Additions | None) -> State:
    begun, spec, site = time.monotonic(), state.spec, site or Additions()
    _write_files(state)
    site.prepare(state)
    if os.geteuid() == 0:
        progress(
            f"cluster {spec.name}: you are root: programs in it can do what root can do to files"
        )
    progress(f"cluster {spec.name}: network {spec.network}, {spec.nodes} nodes")
    log = folders(spec.name).console("holder")
    host.start([], namespaces.holder(state), log, lambda one: state.record("holder", one))
    namespaces.make_network(state)
    daemons.start_beside(state, "login", namespaces.login(state))
    progress(f"cluster {spec.name}: munged and slurmctld")
    daemons.start_munge(state)
    site.start_daemons(state)
    daemons.start_controller(state)
    progress(f"cluster {spec.name}: slurmd on {spec.nodes} nodes")
    for node in spec.node_names():
        daemons.start_node(state, node)
    daemons.wait_for_nodes(state, spec.node_names())
    state.phase = "up"
    state.save()
    progress(f"cluster {spec.name}: up after {time.monotonic() - begun:.1f} s")
    return state


def state_planned(
    spec: ClusterSpec, image: Image = images.OF_MACHINE, packages: Path | None = None
) -> State:
    """Addresses, cores and memory of a cluster on this machine, of which nothing is made."""
    usable = host.usable_cores()
    auto = "latency" if os.access("/dev/cpu_dma_latency", os.W_OK) else "spinner"
    counts = spec.cores or dict.fromkeys(spec.node_names(), spec.cpus(len(usable)))
    memory_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return State(
        spec=replace(spec, awake=auto if spec.awake == AUTO else spec.awake),
        phase="starting",
        boot_id=host.boot_id(),
        image_digest=image.digest,
        tree=str(image.tree),
        python_packages=str(packages) if packages else None,
        addresses=plans.address_plan(spec.node_names()),
        cores=plans.core_plan(counts, usable),
        memory_bytes_per_node=plans.memory_per_node(memory_bytes, spec.nodes),
    )


def _write_files(state: State) -> None:
    """Make the folders of a cluster and the files its hosts read."""
    where = folders(state.spec.name)
    where.make(state.spec.node_names())
    state.save()
    for name, text in cluster_files(state).items():
        path = where.root / name
        path.write_text(text)
        path.chmod(0o755 if path.parent == where.programs else 0o644)
    (where.programs / "assay-spinner").symlink_to("/bin/sh")


def _sweep(name: str) -> None:
    """Remove all of a cluster, however complete. Raises InfrastructureError that lists what could
    not be removed."""
    state, root, problems = load_state(name), folders(name).root, []
    if state is not None and state.runs("holder"):
        holder, all_of_it = state.processes["holder"], state.processes.values()
        if not host.end(holder, {one.space for one in all_of_it if one.is_left()} - {0}):
            problems.append(f"process {holder.pid} does not end")
    faults.remove_caps(name)
    # Folders of jobs may be nested more deeply than shutil.rmtree can follow, be large, or closed.
    for words in (["rm", "-rf"], ["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
        if root.exists():
            host.run([*words, "--", str(root)], check=False, limited=False)
    if root.exists():
        problems.append(f"folder {root}")
    if problems:
        raise InfrastructureError(
            f"cluster {name}: not everything could be removed: {'; '.join(problems)}. "
            f"Fix that and run `assay cluster down --name {name}` again"
        )


#: The words before a command that is killed when the thread which started it ends.
_ENDS_WITH_CALLER = ["setpriv", "--pdeathsig=KILL", "--"]


def user_environment(name: str, home: str, path: str) -> dict[str, str]:
    """The environment of a command of an ordinary user, who finds programs in `path`.

    Slurm tells times in the caller's time zone.
    """
    zone = {"TZ": os.environ["TZ"]} if "TZ" in os.environ else {}
    return zone | {
        **{"HOME": home, "LANG": "C.UTF-8", "LOGNAME": name},
        **{"PATH": path, "SHELL": "/bin/bash", "USER": name},
    }


class Cluster(faults.Breakable):
    """A cluster that is up."""

    def __init__(self, state: State) -> None:
        super().__init__(state.spec.name)
        self._known, self._folders = state, folders(self.name)

    @property
    def _state(self) -> State:
        """As it is now: others may have revived nodes since."""
        return (load_state(self.name) if self._known.phase == "up" else None) or self._known

    def site_facts(self) -> dict[str, Any]:
        """Facts that a site must know of the cluster, in SI units; `nodes` are names."""
        state, where = self._state, self._folders
        nodes = state.spec.node_names()
        return {
            "name": self.name,
            "identity": state.identity,
            "nodes": nodes,
            "cores_per_node": len(state.cores[nodes[0]]),
            "cores": state.cores,
            "addresses": state.addresses,
            "memory_bytes_per_node": state.memory_bytes_per_node,
            "network": state.spec.network,
            "network_bits_per_s": state.spec.link.bits_per_s,
            "network_burst_bytes": state.spec.link.burst_bytes,
            "switches": {
                switch.name: {"nodes": ",".join(switch.nodes), "switches": ",".join(switch.below)}
                for switch in state.spec.switch_tree()
            },
            "switch_count": state.spec.switches,
            "isolated": state.spec.isolated,
            "awake": state.spec.awake,
            "image": state.spec.image,
            "image_digest": state.image_digest,
            "tree": state.tree,
            "python_packages": state.python_packages,
            "state_dir": str(where.root),
            "work_dir": str(where.work),
            "home_dir": str(where.home),
        }

    def user_command(
        self,
        argv: Sequence[str],
        env: Mapping[str, str] = {},
        folder: Path | None = None,
        host_name: str = "login",
    ) -> list[str]:
        """Command list that executes argv on the login host, or a node, in a folder (None: the
        home).

        It runs without any capability, in a clean environment to which `env` is added. It is killed
        when the thread that started it ends, so start it from a thread that outlives it.
        """
        state, home = self._state, self._folders.home
        environment = user_environment("assay", str(home), f"/cluster/bin:{host.SYSTEM_PATH}")
        environment |= {"SLURM_CONF": host.SLURM_CONF, **env}
        enter = [*namespaces.enter(state, host_name), *namespaces.to_user(state)]
        given = ["env", "-i", "-C", str(folder or home)]
        given += [f"{key}={value}" for key, value in environment.items()]
        return [*_ENDS_WITH_CALLER, *enter, *_ENDS_WITH_CALLER, *given, *argv]

    def node_command(self, node: str, argv: Sequence[str]) -> list[str]:
        """Command list that executes argv in a node, on its cores."""
        faults.require_power(self._state, node)
        cores = ",".join(map(str, self._state.cores[node]))
        return self.user_command(["taskset", "-c", cores, *argv], host_name=node)

    def admin_command(self, argv: Sequence[str], host_name: str = "login") -> list[str]:
        """Command list that executes argv on the login host or in a node, with all rights there."""
        return [*namespaces.enter(self._state, host_name), *argv]

    def show(self, wanted: Sequence[Path]) -> None:
        """Show folders, and an image's Python packages, to sessions and jobs at their own paths.

        Raises AssayError for one that holds the cluster's own.
        """
        packages = self._state.python_packages
        namespaces.show(self._state, [*wanted, *([Path(packages)] if packages else [])])

    def status(self) -> dict[str, Any]:
        """Facts of the site, the nodes with Slurm's state and power, the jobs not yet ended."""
        state = self._state
        states = daemons.node_states(state)
        nodes = [
            {
                "name": node,
                "state": states.get(node, "unknown"),
                "power": state.runs(node),
                "cores": state.cores[node],
                "address": state.addresses[node],
            }
            for node in state.spec.node_names()
        ]
        return {**self.site_facts(), "nodes": nodes, "jobs": daemons.jobs(state)}


def load(name: str = "default") -> Cluster:
    """The cluster of this name that is up; ClusterDownError with the remedy if there is none.

    Raises UnreachableError for one that no longer serves.
    """
    state = state_of(name)
    ended = dead_parts(state)
    if {"munged", "slurmctld"} & set(ended):
        raise UnreachableError(f"cluster {name}: {remedy(state, ended)}")
    return Cluster(state)


def planned(name: str = "default") -> Cluster:
    """The cluster that `up` would make of this name here; nothing can be asked but `site_facts`."""
    return Cluster(state_planned(ClusterSpec(name=name)))
