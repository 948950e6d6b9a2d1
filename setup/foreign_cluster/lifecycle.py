# SPDX-License-Identifier: Apache-2.0
"""Brings a foreign cluster up and takes it down."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from stat import S_IFCHR

from records.errors import AssayError, InfrastructureError
from setup.foreign_cluster import accounting, texts
from setup.foreign_cluster.spec import ForeignSpec, cores_of
from setup.foreign_cluster.state import ROOT, State, load_state
from virtual_cluster import account, host, network, processes
from virtual_cluster import spec as plans
from virtual_cluster.daemons import failure, node_command
from virtual_cluster.slurm_conf import cgroup_conf

#: Program → the Debian package that brings it, besides those of a virtual cluster.
PROGRAMS = {
    "slurmdbd": "slurmdbd",
    "mariadbd": "mariadb-server-core",
    "mariadb-install-db": "mariadb-server-core",
    "mariadb": "mariadb-client-core",
    "mpicc.mpich": "libmpich-dev",
    "mpicc.openmpi": "libopenmpi-dev",
}
LMOD = Path("/usr/share/lmod/lmod/init/bash")
PATIENCE_S = 120.0
_FOLDERS = (
    *("etc", "log", "spool", "munge", "home"),
    *("hidden", "system", "modules", "opt", "devices"),
)
#: Files that stand for generic resources of a kind: devices such as /dev/null.
GRES_MOST, NULL = 16, os.makedev(1, 3)
_LOGIN = """\
set -e
hostname "$1"
mount --bind "$2" /etc/hosts
mount -t sysfs -o nosuid,nodev,noexec sysfs /sys
sh -e "$3"
exec sleep infinity
"""


def missing() -> list[str]:
    """Debian packages that are not installed."""
    programs = PROGRAMS | host.PROGRAMS
    found = {
        package for name, package in programs.items() if not Path(host.program(name)).is_file()
    }
    return sorted(found | (set() if LMOD.exists() else {"lmod"}))


def bring_up(spec: ForeignSpec, say: Callable[[str], None]) -> State:
    """Make the cluster; on any failure what was made is taken down."""
    host.require_rights("up")
    if packages := missing():
        raise InfrastructureError(
            "a foreign cluster needs packages that are missing: apt-get install -y"
            f" --no-install-recommends {' '.join(packages)}"
        )
    if (ROOT / spec.name).exists():
        raise AssayError(f"foreign cluster {spec.name} exists; run: foreign-cluster down")
    cluster = spec.cluster()
    taken = [one for one in _namespaces(spec) if network.namespace_file(one).exists()]
    if taken:
        raise AssayError(f"network namespaces {taken} exist; choose another --name")
    state = State(
        spec,
        host.boot_id(),
        not network.namespace_folder_exists(),
        plans.address_plan(cluster.node_names()),
        _cores(spec),
    )
    try:
        _build(state, say)
    except BaseException:
        say("failed, taking down what was made")
        take_down(spec.name)
        raise
    return state


def _namespaces(spec: ForeignSpec) -> list[str]:
    nodes = spec.cluster().node_names()
    return [plans.login_namespace(spec.name), *(plans.node_namespace(spec.name, n) for n in nodes)]


def _cores(spec: ForeignSpec) -> dict[str, list[int]]:
    """The machine's cores that each node is pinned to, dealt in turn."""
    usable, dealt, found = host.usable_cores(), 0, {}
    for line in spec.node_lines():
        for name in spec.names_of(line):
            count = cores_of(line)
            found[name] = sorted({usable[(dealt + i) % len(usable)] for i in range(count)})
            dealt += count
    return found


def _build(state: State, say: Callable[[str], None]) -> None:
    spec = state.spec
    _write_files(state)
    for user in spec.users:
        home = state.home(user)
        home.mkdir(parents=True, mode=0o700)
        state.users[user] = account.make_account(spec.account_of(user), home)
        os.chown(home, *state.users[user])
        state.save()
    state.namespaces = _namespaces(spec)
    state.save()
    network.make_network(spec.cluster(), state.addresses)
    _start_login(state)
    say(f"foreign cluster {spec.name}: munged, MariaDB, slurmdbd, accounts")
    munge = state.root / "munge"
    (munge / "key").touch(mode=0o600)
    (munge / "key").write_bytes(secrets.token_bytes(128))
    argv = ["munged", "--foreground", f"--key-file={munge / 'key'}", f"--socket={munge / 'socket'}"]
    argv += [f"--pid-file={munge / 'pid'}", f"--seed-file={munge / 'seed'}"]
    start(state, "munged", argv, (munge / "socket").is_socket)
    accounting.start(state, start)
    say(f"foreign cluster {spec.name}: slurmctld, slurmd on {len(state.cores)} nodes")
    up = "is UP"
    start(state, "slurmctld", ["slurmctld", "-D"], lambda: up in _ping(state))
    for node in state.cores:
        start_node(state, node)
    _wait_for_nodes(state)
    if spec.maintenance:
        maintenance(state, spec.maintenance, "120", "yearly_service")


def _ping(state: State) -> str:
    return state.admin("scontrol", "ping", check=False)


