# SPDX-License-Identifier: Apache-2.0
"""The daemons of a cluster: munged and slurmctld on the login host, slurmd in each node; the text
of the files that they read; queries and orders to its Slurm, whose user may give them."""

import re
import secrets
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

from records.waiting import DAEMON_S, NODE_S, NODES_S, scaled
from virtual_cluster import host, namespaces
from virtual_cluster.host import failure, run, start, tries
from virtual_cluster.session_python import python_words
from virtual_cluster.spec import ONE, ClusterSpec
from virtual_cluster.state import State, folders

#: Text of cgroup.conf: a plugin that needs no control group to be mounted or writable.
CGROUP_CONF = "CgroupPlugin=cgroup/v1\n"
#: A script of nothing.
_NOTHING = "#!/bin/sh\n"
_HERE = Path(__file__).resolve().parent
#: Users of the hosts of a plain cluster.
_USERS = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\n"
    "assay:x:1000:1000:Assay:{home}:/bin/bash\nnobody:x:65534:65534:nobody:/:/bin/false\n",
    "etc/group": "root:x:0:\nassay:x:1000:\nnogroup:x:65534:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}


def _text(name: str) -> str:
    return (_HERE / name).read_text()


#: States of nodes that take jobs, now or when those that they have are done.
_TAKES_JOBS = ("idle", "mixed", "allocated", "completing")


def ask(state: State, *argv: str, check: bool = True) -> str:
    """Output of a Slurm command; InfrastructureError if it fails (and `check`)."""
    enter = [*namespaces.enter(state, "login"), *namespaces.to_user(state)]
    return run([*enter, *argv], check=check).stdout


def node_states(state: State, check: bool = True) -> dict[str, str]:
    """Slurm's state of each node, in small letters: idle, allocated, mixed, down*, …

    InfrastructureError, or none without `check`, when slurmctld does not answer in time.
    """
    words = ["sinfo", "--noheader", "--Node", "--format=%N|%T"]
    lines = ask(state, *words, check=check).splitlines()
    return dict(line.split("|", 1) for line in lines if "|" in line)


def jobs(state: State) -> list[dict[str, str]]:
    """Jobs that have not ended, as squeue shows them."""
    keys = ("job_id", "state", "nodes", "name")
    lines = ask(state, "squeue", "--noheader", "--format=%i|%T|%N|%j").splitlines()
    shown = (line.split("|", 3) for line in lines if line.count("|") >= 3)
    return [dict(zip(keys, values, strict=True)) for values in shown]


def set_node(state: State, node: str, target: str, reason: str = "", *, check: bool = True) -> None:
    """Set the state of a node (DOWN, RESUME)."""
    argv = ["scontrol", "update", f"NodeName={node}", f"State={target}"]
    ask(state, *argv, *([f"Reason={reason}"] if reason else []), check=check)


def wait_for_nodes(
    state: State, nodes: list[str], drained: Callable[[str, str], None] = lambda *_: None
) -> None:
    """Wait until these nodes can take jobs; InfrastructureError that names the one which cannot.

    `drained` is called with a node that is drained when it is looked at, and with its state.
    """
    console = folders(state.spec.name).console
    waiting = set(nodes)
    for _ in tries(scaled(NODES_S + NODE_S * len(nodes)), 0.05):
        states = node_states(state, check=False)
        waiting = {node for node in waiting if states.get(node) not in _TAKES_JOBS}
        if not waiting:
            return
        for node in sorted(waiting):
            if not state.runs(node):
                raise failure(f"node {node} ended at once", console(node))
            if (condition := states.get(node, "")).startswith("drain"):
                drained(node, condition)
    node = min(waiting)
    raise failure(f"node {node} is {states.get(node, 'unknown')}, not idle", console(node))


#: Process 1 of a node.
_NODE = re.sub("^#.*\n", "", _text("node.sh"), flags=re.MULTILINE)


def start_munge(state: State) -> None:
    """Start munged, the first time with a fresh key; returns when its socket is there."""
    where = folders(state.spec.name)
    key, inside = where.munge / "key", "/cluster/munge"
    if not key.exists():
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(128))
    (where.munge / "socket").unlink(missing_ok=True)
    argv = ["munged", "--foreground", f"--key-file={inside}/key", f"--socket={inside}/socket"]
    argv += [f"--pid-file={inside}/pid", f"--seed-file={inside}/seed", "--num-threads=4"]
    start_daemon(state, "munged", ["munge", "log"], argv, (where.munge / "socket").is_socket)


def start_controller(state: State) -> None:
    """Start slurmctld; returns when it answers a ping."""

    def answers() -> bool:
        return "is UP" in ask(state, "scontrol", "ping", check=False)

    start_daemon(state, "slurmctld", ["spool", "log"], ["slurmctld", "-D"], answers)


