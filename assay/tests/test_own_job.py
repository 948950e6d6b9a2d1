# SPDX-License-Identifier: Apache-2.0
"""The job that assay runs in, as Slurm describes it: which of its nodes launches get, if any."""

import pytest

from assay.plan import make_plan
from assay.run.nodes import own_allocation, own_job, partition_nodes, refuse_own_nodes
from assay.schema import campaign_from_text
from assay.sites.site import SiteFacts
from assay.tests.test_shapes import say
from assay.tests.test_shapes import site as site_of_scripts
from records.errors import AssayError

site = site_of_scripts

JOB = (
    "JobId=17 {array}JobName=batch UserId=ada(5012) GroupId=phys(500) QOS=normal JobState=RUNNING"
    " Reason=None BatchFlag=1 TimeLimit=01:00:00 StartTime=2025-02-03T10:00:02"
    " EndTime=2030-02-03T10:05:02 Partition=all NodeList={nodes} BatchHost=n1 NumNodes=4"
    " NumCPUs={cpus} Features={features} OverSubscribe={share} Comment=x"
)
NODE = "NodeName={} Arch=x86_64 CoresPerSocket=32 CPUAlloc=64 {}CPUTot=128 ThreadsPerCore=2"
HARNESS = "login1"
CAMPAIGN = """
schema: 1
name: inside
question: which nodes?
environments: [a]
cases:
  - check: startup
    fixed: {ranks: 2, ranks_per_node: 1}
"""


@pytest.fixture(autouse=True)
def inside(monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    monkeypatch.setenv("SLURM_CLUSTER_NAME", "theirs")
    monkeypatch.setattr("socket.gethostname", lambda: HARNESS)


def in_job(site, *, lines="{job}", array="", nodes="n1,n2,n3,n4", share="NO", **more):
    """Let the site's scontrol describe job 17 so; `lines` are all that it prints."""
    told = {"cpus": 4, "features": "(null)", **more}
    job = JOB.format(array=array, nodes=nodes, share=share, **told)
    effective = f"CPUEfctv={told['effective']} " if "effective" in told else ""
    each = "\n".join(NODE.format(name, effective) for name in nodes.split(","))
    say(
        site,
        "scontrol",
        f"""case "$*" in
*config*) echo 'ClusterName             = theirs' ;;
*"job -o 17"*) echo '{lines.format(job=job)}' ;;
*hostnames*) echo "$3" | tr , '\\n' ;;
*"node -o"*) echo '{each}' ;;
esac""",
    )


def plan(nodes=2):
    facts = SiteFacts("s", 4, 1, 10**9, {"a": {"mpi"}})
    text = CAMPAIGN.replace("ranks: 2", f"ranks: {nodes}")
    return make_plan(campaign_from_text("inside.yaml", text), facts)


def with_access(site, *options):
    access = [*site.description.access, *options]
    site.description = site.description.model_copy(update={"access": access})


def drawn_from(site, nodes=2):
    """The nodes that launches get, and what is said of them."""
    said = []
    found = own_allocation(site, plan(nodes).cases, 1, said.append)
    return (found.nodes if found else None), said


def test_of_the_tasks_of_an_array_its_own_is_taken(site):
    sibling = "JobId=19 ArrayJobId=17 ArrayTaskId=1 JobState=RUNNING NodeList=n9 NumCPUs=1"
    in_job(site, lines=f"{sibling}\n{{job}}\n{sibling}", array="ArrayJobId=17 ArrayTaskId=2 ")
    assert own_job(site)["NodeList"] == "n1,n2,n3,n4"
    assert drawn_from(site)[0] == ["n1", "n2", "n3", "n4"]


def test_a_heterogeneous_job_is_refused_with_what_to_do(site):
    other = "JobId=18 HetJobId=17 HetJobOffset=1 JobState=RUNNING NodeList=n9"
    in_job(site, lines=f"{{job}}\n{other}", array="HetJobId=17 HetJobOffset=0 ")
    with pytest.raises(AssayError, match=r"job 17.*heterogeneous job 17.*without components"):
        drawn_from(site)


@pytest.mark.parametrize(
    ("options", "features", "kind"),
    [
        (["--constraint=fat"], "fat", None),
        (["-C fat"], "fat", None),
        (["--constraint='fat&ib'"], "fat&ib", None),
        (["--constraint=fat"], "(null)", "--constraint=fat"),
        (["--constraint=fat"], "thin", "--constraint=fat"),
        (["-C", "fat"], "thin", "--constraint=fat"),
        (["--nodelist=n1,n2,n3,n4,n5"], "thin", None),
        (["-w n1,n2"], "thin", "--nodelist=n1,n2"),
    ],
)
def test_nodes_of_another_kind_in_the_same_partition_serve_no_launch(site, options, features, kind):
    in_job(site, features=features)
    with_access(site, *options)
    nodes, said = drawn_from(site)
    assert nodes == (None if kind else ["n1", "n2", "n3", "n4"])
    assert [kind in line for line in said] == [True] * bool(kind)


def test_nodes_left_out_are_not_drawn_in_a_job_that_has_them(site):
    in_job(site)
    with_access(site, "--exclude=n4")
    assert drawn_from(site.without_nodes(["n1"]))[0] == ["n2", "n3"]
    assert drawn_from(site.without_nodes(["n1", "n2"]))[0] is None
    assert drawn_from(site.without_nodes(["n1", "n2", "n3"]), nodes=1)[0] is None


def test_launches_do_not_wait_for_nodes_that_the_job_itself_holds(site, monkeypatch):
    in_job(site, nodes="n1,n2")
    say(site, "sinfo", "printf 'n%s fat\\n' 1 2 3 4")
    with_access(site, "--constraint=fat")
    refuse_own_nodes(site, 2)
    told = r"job 17.*holds 2 of the 3 nodes.*launches of 2 nodes.*out by --nodes 1"
    with pytest.raises(AssayError, match=told):
        refuse_own_nodes(site.without_nodes(["n4"]), 2)
    monkeypatch.setenv("SLURM_CLUSTER_NAME", "another")
    refuse_own_nodes(site, 4)


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
    assert partition_nodes(site) == nodes.split()


@pytest.mark.parametrize(
    ("cpus", "share", "effective", "whole"),
    [
        (512, "OK", {}, True),
        (256, "OK", {}, False),
        (256, "NO", {}, True),
        (496, "OK", {"effective": 124}, True),
    ],
)
def test_half_the_hardware_threads_are_no_whole_node(site, cpus, share, effective, whole):
    site.description = site.description.model_copy(update={"cores_per_node": 64})
    in_job(site, cpus=cpus, share=share, **effective)
    assert (drawn_from(site)[0] is not None) == whole
    # Without nodes to ask, cores decide.
    script = site.programs / "scontrol"
    script.write_text(script.read_text().replace("CPUTot=", "CPUs="))
    assert drawn_from(site)[0] is not None


def test_the_harness_leaves_its_node_to_itself_where_others_suffice(site, monkeypatch):
    in_job(site)
    monkeypatch.setattr("socket.gethostname", lambda: "n1.cluster.example")
    assert drawn_from(site, nodes=3) == (["n2", "n3", "n4"], [])
    nodes, (said,) = drawn_from(site, nodes=4)
    assert nodes == ["n1", "n2", "n3", "n4"]
    assert "assay itself takes time of n1" in said
    with_access(site, "--exclude=n1")
    assert drawn_from(site, nodes=3) == (["n2", "n3", "n4"], [])
