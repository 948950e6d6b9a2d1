# SPDX-License-Identifier: Apache-2.0
"""Every node by itself (node.c): STREAM, DGEMM, one-node HPL, LINPACK, operations, memory.

The program proves every result before it prints. Here the flop counts are held against a bound, and
the papers' figures that follow from one launch are derived: clock and operations per cycle.
"""

from __future__ import annotations

from collections import defaultdict

from reframe.core.builtins import run_before

from checks.common import json_lines
from checks.common.base import MpiCheck, Reading
from checks.common.knobs import knobs_of
from checks.node import NodeParameters
from records.metric import Metric

#: No core finishes more double-precision operations a cycle: twice the greatest of 2026's, which
#: two fused multiply-adds on 512 bits make 32, since the clock may rise between two kernels.
GREATEST_OPERATIONS_PER_CYCLE = 64.0

#: What each kernel reports for a node: metric and how often.
EXPECTED = {
    "stream": {"stream_copy": 1, "stream_scale": 1, "stream_add": 1, "stream_triad": 1},
    "dgemm": {"dgemm_rate": 1},
    "hpl": {"node_hpl_rate": 1},
    "linpack_100": {"linpack_100_rate": 1},
    "linpack_1000": {"linpack_1000_rate": 1},
    "arithmetic": {"operation_time": 12},
    "sieve": {"sieve_time": 1},
    "floatmath": {"floatmath_time": 1},
    "dhrystone": {"dhrystone_time": 1},
    "whetstone": {"whetstone_time": 1},
    "memory": {"allocatable_memory": 1},
}
_FLOP_RATES = {
    "dgemm_rate": "dgemm",
    "node_hpl_rate": "hpl",
    "linpack_100_rate": "linpack_100",
    "linpack_1000_rate": "linpack_1000",
}
_CLOCK = ("integer64", "+")


class NodeCheck(MpiCheck, knobs_of(NodeParameters)):
    """What each node of the launch can do."""

    program = "node"

    @run_before("run")
    def one_thread(self) -> None:
        """One BLAS thread a rank: ranks are the only parallelism that is measured."""
        self.env_vars.update({"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"})

    def arguments(self) -> list[str]:
        """The program's options."""
        words = [
            f"--kernels={','.join(self.kernels)}",
            f"--stream-bytes={self.stream_bytes}",
            f"--dgemm-n={self.dgemm_n}",
            f"--hpl-n={self.hpl_n}",
            f"--memory-bytes={self.memory_bytes}",
            f"--repetitions={self.repetitions}",
            f"--seed={self.seed}",
        ]
        return [*words, "--turns"] if self.turns else words

    @property
    def hosts_take_turns(self) -> bool:
        """Ranks of other nodes sleep while a node measures."""
        return bool(self.turns)

    def read(self, output: json_lines.Output, text: str) -> Reading:  # noqa: ARG002
        """All metrics of all nodes, complete or not at all, and what follows from them."""
        nodes = -(-self.ranks // self.ranks_per_node)
        return read_nodes(output.metrics, self.kernels, nodes, self.ranks_per_node)


def read_nodes(
    metrics: list[Metric], kernels: list[str], nodes: int, ranks_per_node: int
) -> Reading:
    """The reading of a launch that measured `kernels` on so many `nodes`, each of so many ranks."""
    by_node: dict[str, list[Metric]] = defaultdict(list)
    for metric in metrics:
        by_node[str((metric.at or {}).get("node"))].append(metric)
    if len(by_node) != nodes:
        return Reading(wrong=f"{len(by_node)} nodes reported, {nodes} were asked for")
    derived: list[Metric] = []
    for node, found in sorted(by_node.items()):
        wrong = _incomplete(found, kernels)
        if wrong:
            return Reading(wrong=f"node {node}: {wrong}")
        derived += _derived(node, found, ranks_per_node)
    impossible = next((m for m in derived if _impossible(m)), None)
    if impossible is not None:
        return Reading(
            wrong=f"{impossible.at}: {impossible.value:.4g} operations a cycle; no core finishes"
            f" {GREATEST_OPERATIONS_PER_CYCLE:g}"
        )
    return Reading(metrics=[*metrics, *derived])


def _incomplete(found: list[Metric], kernels: list[str]) -> str | None:
    names = [metric.name for metric in found]
    for kernel in kernels:
        for name, count in EXPECTED[kernel].items():
            if names.count(name) != count:
                return f"{names.count(name)} of {count} values of {name}"
    return None


def _derived(node: str, found: list[Metric], ranks_per_node: int) -> list[Metric]:
    """The clock, and every flop rate as operations a core and cycle; none without the clock."""
    additions = [m for m in found if m.name == "operation_time" and _operation(m) == _CLOCK]
    if not additions:
        return []
    clock = 1 / additions[0].value
    rates = [metric for metric in found if metric.name in _FLOP_RATES]
    return [
        json_lines.registered_metric("core_clock", clock, {"node": node}),
        *(
            json_lines.registered_metric(
                "operations_per_cycle",
                metric.value / ranks_per_node / clock,
                {"node": node, "kernel": _FLOP_RATES[metric.name]},
            )
            for metric in rates
        ),
    ]


def _operation(metric: Metric) -> tuple[object, object]:
    at = metric.at or {}
    return at.get("operand"), at.get("operation")


def _impossible(metric: Metric) -> bool:
    return metric.name == "operations_per_cycle" and metric.value >= GREATEST_OPERATIONS_PER_CYCLE
