# SPDX-License-Identifier: Apache-2.0
"""The node check: complete or wrong, impossible rates refused, what follows from a launch."""

import dataclasses

import msgspec
import pytest

from checks.common.evidence import Claim, flags
from checks.common.json_lines import Output, measured
from checks.common.tests.judged import evidence_of
from checks.node import CHECK, NodeParameters

CYCLE_S = 0.25e-9
HOSTS = ["n1", "n1", "n2", "n2"]
PARAMS = NodeParameters(ranks=4, ranks_per_node=2, repetitions=1)


def reading(changed=None, further=(), notes=()):
    """Of an answer in which a rate is 1e9, a time 1 ms, and an operation takes a cycle.

    `further` samples of each operation's time; `notes` of other programs."""
    metrics, given = [], {"operation_time": CYCLE_S, **(changed or {})}
    for asked in CHECK.expected(PARAMS, HOSTS):
        definition = CHECK.metrics_by_name[asked.metric]
        value = given.get(asked.metric, 1e-3 if definition.unit == "s" else 1e8)
        samples = [value, *further] if asked.metric == "operation_time" else [value]
        metrics.append(measured(definition, value, dict(asked.at), samples))
    said = [("others", note) for note in notes]
    output = Output(metrics=metrics, all_notes=said, evidence=evidence_of(*HOSTS))
    return CHECK.check_values(PARAMS, output)


def note(share, node="n1", kernel="dgemm"):
    return {"node": node, "kernel": kernel, "share": share}


def test_a_disturbed_launch_is_flagged():
    found = reading(notes=[note(0.01), note(0.5, "n2")])
    assert found.flags == ["disturbed"]
    shares = {m.at["node"]: m.value for m in found.metrics if m.name == "others"}
    assert shares == {"n1": 0.01, "n2": 0.5}


@pytest.mark.parametrize(
    "said", [note(1.5), note(-1), note("much"), note(0, "n9"), note(0, kernel="x"), {}, 0.5]
)
def test_a_share_of_others_that_cannot_be_is_wrong(said):
    assert "others" in reading(notes=[said]).wrong
    assert "others" in reading(notes=[note(0), note(0)]).wrong


def test_the_clock_and_operations_per_cycle_follow_from_a_launch():
    found = reading(notes=[note(0.0), note(0.04, "n2")])
    assert (found.wrong, found.flags) == (None, [])
    values = {(m.name, tuple(sorted((m.at or {}).items()))): m.value for m in found.metrics}
    assert values["core_clock", (("node", "n2"),)] == pytest.approx(4e9)
    where = (("kernel", "linpack_100"), ("node", "n1"))
    assert values["operations_per_cycle", where] == pytest.approx(1e8 / 2 / 4e9)
    assert {m.name for m in found.metrics} == set(CHECK.metrics_by_name)


def test_more_operations_than_a_core_can_do_are_wrong():
    said = reading({"linpack_100_rate": 1e12}).wrong
    assert said == "linpack_100 on n1: 125 operations a cycle; no core finishes 64"


def test_additions_that_were_interrupted_make_no_rate_impossible():
    """Another program on the core makes most additions longer, not the least of them."""
    changed = {"operation_time": 200 * CYCLE_S, "dgemm_rate": 1e10}
    assert "operations a cycle" in reading(changed).wrong
    assert reading(changed, further=[CYCLE_S]).wrong is None


def test_more_memory_than_was_asked_for_is_wrong():
    assert reading({"allocatable_memory": float(PARAMS.memory_bytes)}).wrong is None
    assert "the bound was" in reading({"allocatable_memory": 2.0 * PARAMS.memory_bytes}).wrong


def test_all_memory_may_be_asked_for():
    whole = NodeParameters(ranks=4, ranks_per_node=2, kernels=["memory"], memory_bytes=0)
    assert CHECK.layout(whole, 2).memory_bytes_per_node < 10**8


def test_memory_is_that_of_the_greatest_kernel():
    asked = {"ranks_per_node": 2, "stream_bytes": 10**9, "kernels": ["stream", "dgemm"]}
    layout = CHECK.layout(NodeParameters(ranks=4, **asked), 8)
    assert layout.nodes == 2
    assert 6e9 < layout.memory_bytes_per_node < 6.2e9


def test_nodes_in_turn_may_share_cores_but_ranks_of_a_node_may_not():
    def evidence(*hosts):
        found = evidence_of(*hosts)
        ranks = [msgspec.structs.replace(facts, cpus=[0]) for facts in found.ranks]
        return msgspec.structs.replace(found, ranks=ranks)

    two_hosts = evidence("n1", "n2")
    claim = Claim(["n1", "n2"], 2, 1, "", hosts_take_turns=True)
    assert flags(two_hosts, claim) == []
    assert flags(two_hosts, dataclasses.replace(claim, hosts_take_turns=False))
    assert flags(evidence("n1", "n1"), Claim(["n1"], 2, 2, "", hosts_take_turns=True))
