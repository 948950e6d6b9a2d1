# SPDX-License-Identifier: Apache-2.0
"""The text of the files Slurm and the nodes read: slurm.conf, cgroup.conf, topology.conf, hosts."""

from __future__ import annotations

from virtual_cluster import host
from virtual_cluster.spec import ONE, ClusterSpec
from virtual_cluster.state import State, folders

#: Text of cgroup.conf: a plugin that needs no control group to be mounted or writable.
CGROUP_CONF = "CgroupPlugin=cgroup/v1\n"
#: Settings of every Slurm cluster of namespaces, whose nodes share a machine: cores are given out,
#: nothing is bound.
COMMON_SETTINGS = """\
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
PropagateResourceLimits=NONE
JobAcctGatherType=jobacct_gather/none
JobRequeue=0
MailProg=/bin/true
KillWait=5
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket=/cluster/munge/socket
CredType=cred/munge
StateSaveLocation=/cluster/spool/slurmctld
SlurmctldPidFile=/cluster/spool/slurmctld.pid
SlurmctldLogFile=/cluster/log/slurmctld.log
# No control groups, so daemons of LAM and PVM outlive their step.
ProctrackType=proctrack/linuxproc
"""
_SETTINGS = """\
# Written by `assay cluster up`; goes away with `assay cluster down`.
ClusterName=assay-{name}
SlurmctldHost=login({login})
SlurmdSpoolDir=/cluster/node
SlurmdPidFile=/cluster/node/slurmd.pid
SlurmdLogFile=/cluster/node/slurmd.log
SlurmctldDebug=info
SlurmdDebug=info
JobCompType=jobcomp/none
AccountingStorageType=accounting_storage/none
# A launch that has ended stays visible for an hour.
MinJobAge=3600
MaxJobCount=200000
# Least delay for a serial stream of small jobs.
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0,sched_min_interval=1
# Ends what a job left behind; also makes Slurm schedule at once instead of at the next second.
Epilog=/cluster/bin/end-of-job
# Keeps the cores awake while a job runs.
Prolog=/cluster/bin/begin-of-job
CompleteWait=0
InactiveLimit=0
Waittime=0
# For daemons of a loaded machine; `kill-node` itself sets a node down.
SlurmdTimeout=60
SlurmctldTimeout=60
MessageTimeout=30
TCPTimeout=10
ReturnToService=2
TreeWidth=65533
"""
#: Users of the hosts of a plain cluster.
_USERS = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\n"
    "assay:x:1000:1000:Assay:{home}:/bin/bash\nnobody:x:65534:65534:nobody:/:/bin/false\n",
    "etc/group": "root:x:0:\nassay:x:1000:\nnogroup:x:65534:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}
