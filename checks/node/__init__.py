# SPDX-License-Identifier: Apache-2.0
"""What single nodes can do: memory bandwidth, rates, times of operations, memory; on every node."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from checks.common.answer import DIGITS, Asked, Reading
from checks.common.definition import Layout, SiteCapacity
from checks.common.json_lines import Output, measured
from checks.common.messages import ManyRanksDefinition
from checks.common.metrics import rate_metric, time_metric
from checks.common.parameters import EachOnce, Parameters, Ranks, Seed, quantity
from records import flags
from records.metric import Metric, MetricDefinition
from records.site.limits import CORE_HZ

#: Kernels in the order in which they run, and what each reports of a node.
KERNEL_METRICS: dict[str, tuple[str, ...]] = {
    "stream": ("stream_copy", "stream_scale", "stream_add", "stream_triad"),
    "dgemm": ("dgemm_rate",),
    "hpl": ("node_hpl_rate",),
    "linpack_100": ("linpack_100_rate",),
    "linpack_1000": ("linpack_1000_rate",),
    "arithmetic": ("operation_time",),
    "sieve": ("sieve_time",),
    "floatmath": ("floatmath_time",),
    "dhrystone": ("dhrystone_time",),
    "whetstone": ("whetstone_time",),
    "memory": ("allocatable_memory",),
}
KERNELS = tuple(KERNEL_METRICS)
if TYPE_CHECKING:
    Kernel = str
else:
    Kernel = Literal[KERNELS]
#: Of `arithmetic`: operand and operation.
OPERATIONS = [
    *({"operand": f"integer{bits}", "operation": o} for o in "+*" for bits in (16, 32, 64)),
    *({"operand": f"real{b}", "operation": o} for o in ("+", "*", "*+*+*") for b in (32, 64)),
]
#: Additions that take a cycle each on every processor of today.
CLOCK = {"operand": "integer64", "operation": "+"}
#: Kernels whose rate is one of floating-point operations.
FLOP_KERNELS = ("dgemm", "hpl", "linpack_100", "linpack_1000")
#: Metrics whose work the parameters say.
SIZED = ("stream_triad", "dgemm_rate", "node_hpl_rate")
#: Metrics whose sample is the time of all that was done, and the cycles that they take at least:
#: the operations of floatmath each wait for the last one, the sieve looks at 8190 bytes in order.
WHOLE_TIMES = {
    "sieve_time": 100 * 8190 / 8,
    "floatmath_time": 4 * 256_000,
    "dhrystone_time": 5 * 50_000,
    "whetstone_time": 1e5,
}
#: No core finishes more double-precision operations a cycle: twice the greatest of 2026's, which
#: two fused multiply-adds on 512 bits make 32, since the clock may rise between two kernels.
GREATEST_OPERATIONS_PER_CYCLE = 64.0

METRICS = (
    *(
        rate_metric(
            f"stream_{name}",
            f"STREAM {formula}: bytes of {arrays} arrays over the time; median of the repetitions",
            f"STREAM {name}",
            limit="memory",
        )
        for name, formula, arrays in (
            ("copy", "c = a", 2),
            ("scale", "b = 3 c", 2),
            ("add", "c = a + b", 3),
            ("triad", "a = b + 3 c", 3),
        )
    ),
    *(
        rate_metric(name, definition, title, "flop/s", limit="flop")
        for name, title, definition in (
            ("dgemm_rate", "DGEMM rate", "product of matrices of order n: 2n³ over the time"),
            (
                *("node_hpl_rate", "one-node HPL rate"),
                "a dense system a rank, LAPACK on the tuned BLAS: 2N³/3 + 3N²/2 over the time",
            ),
            (
                *("linpack_100_rate", "LINPACK 100"),
                "LINPACK of order 100 as compiled, unblocked: 2n³/3 + 2n² over the time",
            ),
            (
                *("linpack_1000_rate", "LINPACK 1000"),
                "LINPACK of order 1000, best effort with BLAS and LAPACK: 2n³/3 + 2n² over the"
                " time",
            ),
        )
    ),
    rate_metric(
        "core_clock",
        "clock of a core at work: additions of 64-bit integers a second, each on the last"
        " one's result, one a cycle on every processor of today",
        unit="1/s",
    ),
    rate_metric(
        "operations_per_cycle",
        "floating-point operations a core finishes in a clock cycle (ORNL/TM-13006, 1996)",
        unit="1",
    ),
    time_metric(
        "operation_time",
        "one operation on the result of the one before (ORNL/TM-10881, 1988); *+*+* is the"
        " mean over the five of a sum of three products",
        kind="chain",
    ),
    time_metric("sieve_time", "100 sieves of 1 to 8190"),
    time_metric("floatmath_time", "256 000 repetitions of +, −, × and ÷ in double precision"),
    time_metric("dhrystone_time", "50 000 Dhrystones", "Dhrystone time"),
    time_metric("whetstone_time", "one million Whetstone instructions", "Whetstone time"),
    MetricDefinition(
        "others",
        "1",
        "lower",
        "share of the processors that other programs had while a kernel ran; such time does not"
        " count in its values",
        may_be_zero=True,
        title="other programs",
        kind="share",
    ),
    MetricDefinition(
        "allocatable_memory",
        "bytes",
        "higher",
        "memory that a node's ranks could allocate and touch, up to the bound that was set, or all"
        " that kernel, control groups and Slurm left, less a reserve",
    ),
)


class NodeParameters(Parameters):
    """Parameters of a launch of the node program over `ranks` / `ranks_per_node` nodes."""

    ranks: Ranks = quantity("Ranks of the launch, on all nodes.", "ranks")
    ranks_per_node: Ranks = quantity(
        "Ranks on each node, which work at the same time; a node's rate is that of all of them.",
        "ranks",
        1,
    )
    turns: bool = quantity(
        "Whether the nodes measure one after the other, else all at once.", "none", True
    )
    kernels: Annotated[list[Kernel], EachOnce(KERNELS, "kernel")] = quantity(
        "What to measure.", "none", list(KERNELS)
    )
    stream_bytes: int = quantity(
        "Each of STREAM's three arrays, a rank; four times the caches and more.",
        "bytes",
        2**27,
        ge=8192,
        le=10**13,
    )
    dgemm_n: int = quantity("Order of DGEMM's matrices.", "rows", 1000, ge=16, le=1_000_000)
    hpl_n: int = quantity(
        "Order of the linear system that each rank solves.", "rows", 2000, ge=16, le=1_000_000
    )
    memory_bytes: int = quantity(
        "Greatest memory to allocate, a node, 1 MiB and more; half of what is available bounds it"
        " too. 0: all that the node gives to a program, up to what the kernel, its control groups"
        " and Slurm say is left, less a reserve.",
        "bytes",
        2**28,
        ge=0,
        le=10**15,
    )
    repetitions: int = quantity(
        "Samples of each quantity in a launch.", "samples", 5, ge=1, le=10_000
    )
    seed: Seed = quantity("Seed of the random matrices.", "none", 1)

    def model_post_init(self, context: Any) -> None:
        """Refuse a bound that is too small to allocate."""
        if 0 < self.memory_bytes < 2**20:
            raise ValueError(
                f"memory_bytes = {self.memory_bytes}; allowed are 0, for all that a node gives, and"
                f" {2**20} and more"
            )


class NodeDefinition(ManyRanksDefinition[NodeParameters]):
    """Layout and cost of measuring every node."""

    name = "node"
    builds = ("Programs", "BlasPrograms")
    title = "Nodes"
    deciding = "stream_triad"
    shown = "stream_triad"
    history_metrics = ("dgemm_rate", "node_hpl_rate")
    parameters = NodeParameters
    example = {"ranks": 2, "kernels": ["stream", "dgemm"]}
    metrics = METRICS
    points = ("node", "operand", "operation", "kernel")
    noted = {"results_verified": str}
    sizing = frozenset({"nodes", "memory_share", "at_most_s"})
    #: Ranks are the only parallelism that is measured.
    variables = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

    def expected(self, params: NodeParameters, hosts: Sequence[str]) -> Iterator[Asked]:
        """Values that each kernel reports, of every node."""
        for node in dict.fromkeys(hosts):
            for kernel in params.kernels:
                places = OPERATIONS if kernel == "arithmetic" else [{}]
                for metric in KERNEL_METRICS[kernel]:
                    for place in places:
                        yield Asked(metric, {"node": node, **place}, params.repetitions)

    def least_duration_s(self, params: NodeParameters, metrics: Sequence[Metric]) -> float:
        """The samples of the kernels whose work is known, one node after the other or at once."""
        of_node: dict[str, float] = {}
        for metric in metrics:
            work = self._work(params, metric.name)
            times = [work / sample if work else sample for sample in metric.samples or []]
            if work or metric.name in WHOLE_TIMES:
                node = (metric.at or {})["node"]
                of_node[node] = of_node.get(node, 0.0) + sum(times)
        return sum(of_node.values()) if params.turns else max(of_node.values(), default=0.0)

    def durations_s(self, params: NodeParameters, metrics: Sequence[Metric]) -> Iterable[float]:
        """The samples of STREAM's triad, of DGEMM and of the linear system, on each node; the other
        kernels always take long enough."""
        for metric in metrics:
            if metric.name in SIZED and metric.samples:
                work = self._work(params, metric.name)
                yield sum(work / rate for rate in metric.samples)

    def _work(self, params: NodeParameters, metric: str) -> float:
        """Bytes or operations of one sample of a rate, on all ranks of a node; 0 of no rate."""
        n, rows = params.dgemm_n, params.hpl_n
        arrays = {"stream_copy": 2, "stream_scale": 2, "stream_add": 3, "stream_triad": 3}
        work = {
            **{name: count * params.stream_bytes for name, count in arrays.items()},
            "dgemm_rate": 2 * n**3,
            "node_hpl_rate": 2 * rows**3 / 3 + 3 * rows**2 / 2,
            "linpack_100_rate": 2 * 100**3 / 3 + 2 * 100**2,
            "linpack_1000_rate": 2 * 1000**3 / 3 + 2 * 1000**2,
        }
        return params.ranks_per_node * work.get(metric, 0)

    def check_values(self, params: NodeParameters, output: Output) -> Reading:
        """Values that the papers derive from one launch: the clock, and operations per cycle.

        The program proves every result before it prints. Here flop counts and memory are held
        against their bounds.
        """
        for metric in output.metrics:
            least_s = WHOLE_TIMES.get(metric.name, 0) / CORE_HZ
            if min(metric.samples or [metric.value]) < least_s:
                return Reading(
                    wrong=f"{metric.name} at {metric.at} is {metric.value:.6g} s; no core takes"
                    f" less than {least_s:.3g} s"
                )
        by_node: dict[str, list[Metric]] = {}
        for metric in output.metrics:
            by_node.setdefault((metric.at or {})["node"], []).append(metric)
        others = self._others(params, by_node, output.notes_of("others"))
        if isinstance(others, str):
            return Reading(wrong=others)
        derived = others
        disturbed = any(one.value > flags.DISTURBED_SHARE for one in others)
        for node, metrics in by_node.items():
            found = self._derived(params, node, metrics)
            if isinstance(found, str):
                return Reading(wrong=found)
            derived += found
        return Reading([*output.metrics, *derived], flags=[flags.DISTURBED] if disturbed else [])

    def _others(
        self, params: NodeParameters, nodes: Collection[str], notes: Sequence[Any]
    ) -> list[Metric] | str:
        """Share that other programs had of each node while a kernel ran, or what is wrong with it;
        nothing of programs of earlier versions, which do not say it."""
        found: dict[tuple[str, str], Metric] = {}
        for note in notes:
            match note:
                case {"node": str(node), "kernel": str(kernel), "share": float() | int() as share}:
                    key, asked = (node, kernel), node in nodes and kernel in params.kernels
                    if asked and key not in found and 0 <= share <= 1:
                        at = {"node": node, "kernel": kernel}
                        found[key] = measured(self.metrics_by_name["others"], share, at)
                        continue
            return f"the program said others = {note!r:.100}; a kernel of a node has one share"
        return [*found.values()]

    def _derived(
        self, params: NodeParameters, node: str, metrics: Sequence[Metric]
    ) -> list[Metric] | str:
        """The clock of a node and its operations per cycle, or what is wrong with its values."""
        values = {m.name: m.value for m in metrics if not m.at or m.at.keys() == {"node"}}
        memory = values.get("allocatable_memory", 0.0)
        if memory > (params.memory_bytes or math.inf) * (1 + 10.0**-DIGITS):
            bound = params.memory_bytes
            return f"{memory:.0f} bytes were allocated on {node}; the bound was {bound}"
        additions = (m for m in metrics if m.at and CLOCK.items() <= m.at.items())
        addition = next(additions, None)
        if addition is None:
            return []
        hertz = 1 / addition.value
        # What else ran on the core made additions longer, some samples less than others.
        fastest_hz = 1 / min(addition.samples or [addition.value])
        derived = [measured(self.metrics_by_name["core_clock"], hertz, {"node": node})]
        for kernel in FLOP_KERNELS:
            rate = values.get(KERNEL_METRICS[kernel][0])
            if rate is None:
                continue
            of_core = rate / params.ranks_per_node
            if (least := of_core / fastest_hz) >= GREATEST_OPERATIONS_PER_CYCLE:
                most = f"no core finishes {GREATEST_OPERATIONS_PER_CYCLE:g}"
                return f"{kernel} on {node}: {least:.4g} operations a cycle; {most}"
            at = {"node": node, "kernel": kernel}
            per_cycle = self.metrics_by_name["operations_per_cycle"]
            derived.append(measured(per_cycle, of_core / hertz, at))
        return derived

    def hosts_take_turns(self, params: NodeParameters) -> bool:
        """Ranks of other nodes sleep while a node measures, if so asked."""
        return params.turns

    def filled(
        self, given: Mapping[str, Any], nodes: int, on_node: int, bytes_per_node: float
    ) -> dict[str, Any]:
        """STREAM's three arrays of each rank; what the kernel `memory` allocates."""
        kernels = given.get("kernels", KERNELS)
        sizes = {}
        if "stream" in kernels:
            sizes["stream_bytes"] = max(8192, int(bytes_per_node / (3 * on_node)) // 4096 * 4096)
        if "memory" in kernels:
            sizes["memory_bytes"] = max(2**20, int(bytes_per_node))
        return sizes

    def bytes_per_rank(self, params: NodeParameters) -> int:
        """The greatest of what the kernels hold, one after the other, and the allowance."""
        held = {
            "stream": 3 * params.stream_bytes,
            "dgemm": 3 * 8 * params.dgemm_n**2,
            "hpl": 2 * 8 * params.hpl_n**2,
            "linpack_1000": 2 * 8 * 1000**2,
            "memory": params.memory_bytes // params.ranks_per_node,
        }
        return max(held.get(kernel, 0) for kernel in params.kernels)

    def estimate_s(self, params: NodeParameters, layout: Layout, site: SiteCapacity) -> float:
        """Launch overhead + the kernels' work a node, times the nodes when they take turns.

        Assumes 5 GB/s a rank for STREAM's ten passes over an array, the site's `core_flop_per_s`
        for the matrices, 1 GB/s for touching memory, and 0.1 s for all that is small.
        """
        work_s = {
            "stream": 10 * params.stream_bytes / 5e9,
            "dgemm": 2 * params.dgemm_n**3 / site.core_flop_per_s,
            "hpl": 2 * params.hpl_n**3 / 3 / site.core_flop_per_s,
            "linpack_1000": 2e9 / 3 / site.core_flop_per_s,
            "memory": (params.memory_bytes or site.memory_bytes_per_node) / 1e9,
        }
        once = sum(work_s.get(kernel, 0.1) for kernel in params.kernels)
        nodes = layout.nodes if params.turns else 1
        return site.launch_overhead_s + (params.repetitions + 2) * once * nodes


CHECK = NodeDefinition()
