# SPDX-License-Identifier: Apache-2.0
"""The text of the files Slurm and the nodes read: slurm.conf, cgroup.conf, topology.conf, hosts."""

from __future__ import annotations

from pathlib import Path

from virtual_cluster import host
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


def common_settings(user: str) -> str:
    """The settings of every Slurm cluster of namespaces, whose daemons are this user's."""
    return _text("common.conf").format(user=user)


def cluster_files(state: State) -> dict[str, str]:
    """Text of all files that hosts and users of a cluster read, by path below its folder."""
    spec = state.spec
    hosts = {"localhost": "127.0.0.1", spec.login_host: state.addresses["login"]}
    hosts |= {node: state.addresses[node] for node in spec.node_names()}
    files = {
        "etc/cgroup.conf": CGROUP_CONF,
        "etc/hosts": "".join(f"{address} {name}\n" for name, address in hosts.items()),
        "etc/slurm.conf": slurm_conf(state),
        "bin/sbatch": sbatch_script(host.program("sbatch"), spec.node_names()[-1]),
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