#: The prolog that each node runs before a job, by `ClusterSpec.awake`. `latency`: cores sleep only
#: in states that take at most 3 µs to leave, as with the profile `latency-performance` of tuned; in
#: a virtual machine not at all, since to wake one takes 20 to 70 µs there, ten times a message. The
#: kernel grants this as long as a process holds the file open, which has a session of its own,
#: because slurmd ends all that is left of the prolog's group. `spinner`: what _SPIN has started
#: goes on.
_PROLOG = {
    "latency": r"""#!/bin/sh
PATH=/usr/sbin:/usr/bin:/sbin:/bin
setsid -w sh -c '(
exec 3>/dev/cpu_dma_latency
if grep -q "^flags.* hypervisor" /proc/cpuinfo; then most="\0\0\0\0"; else most="\003\0\0\0"; fi
printf "$most" >&3 && exec tail -f /dev/null
) >/dev/null 2>&1 &
echo "$!" >"$0"' /cluster/node/awake.$SLURM_JOB_ID </dev/null >/dev/null 2>&1
exit 0
""",
    "spinner": """#!/bin/sh
: >/cluster/node/awake.$SLURM_JOB_ID
kill -CONT $(cat /cluster/node/spinners)
exit 0
""",
    "nothing": "#!/bin/sh\n",
}
#: Starts a process on each core of a node that runs where no other wants to, and stops it until a
#: prolog lets it go on; checks/common/src/assay/usage.c knows it by its name. The scheduler takes
#: its session as a group, and would give it half of a core: the group must have the lowest priority
#: too, and of all users the kernel takes ten such wishes a second.
_SPIN = """\
#!/bin/sh
PATH=/usr/sbin:/usr/bin:/sbin:/bin
cd /cluster/node || exit
echo "$$" >spinners
until [ ! -e /proc/self/autogroup ] || echo 19 >/proc/self/autogroup; do sleep 0.1; done 2>/dev/null
spinners=
for part in $(sed -n "s/Cpus_allowed_list:.//p" /proc/self/status | tr , " "); do
    for core in $(seq "${part%-*}" "${part#*-}"); do
        chrt --idle 0 nice -n 19 taskset -c "$core" /cluster/bin/assay-spinner -c "while :; do :; done" &
        spinners="$spinners $!"
    done
done
until [ "$(pgrep -cx assay-spinner)" = "$(echo "$spinners" | wc -w)" ]; do sleep 0.01; done
kill -STOP $spinners
echo "$$$spinners" >spinners
! ls awake.* >/dev/null 2>&1 || kill -CONT $spinners
wait
"""  # noqa: E501
#: The epilog that each node runs after a job: nothing of the job is left. Slurm runs it when all
#: slurmstepds of the job have ended. Spared are slurmd, what keeps cores awake for other jobs, what
#: descends from a slurmstepd, which is another job's, and what entered the node from outside, so
#: that its chain of parents ends at 0: that of what has left its parents ends at 1. Daemons of LAM,
#: PVM and PRRTE have their keeper as parent.
_EPILOG = """\
#!/bin/sh
PATH=/usr/sbin:/usr/bin:/sbin:/bin
cd /cluster/node || exit 0
mine=awake.$SLURM_JOB_ID
[ ! -s "$mine" ] || kill -KILL "$(cat "$mine")"
rm -f "$mine"
awake=" $(cat awake.* spinners 2>/dev/null | tr '\\n' ' ') "
[ ! -f spinners ] || ls awake.* >/dev/null 2>&1 || kill -STOP $(cat spinners)
spared() {
    at=$1
    while [ "$at" -gt 1 ]; do
        case $awake in *" $at "*) return 0 ;; esac
        case $(readlink "/proc/$at/exe") in */sbin/slurmd* | */sbin/slurmstepd*) return 0 ;; esac
        parent=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$at/status" 2>/dev/null)
        # What has ended meanwhile left its child to another parent: from the child on again.
        if [ -n "$parent" ]; then at=$parent; else
            [ "$at" != "$1" ] || return 0
            at=$1
        fi
    done
    [ "$at" = 0 ]
}
for round in 1 2 3 4 5 6 7 8 9 10; do
    left=
    for process in /proc/[0-9]*; do
        pid=${process#/proc/}
        [ "$pid" != 1 ] && ! spared "$pid" || continue
        kill -KILL "$pid" 2>/dev/null && left=yes
    done
    [ -n "$left" ] || break
    sleep 0.02
done
# The folders of daemons, whose own keeper was ended before it could remove them.
rm -rf /tmp/assay-*-"$SLURM_JOB_ID"-*
exit 0
"""


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
        "bin/begin-of-job": _PROLOG[spec.awake],
        # Where nodes share processes, nothing distinguishes those of others from a job's.
        "bin/end-of-job": _EPILOG if spec.isolated else "#!/bin/sh\n",
    }
    if spec.switches != ONE:
        files["etc/topology.conf"] = topology_conf(spec)
    if spec.awake == "spinner":
        files["bin/spin"] = _SPIN
    home = folders(spec.name).home
    return files | {name: text.format(home=home) for name, text in _USERS.items()}


def slurm_conf(state: State) -> str:
    """Text of slurm.conf: settings, a line a node, the partition `all`.

    A lower node number has a lower weight, so it is chosen first.
    """
    spec, addresses = state.spec, state.addresses
    cpus, megabytes = spec.cpus(len(host.usable_cores())), state.memory_bytes_per_node >> 20
    lines = [
        _SETTINGS.format(name=spec.name, login=addresses["login"]),
        COMMON_SETTINGS.format(user="assay"),
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
