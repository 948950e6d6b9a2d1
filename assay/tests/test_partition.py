# SPDX-License-Identifier: Apache-2.0
"""Limits and nodes of a partition, and the job that assay runs in, as Slurm describes it: which of
its nodes launches get, if any; what can never run is refused before anything is run."""

import pytest

from assay.run.start import refuse_unfit_cases
from assay.schedulers.slurm import SlurmScheduler, asked
from assay.sites.loading import SlurmSite
from assay.sites.site import SiteFacts
from assay.sites.site_file import read_description
from assay.tests.campaign_texts import campaign_of, plan_of
from records.errors import AssayError

SITE = SiteFacts("s", 4, 1, 10**9, {"a": {"mpi"}, "b": {"mpi"}})
PARTITION = (
    "PartitionName=all MaxNodes={nodes} MaxTime={time} Nodes=n[1-4] State=UP TotalNodes=4"
    " TRES=cpu=4,node=4"
)
JOB = (
    "JobId=17 {array}JobName=batch UserId=ada(5012) GroupId=phys(500) QOS=normal JobState=RUNNING"
    " Reason=None BatchFlag=1 TimeLimit=01:00:00 StartTime=2025-02-03T10:00:02"
    " EndTime=2030-02-03T10:05:02 Partition=all NodeList={nodes} BatchHost=n1 NumNodes=4"
    " NumCPUs=4 OverSubscribe={share} Comment=x"
)


class Answering(SlurmSite):
    """A site whose Slurm commands are scripts of the test, in a folder that comes first in PATH."""

    programs = None

    def command(self, argv, variables, folder=None):
        argv, environment = super().command(argv, variables, folder)
        return argv, {**environment, "PATH": f"{self.programs}:{environment['PATH']}"}


@pytest.fixture
def site(tmp_path):
    """A site of four nodes in service, whose sbatch has nothing against any job."""
    made = Answering(read_description("virtual"))
    made.programs = tmp_path
    partition_of(made)
    say(made, "sinfo", "printf 'n%s idle\\n' 1 2 3 4")
    say(made, "squeue", ":")
    return made


def say(site, program, script):
    path = site.programs / program
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def partition_of(site, nodes="4", time="UNLIMITED"):
    say(site, "scontrol", f"echo '{PARTITION.format(nodes=nodes, time=time)}'")


@pytest.fixture(autouse=True)
def inside(monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    monkeypatch.setenv("SLURM_CLUSTER_NAME", "theirs")
    monkeypatch.setattr("socket.gethostname", lambda: "login1")


def in_job(site, *, lines="{job}", array="", nodes="n1,n2,n3,n4", share="NO"):
    """Let the site's scontrol describe job 17 so; `lines` are all that it prints."""
    job = JOB.format(array=array, nodes=nodes, share=share)
    say(
        site,
        "scontrol",
        f"""case "$*" in
*config*) echo 'ClusterName             = theirs' ;;
*"job -o 17"*) echo '{lines.format(job=job)}' ;;
*hostnames*) echo "$3" | tr , '\\n' ;;
esac""",
    )


def plan(nodes=2):
    startup = f"{{check: startup, fixed: {{ranks: {nodes}, ranks_per_node: 1}}}}"
    return plan_of(campaign_of(startup, environments="a"), SITE)


def with_access(site, *options):
    access = [*site.description.access, *options]
    site.description = site.description.model_copy(update={"access": access})


def drawn_from(site, nodes=2):
    """The nodes that launches get, and what is said of them."""
    said = []
    found = SlurmScheduler(site).allocation(plan(nodes).cases, 1, said.append)
    return (found.nodes if found else None), said


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ({"time": "00:00:10"}, "ends jobs after 10 s"),
        ({"nodes": "1"}, "needs 2 nodes; partition all of site virtual allows a job 1"),
    ],
)
def test_what_can_never_run_in_the_partition_is_refused(site, limits, told):
    assert SlurmScheduler(site).limits() == (4, None)
    refuse_unfit_cases(site, plan(), *SlurmScheduler(site).limits())
    partition_of(site, **limits)
    with pytest.raises(AssayError, match=told) as caught:
        refuse_unfit_cases(site, plan(), *SlurmScheduler(site).limits())
    assert caught.value.status == 2


def test_an_unknown_partition_is_named_with_those_there_are(site):
    say(site, "scontrol", "echo 'Partition all not found' >&2; exit 1")
    say(site, "sinfo", "printf 'batch\\ndebug\\n'")
    with pytest.raises(AssayError, match="no partition all; it has batch, debug"):
        SlurmScheduler(site).limits()


