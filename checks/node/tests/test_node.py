# SPDX-License-Identifier: Apache-2.0
"""The node check: complete or wrong, impossible rates refused, what follows from a launch."""

import dataclasses

import pytest
from checks.node.run import EXPECTED, read_nodes

from checks.common.evidence import Claim, flags
from checks.common.json_lines import registered_metric
from checks.common.registry import CHECKS, REGISTER
from checks.node import KERNELS, NodeParameters

OPERATIONS = [
    (operand, sign) for operand in ("integer16", "integer32", "integer64") for sign in "+*"
]
OPERATIONS += [(o, s) for o in ("real32", "real64") for s in ("+", "*", "*+*+*")]
CYCLE_S = 0.25e-9


def metrics_of(node, rate=1e9):
    """What the program reports for one node."""
    metrics = []
    for kernel in KERNELS:
        for name in EXPECTED[kernel]:
            if name == "operation_time":
                metrics += [
                    registered_metric(
                        name, CYCLE_S, {"node": node, "operand": operand, "operation": operation}
                    )
                    for operand, operation in OPERATIONS
                ]
            else:
                value = 1e-3 if REGISTER.metrics[name].unit == "s" else rate
                metrics.append(registered_metric(name, value, {"node": node}))
    return metrics


@pytest.fixture
def two_nodes():
    return [*metrics_of("n1"), *metrics_of("n2")]


def test_the_clock_and_operations_per_cycle_follow_from_a_launch(two_nodes):
    reading = read_nodes(two_nodes, list(KERNELS), 2, 2)
    assert reading.wrong is None
    values = {(m.name, tuple(sorted((m.at or {}).items()))): m.value for m in reading.metrics}
    assert values["core_clock", (("node", "n2"),)] == pytest.approx(4e9)
    where = (("kernel", "linpack_100"), ("node", "n1"))
    assert values["operations_per_cycle", where] == pytest.approx(1e9 / 2 / 4e9)
    assert {m.name for m in reading.metrics} == set(CHECKS["node"].metric_names)


def test_a_missing_value_or_node_is_wrong(two_nodes):
    for left_out in range(len(two_nodes)):
        rest = [m for place, m in enumerate(two_nodes) if place != left_out]
        assert read_nodes(rest, list(KERNELS), 2, 1).wrong
    assert "1 nodes reported, 2" in read_nodes(metrics_of("n1"), list(KERNELS), 2, 1).wrong


def test_more_operations_than_a_core_can_do_are_wrong():
    metrics = metrics_of("n1")
    for place, metric in enumerate(metrics):
        if metric.name == "linpack_100_rate":
            metrics[place] = registered_metric(metric.name, 1e12, metric.at)
    assert "operations a cycle" in read_nodes(metrics, list(KERNELS), 1, 1).wrong


def test_kernels_come_in_their_own_order_and_once():
    params = NodeParameters.model_validate({"ranks": 1, "kernels": ["dgemm", "stream"]})
    assert params.kernels == ["stream", "dgemm"]
    with pytest.raises(ValueError, match="listed twice"):
        NodeParameters.model_validate({"ranks": 1, "kernels": ["stream", "stream"]})


def test_memory_is_that_of_the_greatest_kernel():
    params = NodeParameters.model_validate(
        {"ranks": 4, "ranks_per_node": 2, "stream_bytes": 10**9, "kernels": ["stream", "dgemm"]}
    )
    layout = CHECKS["node"].layout(params, 8)
    assert layout.nodes == 2
    assert 6e9 < layout.memory_bytes_per_node < 6.2e9


def test_nodes_in_turn_may_share_cores_but_ranks_of_a_node_may_not():
    def evidence(*cpus_by_host):
        return {
            "ranks": [
                {"host": host, "cpus": cpus, "boot_id": "one kernel"} for host, cpus in cpus_by_host
            ]
        }

    two_hosts = evidence(("n1", [0]), ("n2", [0]))
    claim = Claim(["n1", "n2"], 2, 1, "", hosts_take_turns=True)
    assert flags(two_hosts, claim) == []
    assert flags(two_hosts, dataclasses.replace(claim, hosts_take_turns=False))
    assert flags(evidence(("n1", [0]), ("n1", [0])), Claim(["n1"], 2, 2, "", hosts_take_turns=True))
