# SPDX-License-Identifier: Apache-2.0
"""Guard against measuring something else: nodes, library, cores, the wire, the session's times."""

from dataclasses import replace

import msgspec
import pytest

from checks.common import evidence as judging
from checks.common.evidence import Claim
from checks.common.json_lines import read_evidence
from checks.common.tests.judged import Launch, evidence_of
from records.flags import DISTURBED, NETWORK_UNPROVEN, OVERSUBSCRIBED
from records.site.node_facts import names_in

CLAIM = Claim(nodes=["n1", "n2"], ranks=2, ranks_per_node=1, library_pattern="^MPICH")


@pytest.fixture
def evidence():
    found = msgspec.to_builtins(evidence_of("n1", "n2"))
    found["ranks"][1]["host"] = "n2.cluster"
    return found


def contradictions(found, claim):
    """Of evidence as it is printed."""
    return judging.contradictions(found and read_evidence(found), claim)


def flags(found, claim):
    """Of evidence as it is printed."""
    return judging.flags(read_evidence(found), claim)


def test_a_launch_as_claimed_contradicts_nothing_and_no_evidence_the_claim(evidence):
    assert contradictions(evidence, CLAIM) == flags(evidence, CLAIM) == []
    assert "no evidence" in contradictions(None, CLAIM)[0]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda found: found.update(library="Open MPI v4.1.4"), "change `library`"),
        (lambda found: found["links"][1].update(arrived_bytes=312), "the network was not used"),
        (lambda found: found["links"].pop(), "1 links between 2 nodes were probed"),
        (lambda found: found["ranks"][1].update(host="n3"), "outside the job's nodes"),
        (lambda found: found["ranks"][1].update(host="n1"), "asked for was 1 a node"),
        (lambda found: found["ranks"].pop(), "1 ranks reported"),
    ],
)
def test_what_contradicts_the_claim_is_noticed(evidence, change, said):
    change(evidence)
    assert said in contradictions(evidence, CLAIM)[0]


def test_a_setting_that_did_not_reach_the_ranks_is_noticed(evidence):
    claim = Claim(["n1", "n2"], 2, 1, "^MPICH", seen={"MPIR_CVAR_X": "16384"})
    assert "MPIR_CVAR_X reached rank 0 as None" in contradictions(evidence, claim)[0]
    evidence["variables"] = {"MPIR_CVAR_X": "65536"}
    assert "asked for was '16384'" in contradictions(evidence, claim)[0]
    evidence["variables"] = {"MPIR_CVAR_X": "16384"}
    assert contradictions(evidence, claim) == []


@pytest.mark.parametrize(
    ("found", "demanded", "met"),
    [
        *(("ch4:ofi", "ch4:ofi", True), ("ch4:ofi", "ch4", True), ("ch4:ofi", "ch4:ucx", False)),
        *(("ch4", "ch4:ofi", False), ("", "ch4:ofi", False), ("", "", True)),
        *(("ch3:nemesis:tcp", "ch3:nemesis", True), ("ch3:sock", "ch3:nemesis:tcp", False)),
        *(("ob1:self,tcp,vader", "ob1:tcp", True), ("ob1:self,vader", "ob1:tcp", False)),
        ("ucx", "ob1:tcp", False),
    ],
)
def test_a_launch_on_another_device_than_the_site_demands_is_noticed(
    evidence, found, demanded, met
):
    said = contradictions({**evidence, "device": found}, replace(CLAIM, device=demanded))
    told = f"is {found}" if found else "is not reported by the library"
    assert len(said) == (0 if met else 1)
    assert all(one.startswith(f"the device {told}; the site demands {demanded}:") for one in said)