def start_daemon(
    state: State, name: str, own: Sequence[str], argv: Sequence[str], ready: Callable[[], bool]
) -> None:
    """Start a daemon of the login host, of this very command list, which writes to folders `own` of
    the cluster; returns when `ready`."""
    log = folders(state.spec.name).console(name)
    start_beside(state, name, namespaces.daemon(state, own, argv))
    seconds = scaled(DAEMON_S)
    for _ in tries(seconds, 0.02):
        if ready():
            return
        if not state.runs(name):
            raise failure(f"{name} ended at once", log)
    raise failure(f"{name} does not answer after {seconds:.0f} s", log)


def start_node(state: State, node: str) -> None:
    """Start a node: its namespaces, its own /tmp and /dev/shm, its cores, slurmd inside."""
    first = ["sh", "-c", _NODE, "sh", node, *namespaces.to_user(state)]
    start_beside(state, node, namespaces.node(state, node, first))


def start_beside(state: State, name: str, words: Sequence[str]) -> None:
    """Start a process of the administrator, or process 1 of a host, that ends with the cluster."""
    log = folders(state.spec.name).console(name)
    enter = namespaces.enter(state, "holder")
    start(enter, words, log, lambda one: state.record(name, one))


def common_settings(user: str) -> str:
    """The settings of every Slurm cluster of namespaces, whose daemons are this user's."""
    return _text("common.conf").format(user=user)


def cluster_files(state: State) -> dict[str, str]:
    """Text of all files that hosts and users of a cluster read, by path below its folder."""
    spec = state.spec
    hosts = {"localhost": "127.0.0.1", spec.login_host: state.addresses["login"]}
    hosts |= {node: state.addresses[node] for node in spec.node_names()}
    own = shlex.join(python_words(state.python_packages, "assay.entry"))
    files = {
        "bin/assay": f'{_NOTHING}exec {own} "$@"\n',
        "etc/cgroup.conf": CGROUP_CONF,
        "etc/hosts": "".join(f"{address} {name}\n" for name, address in hosts.items()),
        "etc/slurm.conf": slurm_conf(state),
        "bin/sbatch": sbatch_script(host.program("sbatch", state.tree), spec.node_names()[-1]),
        "bin/begin-of-job": _text(f"awake-{spec.awake}.sh"),
        # Where nodes share processes, nothing distinguishes those of others from a job's.
        "bin/end-of-job": _text("end-of-job.sh") if spec.isolated else _NOTHING,
    }
    if spec.switches != ONE:
        files["etc/topology.conf"] = topology_conf(spec)
    if spec.awake == "spinner":
        files["bin/spin"] = _text("spin.sh")
    home = folders(spec.name).home
    return files | {name: text.format(home=home) for name, text in _USERS.items()}


def slurm_conf(state: State) -> str:
    """Text of slurm.conf: settings, a line a node, the partition `all`.

    A lower node number has a lower weight, so it is chosen first.
    """
    spec, addresses = state.spec, state.addresses
    cpus, megabytes = spec.cpus(len(host.usable_cores())), state.memory_bytes_per_node >> 20
    lines = [
        _text("slurm.conf").format(name=spec.name, login=addresses["login"]),
        common_settings("assay"),
    ]
    if spec.switches != ONE:
        lines.append("TopologyPlugin=topology/tree\n")
    lines += [
        f"NodeName={node} NodeHostname={node} NodeAddr={addresses[node]} CPUs={cpus} "
        f"Boards=1 SocketsPerBoard=1 CoresPerSocket={cpus} ThreadsPerCore=1 "
        f"RealMemory={megabytes} Weight={weight} State=UNKNOWN\n"
        for weight, node in enumerate(spec.node_names(), start=1)
    ]
    lines.append(
        "PartitionName=all Nodes=ALL Default=YES OverSubscribe=NO MaxTime=UNLIMITED State=UP\n"
    )
    return "".join(lines)


def topology_conf(spec: ClusterSpec) -> str:
    """Text of topology.conf: the tree of switches."""
    return "".join(
        f"SwitchName={switch.name} Nodes={','.join(switch.nodes)}\n"
        if switch.nodes
        else f"SwitchName={switch.name} Switches={','.join(switch.below)}\n"
        for switch in spec.switch_tree()
    )


def sbatch_script(sbatch: str, last_node: str) -> str:
    """Text of the sbatch that comes first in the ordinary user's PATH, before Slurm's `sbatch`.

    Slurm starts batch jobs only at the next full second, or when another job ends. So a job
    that does nothing is run behind each submission; the lower priority of the submitted one
    lets it pass. It takes the last node, so that a job of few nodes still gets the first ones,
    which share no cores. It gives up where that is not free: then the next second will do. It has
    a limit, for when slurmctld dies before it learns of its end: the node would be held for ever.
    """
    return f"""\
#!/bin/sh
{sbatch} --nice=1000000 "$@" || exit
case " $* " in *" --test-only "*) exit 0 ;; esac
salloc --quiet --immediate=1 --time=1 --job-name=kick --nodelist={last_node} --ntasks=1 true \\
    </dev/null >/dev/null 2>&1
exit 0
"""
