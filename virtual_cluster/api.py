# SPDX-License-Identifier: Apache-2.0
"""The interface of a virtual cluster: bring it up, load it, use it, take it down."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from records.errors import AssayError, ClusterDownError, UnreachableError
from virtual_cluster import (
    account,
    faults,
    host,
    lifecycle,
    network,
    node_view,
    processes,
    slurm,
    view,
)
from virtual_cluster.lifecycle import Progress, silent
from virtual_cluster.spec import ClusterSpec
from virtual_cluster.state import State, folders, load_state


class Cluster:
    """A cluster that is up. All methods but `site_facts` and the commands need root."""

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
        --switches` takes it), isolated, slurm_conf, state_dir, runs_dir (of root), work_dir (of the
        user), home_dir, user, uid, gid, login_namespace (path), partition.
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
            "slurm_conf": str(where.slurm_conf),
            "state_dir": str(where.root),
            "runs_dir": str(where.runs),
            "work_dir": str(where.work),
            "home_dir": str(where.home),
            "user": state.spec.user_name,
            "uid": state.uid,
            "gid": state.gid,
            "login_namespace": str(network.namespace_file(self.name)),
            "partition": "all",
        }

    def user_command(
        self,
        argv: Sequence[str],
        env: Mapping[str, str] | None = None,
        reads: Sequence[Path] = (),
    ) -> list[str]:
        """Command list which, run by root, executes argv in the login environment.

        It runs as the ordinary user, with no capability and a clean environment, to which `env` is
        added, in the caller's working folder. It is killed when the thread that started it ends,
        so start it from a thread that outlives it. The folders `reads` are there for the command
        (not for jobs, which slurmd starts) also where they lie below private ones, read-only.
        Raises InfrastructureError when the user may not read what is in them.
        """
        shown = view.command(reads, self._state.uid, self._state.gid, self._folders.view)
        return [*self._state.enter_login(), *shown, *self._as_user(argv, env)]

    def admin_command(self, argv: Sequence[str]) -> list[str]:
        """Command list which, run by root, executes argv as root in the login environment."""
        return [*self._state.enter_login(), *argv]

    def users(self) -> dict[str, Path]:
        """Home of each ordinary user of a site."""
        return {user: self._folders.home / user for user in self._state.users if user}

    def login_command(self, user: str, argv: Sequence[str]) -> list[str]:
        """Command list that root runs as a site's `user`, in a login shell of the login host."""
        if user not in self.users():
            raise AssayError(f"cluster {self.name} has no user {user!r}: {list(self.users())}")
        name, home = self._state.spec.accounts()[user], self.users()[user]
        environment = account.user_environment(name, home, "/usr/local/bin:/usr/bin:/bin")
        shell = ["bash", "-l", "-c", 'cd && exec "$@"', "bash", *argv]
        return self.admin_command(account.as_user(shell, *self._state.users[user], environment))

    def show(self, folders: Sequence[Path]) -> None:
        """Show folders of the machine to jobs, at their own paths, read-only.

        Nodes see those that lie neither below /tmp nor below private folders anyhow. Raises
        AssayError for one that another user could exchange, InfrastructureError where something is
        in the way.
        """

        def first_process(state: State, node: str) -> int | None:
            return faults.first_process(state, node) if faults.has_power(state, node) else None

        node_view.show(self._state, folders, first_process)

    def node_command(self, node: str, argv: Sequence[str]) -> list[str]:
        """Command list which, run by root, executes argv inside a node as the ordinary user."""
        faults.check_node(self._state, node)
        first = faults.first_process(self._state, node)
        spaces = ["--net", "--uts", "--mount"]
        if self._state.spec.isolated:
            spaces += ["--ipc", "--pid"]
        cores = ",".join(map(str, self._state.cores[node]))
        enter = ["nsenter", f"--target={first}", *spaces, f"--wd={self._folders.home}", "--"]
        return [*enter, "taskset", "-c", cores, *self._as_user(argv, None)]

    def _as_user(self, argv: Sequence[str], env: Mapping[str, str] | None) -> list[str]:
        state, where = self._state, self._folders
        path = f"{where.programs}:{host.SYSTEM_PATH}"
        environment = account.user_environment(state.spec.user_name, where.home, path)
        environment |= {"SLURM_CONF": str(where.slurm_conf), **(env or {})}
        return account.as_user(argv, state.uid, state.gid, environment)

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


def up(spec: ClusterSpec, progress: Progress = silent) -> Cluster:
    """Bring a cluster up; returns when every node takes jobs.

    Raises AssayError if it is up already, InfrastructureError if the machine cannot carry it.
    """
    return Cluster(lifecycle.bring_up(spec, progress))


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
    if not any(process.alive() for process in state.processes.values()):
        raise ClusterDownError(
            f"cluster {name} is dead (all of it has ended, or the machine was started anew); "
            f"`assay cluster up{option}` removes its remains and brings up a new one"
        )
    for host_name in ("login", *state.spec.node_names()):
        if not os.path.ismount(file := network.namespace_file(name, host_name)):
            raise UnreachableError(
                f"cluster {name}: the network namespace of {host_name} is gone ({file}); take the"
                f" cluster down with `assay cluster down{option}`, then bring up a new one"
            )
    return state


def down(name: str = "default", progress: Progress = silent) -> bool:
    """Take down a cluster, alive or not, or what is left of it; return whether there was any."""
    ClusterSpec(name=name)
    return lifecycle.take_down(name, progress)


def processes_of(name: str) -> list[int]:
    """Ids of all processes that live in the cluster's namespaces."""
    return [process.pid for process in processes.inside_network(network.namespaces_of(name))]