def test_of_sbatchs_variables_account_qos_and_reservation_become_options(site, monkeypatch):
    """ReFrame submits without variables of sbatch: probes and tests must not have them either."""
    for name, value in (("ACCOUNT", "mine"), ("RESERVATION", "night"), ("CONSTRAINT", "fat")):
        monkeypatch.setenv(f"SBATCH_{name}", value)
    say(site, "sbatch", "env | grep ^SBATCH_ >&2; echo")
    described = site.description.model_copy(update={"access": ["--account=the-sites"]})
    one = Answering(described)
    one.programs = site.programs
    options = ["--account=mine", "--reservation=night", "--account=the-sites"]
    assert one.session_data()["access"] == options
    assert one.without_nodes(["n1"]).description.access == [*options, "--exclude=n1"]
    for answer in (one.ask(["sbatch"]), asked(one, "sbatch")):
        assert (answer.status, answer.stderr) == (0, "")
    monkeypatch.setenv("SBATCH_QOS", "a b")
    with pytest.raises(AssayError, match=r"SBATCH_QOS: found 'a b', allowed are letters"):
        SlurmSite(described)


def test_of_the_tasks_of_an_array_its_own_is_taken(site):
    sibling = "JobId=19 ArrayJobId=17 ArrayTaskId=1 JobState=RUNNING NodeList=n9 NumCPUs=1"
    in_job(site, lines=f"{sibling}\n{{job}}\n{sibling}", array="ArrayJobId=17 ArrayTaskId=2 ")
    assert SlurmScheduler(site).own_job()["NodeList"] == "n1,n2,n3,n4"
    assert drawn_from(site)[0] == ["n1", "n2", "n3", "n4"]


def test_a_heterogeneous_job_is_none_whose_nodes_serve(site):
    other = "JobId=18 HetJobId=17 HetJobOffset=1 JobState=RUNNING NodeList=n9"
    in_job(site, lines=f"{{job}}\n{other}", array="HetJobId=17 HetJobOffset=0 ")
    assert SlurmScheduler(site).own_job() is None
    assert drawn_from(site) == (None, [])


@pytest.mark.parametrize(
    ("options", "serves"),
    [
        (["--constraint=fat"], True),
        (["--constraint='fat&ib'"], False),
        (["-C", "fat"], True),
        (["--constraint=fat|thin"], False),
        (["--nodelist=n1,n2,n3,n4,n5"], True),
        (["-w n1,n2"], False),
    ],
)
def test_nodes_of_another_kind_in_the_same_partition_serve_no_launch(site, options, serves):
    in_job(site)
    say(site, "sinfo", "printf 'n%s fat\\n' 1 2 3 4 5")
    with_access(site, *options)
    nodes, said = drawn_from(site)
    assert nodes == (["n1", "n2", "n3", "n4"] if serves else None)
    assert ["are not used" in line for line in said] == [] if serves else [True]


def test_nodes_left_out_are_not_drawn_in_a_job_that_has_them(site):
    in_job(site)
    with_access(site, "--exclude=n4")
    assert drawn_from(site.without_nodes(["n1"]))[0] == ["n2", "n3"]
    assert drawn_from(site.without_nodes(["n1", "n2"]))[0] is None
    assert drawn_from(site.without_nodes(["n1", "n2", "n3"]), nodes=1)[0] is None


@pytest.mark.parametrize(
    ("options", "nodes"),
    [
        ([], "n1 n2 n3"),
        (["--constraint=fat"], "n1 n2"),
        (["-C 'fat&ib'"], "n2"),
        (["-C thin", "-C fat"], "n1 n2"),
        (["--constraint=fat", "--nodelist=n2,n3"], "n2"),
        (["--constraint=fat|thin"], ""),
        (["--constraint='[rack1|rack2]'"], ""),
        (["--constraint=fat*2"], ""),
        (["--constraint='fat*1&ib*1'"], ""),
        (["--constraint='(fat&ib)'"], ""),
        (["--constraint=!thin"], ""),
    ],
)
def test_no_node_is_taken_for_one_of_a_kind_that_slurm_alone_knows(site, options, nodes):
    in_job(site)
    say(site, "sinfo", "printf 'n1 fat\\nn2 fat,ib\\nn3 thin\\n'")
    with_access(site, *options)
    assert SlurmScheduler(site).nodes() == nodes.split()


@pytest.mark.parametrize("share", ["OK", "USER", "NO Exclusive=NO", "YES Exclusive=NO"])
def test_a_job_that_may_share_its_nodes_has_none_for_launches(site, share):
    in_job(site, share=share)
    nodes, (said,) = drawn_from(site)
    assert nodes is None and "(--exclusive)" in said


def test_a_job_of_slurm_26_that_has_its_nodes_alone_has_them_for_launches(site):
    in_job(site, share="NO Exclusive=NODE")
    assert drawn_from(site, nodes=4)[0] == ["n1", "n2", "n3", "n4"]


def test_the_harness_leaves_its_node_to_itself_where_others_suffice(site, monkeypatch):
    in_job(site)
    monkeypatch.setattr("socket.gethostname", lambda: "n1.cluster.example")
    assert drawn_from(site, nodes=3) == (["n2", "n3", "n4"], [])
    nodes, (said,) = drawn_from(site, nodes=4)
    assert nodes == ["n1", "n2", "n3", "n4"]
    assert "assay itself takes time of n1" in said
    with_access(site, "--exclude=n1")
    assert drawn_from(site, nodes=3) == (["n2", "n3", "n4"], [])
