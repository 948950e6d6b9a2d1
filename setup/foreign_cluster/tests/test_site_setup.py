# SPDX-License-Identifier: Apache-2.0
"""A cluster that looks like a certain site: its hosts, users, files, daemons, and what is left."""

import os
import subprocess
from dataclasses import replace
from unittest.mock import Mock

import pytest

from checks.common.tests.program_runs import ran
from records.errors import AssayError
from setup.foreign_cluster.tests import site_setup
from setup.foreign_cluster.tests.site_setup import LoginDaemon, SiteSetup, login_command, up
from setup.foreign_cluster.tests.walk import walk_on
from virtual_cluster import api, host, namespaces
from virtual_cluster.api import Cluster
from virtual_cluster.daemons import common_settings
from virtual_cluster.spec import address_plan
from virtual_cluster.state import folders
from virtual_cluster.tests.clusters import traces, wait_for
from virtual_cluster.tests.conftest import name

__all__ = ["name"]
REASON = ", ".join(host.missing_programs()) or namespaces.refusal(site=True)
pytestmark = [pytest.mark.cluster, pytest.mark.skipif(bool(REASON), reason=REASON)]
_CONF = """\
ClusterName=other
SlurmctldHost=front({address})
SlurmdSpoolDir=/cluster/nodes/%n/spool
SlurmdPidFile=/cluster/nodes/%n/slurmd.pid
ReturnToService=2
NodeName=a1 CPUs=1 RealMemory=100
NodeName=b1 CPUs=2 RealMemory=100
PartitionName=work Nodes=ALL Default=YES
"""


@pytest.fixture
def site() -> SiteSetup:
    """A site of two users with a further daemon."""
    address = address_plan(["a1", "b1"])["login"]
    conf = common_settings("root") + _CONF.format(address=address)
    return SiteSetup(
        cores={"a1": 1, "b1": 2},
        users=("kim", "lee"),
        files={"etc/slurm.conf": conf, "etc/motd": "welcome\n", "etc/pass": "word={secret}\n"},
        login="front",
        links={"opt/tool": "/bin/true"},
        devices={"hidden/shuf": 0, "devices/gpu0": os.makedev(1, 3)},
        mounts="mount -t overlay -o ro,lowerdir=$root/hidden:/usr/bin overlay usr/bin\n",
        daemons=(
            LoginDaemon(
                "helper",
                ("sh", "-c", "hostname >/cluster/log/helper; exec sleep 1000"),
                ready=("test", "-s", "/cluster/log/helper"),
                before=(("touch", "/cluster/log/before"),),
                after=(("sh", "-c", "ls /cluster/log/before; echo {secret} >/cluster/log/after"),),
            ),
        ),
        commands=(("scontrol", "update", "NodeName=a1", "State=DRAIN", "Reason=fan"),),
    )


def of_user(cluster: Cluster, user: str, *argv: str) -> str:
    return ran(login_command(cluster, user, argv), check=False).stdout.strip()


def test_users_and_administrators_find_the_site_and_down_leaves_nothing(name, site):
    cluster = up(name, site)
    root = folders(name).root
    assert of_user(cluster, "kim", "sh", "-c", "hostname; id -un; pwd").split() == [
        *("front", "kim", "/home/kim")
    ]
    assert of_user(cluster, "lee", "srun", "-wb1", "sh", "-c", "hostname; nproc") == "b1\n2"
    assert of_user(cluster, "lee", "cat", "/etc/slurm/motd", "/home/kim/x") == "welcome"
    assert of_user(cluster, "lee", "cat", "/etc/slurm/pass") == ""
    assert of_user(cluster, "lee", "sh", "-c", "command -v shuf || echo none") == "none"
    used = "/cluster/opt/tool && cat /cluster/devices/gpu0 && echo empty"
    assert of_user(cluster, "kim", "sh", "-c", used) == "empty"
    secret = (root / "etc" / "pass").read_text().strip().removeprefix("word=")
    assert (root / "log" / "helper").read_text() == "front\n"
    assert (root / "log" / "after").read_text().strip() == secret != "{secret}"
    sinfo = cluster.admin_command(["sinfo", "-hNo", "%N %T"])
    wait_for(lambda: host.run(sinfo).stdout.split() == ["a1", "drained", "b1", "idle"])
    begun = subprocess.Popen(login_command(cluster, "kim", ["sh", "-c", ">begun; exec sleep 1000"]))
    wait_for((root / "home/kim/begun").exists)
    begun.kill()
    begun.wait()
    wait_for(lambda: of_user(cluster, "lee", "pgrep", "-u", "kim") == "")
    with pytest.raises(AssayError, match=r"has no user 'ada': \['kim', 'lee'\]"):
        login_command(cluster, "ada", ["true"])
    cluster.kill_node("b1")
    cluster.restore_node("b1")
    assert api.down(name)
    assert traces(name) == {}


def test_a_slurmdbd_that_refuses_its_data_base_is_not_to_be_had_here(name, site, monkeypatch):
    said = "echo slurmdbd: fatal: _check_mysql_concat_is_sane: null result from query; exit 1"
    broken = replace(site, daemons=(LoginDaemon("slurmdbd", ("sh", "-c", said), ("false",)),))
    monkeypatch.setattr(site_setup, "described", lambda _: broken)
    with pytest.raises(pytest.skip.Exception, match="refuses the client"), walk_on(name, Mock()):
        pytest.fail("it came up")
    assert traces(name) == {}


def test_a_further_daemon_that_ends_is_named_and_nothing_is_left(name, site):
    broken = LoginDaemon("helper", ("sh", "-c", "echo no data base; exit 1"), ready=("false",))
    with pytest.raises(AssayError, match=r"helper ended at once.*helper.console:\n  no data base"):
        up(name, replace(site, daemons=(broken,)))
    assert traces(name) == {}