@pytest.mark.parametrize(
    ("masks", "times", "disturbed"),
    [
        pytest.param([[0], [1]], (10, 9.9, 0, 0), False, id="busy ranks alone"),
        pytest.param([[0], [1]], (10, 1, 0, 9), False, id="ranks that sleep"),
        pytest.param([[0, 1]] * 2, (10, 3, 6, 8), False, id="a daemon carries the messages"),
        pytest.param([[0, 1]] * 4, (10, 5, 0, 0), False, id="four ranks on two cores"),
        pytest.param([[0], [1]], (10, 1, 0, 0), True, id="load 10"),
        pytest.param([[0, 1]] * 2, (10, 0.2, 0, 0.3), True, id="load 10, ranks that sleep"),
        pytest.param([[0], [1]], (10, 6.7, 0, 0), True, id="a third"),
        pytest.param([[0], [1]], (10, 8, 0, 0), False, id="a fifth"),
        pytest.param([[0, 1, 2, 3]] * 2, (10, 9.9, 0, 0), False, id="on cores that stay free"),
        pytest.param([[0]], (0.02, 0, 0, 0), False, id="too short for the kernel's ticks"),
    ],
)
def test_a_launch_of_whose_cores_other_programs_had_much_is_disturbed(
    evidence, masks, times, disturbed
):
    wall, own, parents, unused = times
    usage = {"wall": wall, "own": own, "parent": 7, "parents": parents, "unused": unused}
    usage["withheld"] = 0
    ranks = [{"rank": rank, "cpus": cpus, "usage": usage} for rank, cpus in enumerate(masks)]
    evidence["ranks"] = [{"host": "n1", "boot_id": "a", **facts} for facts in ranks]
    assert (DISTURBED in flags(evidence, CLAIM)) is disturbed


@pytest.mark.parametrize(
    ("masks", "shared"),
    [
        *(([[0], [1]], False), ([[0], [0]], True), ([[0, 1], [0, 1]], False)),
        *(([[0, 1], [0, 1], [0, 1]], True), ([[0, 1], [0], [1]], True)),
        ([[0, 1], [0], [1, 2]], False),
    ],
)
def test_ranks_that_cannot_each_have_a_core_are_oversubscribed(evidence, masks, shared):
    ranks = [{"rank": rank, "cpus": cpus} for rank, cpus in enumerate(masks)]
    evidence["ranks"] = [{"host": "n1", "boot_id": "a", **facts} for facts in ranks]
    assert (OVERSUBSCRIBED in flags(evidence, CLAIM)) is shared


def test_cores_of_different_kernels_are_not_shared(evidence):
    evidence["ranks"][1].update(cpus=[0], boot_id="b")
    assert flags(evidence, CLAIM) == []


def test_counters_that_cannot_be_read_are_said_once_and_contradict_nothing(evidence):
    for link in evidence["links"]:
        link.update(arrived_bytes=0, problem="interface counters of to_host cannot be read")
    assert contradictions(evidence, CLAIM) == []
    assert flags(evidence, CLAIM) == [NETWORK_UNPROVEN]
    evidence["links"][0].update(problem="")
    assert "the network was not used" in contradictions(evidence, CLAIM)[0]


def test_a_network_without_counters_is_said(evidence):
    claim = Claim(["n1", "n2"], 2, 1, "^MPICH", wire_is_counted=False)
    evidence["links"] = []
    assert contradictions(evidence, claim) == []
    assert flags(evidence, claim) == [NETWORK_UNPROVEN]


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        *(("session_begin", 1e6), ("boot_end", -50.0), ("launch_begin", -50.0)),
        *(("launch_end", 1e5), ("halt_begin", 1e5), ("session_end", -50.0)),
        *(("session_begin", -1e5), (None, 1e9), (None, -1e6)),
    ],
)
def test_stamps_that_do_not_fit_into_the_job_are_lost_by_a_clock(name, seconds):
    def later(entry):
        entry["at"] += seconds

    launch = Launch("startup", "lam")
    outcome = launch.outcome(launch.changed("stamp", later, name))
    assert (outcome.status, outcome.fault) == ("lost", "clock")
    assert "was one set?" in outcome.reason


@pytest.mark.parametrize(
    ("listed", "hosts"),
    [
        ("n[08-10],m2", ["n08", "n09", "n10", "m2"]),
        ("n0[8-9],n[10],m2", ["n08", "n09", "n10", "m2"]),
        ("r[1-2]n[3-4]", ["r1n3", "r1n4", "r2n3", "r2n4"]),
        ("n[1-999999999][1-999999999]", []),  # takes no memory
    ],
)
def test_nodes_are_known_however_slurm_lists_them(listed, hosts):
    assert names_in(listed) == hosts
