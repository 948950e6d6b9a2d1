# SPDX-License-Identifier: Apache-2.0
"""The interface of a virtual cluster: bring it up, load it, use it, take it down."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from records.errors import ClusterDownError, UnreachableError
from virtual_cluster import (
    faults,
    host,
    lifecycle,
    namespaces,
    shown,
    slurm,
)
from virtual_cluster.lifecycle import Additions, Progress, silent
from virtual_cluster.spec import ClusterSpec
from virtual_cluster.state import State, folders, load_state

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


class Cluster:
    """A cluster that is up."""

    def __init__(self, state: State) -> None:
        self._known = state
        self._folders = folders(state.spec.name)

    @property
    def _state(self) -> State:
        """As it is now: others may have revived nodes since."""
        return (load_state(self.name) if self._known.phase == "up" else None) or self._known

    @property
    def name(self) -> str:
        """Name of the cluster."""
        return self._known.spec.name

    def site_facts(self) -> dict[str, Any]:
        """What a site must know of the cluster, in SI units.

        Keys: name, identity (drawn when it was brought up), nodes, cores_per_node, cores (node:
        core numbers), addresses, memory_bytes_per_node, network, network_bits_per_s (None:
        unlimited), network_burst_bytes,
        switches (name: nodes and switches below it, as Slurm lists them), tree (the same as `up
        --switches` takes it), isolated, awake (as of ClusterSpec), state_dir, work_dir (where jobs
        are staged, also in the cluster), home_dir, partition.
        """
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
            "tree": state.spec.switches,
            "isolated": state.spec.isolated,
            "awake": state.spec.awake,
            "state_dir": str(where.root),
            "work_dir": str(where.work),
            "home_dir": str(where.home),
            "partition": "all",
        }

    def user_command(
        self, argv: Sequence[str], env: Mapping[str, str] = {}, folder: Path | None = None
    ) -> list[str]:
        """Command list that executes argv on the login host, in a folder (None: the home).

        It runs without any capability, in a clean environment to which `env` is added. It is killed
        when the thread that started it ends, so start it from a thread that outlives it.
        """
        return self._entered("login", argv, env, folder)

    def node_command(self, node: str, argv: Sequence[str]) -> list[str]:
        """Command list that executes argv in a node, on its cores."""
        faults.check_node(self._state, node)
        faults.require_power(self._state, node)
        cores = ",".join(map(str, self._state.cores[node]))
        return self._entered(node, ["taskset", "-c", cores, *argv], {}, None)

    def admin_command(self, argv: Sequence[str], host_name: str = "login") -> list[str]:
        """Command list that executes argv on the login host or in a node, with all rights there."""
        return [*namespaces.enter(self._state, host_name), *argv]

    def _entered(
        self, name: str, argv: Sequence[str], env: Mapping[str, str], folder: Path | None
    ) -> list[str]:
        state, where = self._state, self._folders
        path = f"{state.inside(where.programs)}:{host.SYSTEM_PATH}"
        environment = user_environment("assay", str(where.home), path)
        environment |= {"SLURM_CONF": state.slurm_conf, **env}
        words = [*namespaces.enter(state, name), *namespaces.to_user(state), *_ENDS_WITH_CALLER]
        given = ["env", "-i", "-C", str(folder or where.home)]
        given += [f"{key}={value}" for key, value in environment.items()]
        return [*_ENDS_WITH_CALLER, *words, *given, *argv]

    def show(self, wanted: Sequence[Path]) -> None:
        """Show folders of the machine to sessions and jobs, at their own paths, read-only.

        Raises AssayError for one that holds the cluster's own.
        """
        shown.show(self._state, wanted)

    def status(self) -> dict[str, Any]:
        """Facts of the site, the nodes with Slurm's state and power, the jobs not yet ended."""
        states = slurm.node_states(self._state)
        nodes = [
            {
                "name": node,
                "state": states.get(node, "unknown"),
                "power": faults.has_power(self._state, node),
                "cores": self._state.cores[node],
                "address": self._state.addresses[node],
            }
            for node in self._state.spec.node_names()
        ]
        jobs = [asdict(job) for job in slurm.jobs(self._state)]
        return {**self.site_facts(), "nodes": nodes, "jobs": jobs}

    def kill_node(self, node: str) -> None:
        """Cut the power of a node: its processes are killed at once, its link is down."""
        faults.cut_power(self.name, node)

    def restore_node(self, node: str) -> None:
        """Restore the power of a node; returns when Slurm can give it jobs again."""
        faults.restore_power(self.name, node)

    def degrade(
        self,
        node: str,
        cpu_share: float | None = None,
        link_share: float | None = None,
        disk_bytes_per_s: float | None = None,
    ) -> None:
        """Leave a node only these shares of its cores' time and of its link's rate, and this rate
        of the machine's disk to what bypasses caches."""
        faults.degrade(self.name, node, cpu_share, link_share, disk_bytes_per_s)

    def mend(self, node: str) -> None:
        """Undo `degrade`."""
        faults.mend(self.name, node)

    def down(self, progress: Progress = silent) -> None:
        """Take the cluster down; nothing of it is left."""
        lifecycle.take_down(self.name, progress)


def up(spec: ClusterSpec, progress: Progress = silent, site: Additions | None = None) -> Cluster:
    """Bring a cluster up; returns when every node takes jobs.

    Raises AssayError if it is up already, InfrastructureError if the machine cannot carry it.
    """
    return Cluster(lifecycle.bring_up(spec, progress, site))


def load(name: str = "default") -> Cluster:
    """The cluster of this name that is up; ClusterDownError with the remedy if there is none.

    Raises UnreachableError for one that no longer serves.
    """
    state = _state_of(name)
    if not lifecycle.is_alive(state):
        ended = lifecycle.describe_ended(lifecycle.dead_parts(state))
        raise UnreachableError(f"cluster {name}: {ended}; {lifecycle.remedy(state)}")
    return Cluster(state)


def planned(name: str = "default") -> Cluster:
    """The cluster that `up` would make of this name here; nothing can be asked but `site_facts`."""
    return Cluster(lifecycle.planned(ClusterSpec(name=name)))


def revive(name: str = "default", progress: Progress = silent) -> list[str]:
    """Start again what has ended of a cluster that was up; return what that was."""
    _state_of(name)  # refuses a cluster that never was up, or is dead
    return lifecycle.revive(name, progress)


def _state_of(name: str) -> State:
    """The state of a cluster that was brought up since the machine was started."""
    ClusterSpec(name=name)
    state = load_state(name)
    option = "" if name == "default" else f" --name {name}"
    if state is None or state.phase != "up":
        raise ClusterDownError(
            f"there is no cluster {name}; bring it up with `assay cluster up{option}`"
        )
    if not lifecycle.has_holder(state):
        raise ClusterDownError(
            f"cluster {name} is dead (all of it has ended, or the machine was started anew); "
            f"`assay cluster up{option}` removes its remains and brings up a new one"
        )
    return state


def down(name: str = "default", progress: Progress = silent) -> bool:
    """Take down a cluster, alive or not, or what is left of it; return whether there was any."""
    ClusterSpec(name=name)
    return lifecycle.take_down(name, progress)
