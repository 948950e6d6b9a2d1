# SPDX-License-Identifier: Apache-2.0
"""The interface of a virtual cluster: bring it up, load it, use it, take it down."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from records.errors import UnreachableError
from virtual_cluster import daemons, faults, host, lifecycle, namespaces
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
        """Facts that a site must know of the cluster, in SI units: the keys of command.ClusterForm
        but for `jobs`; `nodes` are names."""
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
        """Show folders of the machine to sessions and jobs, at their own paths, read-only.

        Raises AssayError for one that holds the cluster's own.
        """
        namespaces.show(self._state, wanted)

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

    def down(self, progress: Progress = silent) -> None:
        """Take the cluster down; nothing of it is left."""
        lifecycle.down(self.name, progress)


def up(spec: ClusterSpec, progress: Progress = silent, site: Additions | None = None) -> Cluster:
    """Bring a cluster up; returns when every node takes jobs.

    Raises AssayError if it is up already, InfrastructureError if the machine cannot carry it.
    """
    return Cluster(lifecycle.bring_up(spec, progress, site or Additions()))


def load(name: str = "default") -> Cluster:
    """The cluster of this name that is up; ClusterDownError with the remedy if there is none.

    Raises UnreachableError for one that no longer serves.
    """
    state = lifecycle.state_of(name)
    ended = lifecycle.dead_parts(state)
    if {"munged", "slurmctld"} & set(ended):
        raise UnreachableError(f"cluster {name}: {lifecycle.remedy(state, ended)}")
    return Cluster(state)


def planned(name: str = "default") -> Cluster:
    """The cluster that `up` would make of this name here; nothing can be asked but `site_facts`."""
    return Cluster(lifecycle.planned(ClusterSpec(name=name)))
