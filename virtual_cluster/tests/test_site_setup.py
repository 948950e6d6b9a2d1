# SPDX-License-Identifier: Apache-2.0
"""A cluster that looks like a certain site: its hosts, users, files, daemons, and what is left."""

import os
import subprocess

import pytest

import virtual_cluster
from records.errors import AssayError
from virtual_cluster import Cluster, host
from virtual_cluster.slurm_conf import COMMON_SETTINGS
from virtual_cluster.spec import ClusterSpec, LoginDaemon, SiteSetup, address_plan
from virtual_cluster.state import folders
from virtual_cluster.tests.clusters import NEEDS_CLUSTER, traces, wait_for

pytestmark = NEEDS_CLUSTER
_CONF = """\
ClusterName=other
SlurmctldHost=front({address})
SlurmdSpoolDir={root}/nodes/%n/spool
SlurmdPidFile={root}/nodes/%n/slurmd.pid
ReturnToService=2
NodeName=a1 CPUs=1 RealMemory=100
NodeName=b1 CPUs=2 RealMemory=100
PartitionName=work Nodes=ALL Default=YES
"""


def site_of(name: str) -> ClusterSpec:
    root, address = folders(name).root, address_plan(["a1", "b1"])["login"]
    conf = COMMON_SETTINGS.format(state=root) + _CONF.format(root=root, address=address)
    setup = SiteSetup(
        cores={"a1": 1, "b1": 2},
        users=("kim", "lee"),
        files={"etc/slurm.conf": conf, "etc/motd": "welcome\n", "etc/pass": "word={secret}\n"},
        login="front",
        links={"opt/tool": "/bin/true"},
        devices={"hidden/shuf": 0, "devices/gpu0": os.makedev(1, 3)},
        mounts=f"mount --bind {root}/etc /etc/slurm\n"
        f"mount -t overlay -o ro,lowerdir={root}/hidden:/usr/bin overlay /usr/bin\n",
        daemons=(
            LoginDaemon(
                "helper",
                ("sh", "-c", f"hostname >{root}/log/helper; exec sleep 1000"),
                ready=("test", "-s", f"{root}/log/helper"),
                before=(("touch", f"{root}/log/before"),),
                after=(("sh", "-c", f"ls {root}/log/before; echo {{secret}} >{root}/log/after"),),
            ),
        ),
        commands=(("scontrol", "update", "NodeName=a1", "State=DRAIN", "Reason=fan"),),
    )
    return ClusterSpec(name, nodes=2, site=setup)


def of_user(cluster: Cluster, user: str, *argv: str) -> str:
    command = cluster.login_command(user, argv)
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def test_users_and_administrators_find_the_site_and_down_leaves_nothing(name: str) -> None:
    cluster = virtual_cluster.up(site_of(name))
    root = folders(name).root
    assert of_user(cluster, "kim", "sh", "-c", "hostname; id -un; pwd").split() == [
        *("front", f"assay-{name}-kim", f"{root}/home/kim")
    ]
    assert of_user(cluster, "lee", "srun", "-wb1", "sh", "-c", "hostname; nproc") == "b1\n2"
    assert of_user(cluster, "lee", "cat", "/etc/slurm/motd", f"{root}/home/kim/x") == "welcome"
    assert of_user(cluster, "lee", "cat", "/etc/slurm/pass") == ""
    assert of_user(cluster, "lee", "sh", "-c", "command -v shuf || echo none") == "none"
    used = f"{root}/opt/tool && cat {root}/devices/gpu0 && echo empty"
    assert of_user(cluster, "kim", "sh", "-c", used) == "empty"
    secret = (root / "etc" / "pass").read_text().strip().removeprefix("word=")
    assert (root / "log" / "helper").read_text() == "front\n"
    assert (root / "log" / "after").read_text().strip() == secret != "{secret}"
    sinfo = cluster.admin_command(["sinfo", "-hNo", "%N %T"])
    wait_for(lambda: host.run(sinfo).stdout.split() == ["a1", "drained", "b1", "idle"])
    with pytest.raises(AssayError, match=r"has no user 'ada': \['kim', 'lee'\]"):
        cluster.login_command("ada", ["true"])
    cluster.kill_node("b1")
    cluster.restore_node("b1")
    assert virtual_cluster.down(name)
    assert traces(name) == {}


def test_a_further_daemon_that_ends_is_named_and_nothing_is_left(name: str) -> None:
    spec = site_of(name)
    assert spec.site is not None
    broken = LoginDaemon("helper", ("sh", "-c", "echo no data base; exit 1"), ready=("false",))
    site = SiteSetup(**{**vars(spec.site), "daemons": (broken,)})
    with pytest.raises(AssayError, match=r"helper ended at once.*helper.console:\n  no data base"):
        virtual_cluster.up(ClusterSpec(name, nodes=2, site=site))
    assert traces(name) == {}