def _write_files(state: State) -> None:
    spec, root = state.spec, state.root
    root.mkdir(parents=True, mode=0o755)
    state.save()
    for name in _FOLDERS:
        (root / name).mkdir(mode=0o755)
    for node in state.cores:
        (root / "spool" / node).mkdir()
    files = {
        "etc/slurm.conf": texts.slurm_conf(spec, root, state.addresses),
        "etc/gres.conf": texts.gres_conf(spec, root / "devices"),
        "etc/topology.conf": texts.topology_conf(spec),
        "etc/cgroup.conf": cgroup_conf(),
        "hosts": texts.hosts_file(state.addresses),
        "modulespath": f"{root / 'modules'}\n",
        "dress.sh": texts.dress_script(root),
    }
    for name, text in files.items():
        (root / name).write_text(text)
    for kind in texts.gres_kinds(spec):
        for number in range(GRES_MOST):
            os.mknod(root / "devices" / f"{kind}{number}", 0o666 | S_IFCHR, NULL)
    programs = sorted(entry.name for entry in Path("/usr/bin").iterdir())
    for name in filter(texts.is_hidden, programs):
        os.mknod(root / "hidden" / name, 0o600 | S_IFCHR, 0)  # a whiteout of overlayfs
    for module in spec.modules:
        name, _, family = module.rpartition("=")
        folder, file = root / "opt" / name, root / "modules" / f"{name}.lua"
        (folder / "bin").mkdir(parents=True)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(texts.module_file(name, family, folder))
        for link, target in texts.module_programs(family, programs).items():
            (folder / "bin" / link).symlink_to(root / "system" / target)


def _start_login(state: State) -> None:
    """Start the process that holds the namespaces of the login host."""
    root = state.root
    login = network.namespace_file(plans.login_namespace(state.spec.name))
    argv = ["nsenter", f"--net={login}", "unshare", "--uts", "--mount", "--propagation", "private"]
    argv += ["sh", "-c", _LOGIN, "sh", texts.LOGIN, str(root / "hosts"), str(root / "dress.sh")]
    log = root / "log" / "login.console"
    process = processes.start(argv, log, lambda found: state.record("login", found))
    dressed = Path(f"/proc/{process.pid}/root/etc/slurm/slurm.conf")
    _wait(dressed.exists, process, "the login host", log)


def start(state: State, name: str, argv: list[str], ready: Callable[[], bool]) -> None:
    """Start a daemon on the login host; returns when it is ready."""
    log = state.root / "log" / f"{name}.console"
    process = processes.start(state.inside(argv), log, lambda found: state.record(name, found))
    _wait(ready, process, name, log)


def start_node(state: State, node: str) -> None:
    """Start a node."""
    argv = node_command(
        network.node_file(state.spec.name, node),
        node,
        state.cores[node],
        state.root / "hosts",
        Path("/etc/slurm/slurm.conf"),
        dress=state.root / "dress.sh",
    )
    log = state.root / "log" / f"{node}.console"
    processes.start(argv, log, lambda process: state.record(node, process))


def _wait(ready: Callable[[], bool], process: processes.Process, name: str, log: Path) -> None:
    for _ in host.tries(PATIENCE_S, 0.1):
        if ready():
            return
        if not process.alive():
            raise failure(f"{name} ended at once", log)
    raise failure(f"{name} does not answer after {PATIENCE_S:.0f} s", log)


def _wait_for_nodes(state: State) -> None:
    states = ""
    for _ in host.tries(PATIENCE_S, 0.2):
        states = state.admin("sinfo", "--noheader", "--Node", "--format=%N %T", check=False)
        if len(set(states.split("\n")) - {""}) >= len(state.cores) and not any(
            line.split()[1] != "idle" for line in states.splitlines()
        ):
            return
    log = state.root / "log" / "slurmctld.log"
    raise failure(f"nodes do not become idle ({' '.join(states.split())})", log)


def maintenance(state: State, begin: str, minutes: str, name: str) -> None:
    """Reserve all nodes for maintenance."""
    words = [f"ReservationName={name}", f"StartTime={begin}", f"Duration={minutes}"]
    words += ["Users=root", "Nodes=ALL", "Flags=MAINT,IGNORE_JOBS"]
    state.admin("scontrol", "create", "reservation", *words)


def take_down(name: str) -> bool:
    """Remove all of the cluster; return whether there was any. Raises when something stays."""
    host.require_rights("down")
    try:
        state = load_state(name)
    except AssayError:
        return False
    stubborn = []
    if state.boot_id == host.boot_id():
        files = [network.namespace_file(namespace) for namespace in state.namespaces]
        stubborn = processes.end(state.processes.values())
        stubborn += processes.end_all_inside(files, processes.ancestors())
    for namespace in state.namespaces:
        network.remove_namespace(namespace)
    if state.made_netns:
        network.drop_namespace_folder()
    for user in state.users:
        account.remove_account(state.spec.account_of(user))
    subprocess.run(["rm", "-rf", "--one-file-system", "--", str(state.root)], check=False)
    with suppress(OSError):
        ROOT.rmdir()
    left = [f"process {process.pid}" for process in stubborn]
    left += [str(state.root)] if state.root.exists() else []
    if left:
        raise InfrastructureError(f"foreign cluster {name}: not removed: {', '.join(left)}")
    return True


def is_possible() -> str:
    """Why a foreign cluster cannot be made here; empty when it can."""
    if os.geteuid() != 0 or host.missing_capabilities():
        return "it needs root"
    packages = missing()
    if packages and shutil.which("apt-get") is None:
        return f"packages are missing: {' '.join(packages)}"
    return ""
