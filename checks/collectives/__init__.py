# SPDX-License-Identifier: Apache-2.0
"""Collective operations: their time over message sizes and process counts."""

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Annotated, Literal, cast, get_args

from pydantic import AfterValidator

from checks.common.answer import Asked, of_samples
from checks.common.definition import Layout, SiteCapacity, link_bytes_per_s
from checks.common.messages import ManyRanksDefinition, Sizes
from checks.common.metrics import time_metric
from checks.common.parameters import EachOnce, Parameters, RanksPerNode, Repeats, Seed, quantity
from records.metric import Metric

#: The program checks that sums of its whole numbers are exact in MPI_FLOAT: no more ranks.
MAX_COLLECTIVE_RANKS = 65_536
FLOAT_BYTES = 4

Operation = Literal[
    "barrier",
    "broadcast",
    "gather",
    "scatter",
    "reduce",
    "scan",
    "total_exchange",
    "allreduce",
    "allgather",
    "reduce_scatter",
]
#: The first seven are those of Hwang, Wang and Wang (1996).
OPERATIONS: tuple[Operation, ...] = get_args(Operation)


def _whole_floats(sizes: list[int]) -> list[int]:
    wrong = next((size for size in sizes if size % FLOAT_BYTES), None)
    if wrong is not None:
        raise ValueError(f"{wrong} bytes are no whole number of MPI_FLOAT; give multiples of 4")
    return sizes


class CollectivesParameters(Parameters):
    """Parameters of a launch of the program of collective operations."""

    ranks: int = quantity("Ranks that take part.", "ranks", ge=1, le=MAX_COLLECTIVE_RANKS)
    ranks_per_node: RanksPerNode = "fill"
    operations: Annotated[list[Operation], EachOnce(OPERATIONS, "operation")] = quantity(
        "Operations to measure.", "none", list(OPERATIONS)
    )
    sizes: Annotated[Sizes, AfterValidator(_whole_floats)] = quantity(
        "Message lengths per pair of ranks, multiples of 4 (MPI_FLOAT); the barrier has none.",
        "bytes",
        [4 * 4**step for step in range(8)],
    )
    procedure: Literal["each", "loop"] = quantity(
        "each: a barrier of our own before each repetition, the maximum over ranks of each, the"
        " median over repetitions; loop: a barrier, all repetitions in one loop, the maximum over"
        " ranks of the loop's mean, the median over runs (Hwang, Wang and Wang 1996).",
        "none",
        "each",
    )
    repetitions: Repeats = quantity(
        "Measured calls of each operation and size; in a loop, of each run.", "calls", 20
    )
    runs: int = quantity("Loops of each operation and size (loop only).", "runs", 5, ge=1, le=1000)
    warmup: Repeats = quantity(
        "Calls that are left out before the first repetition; in a loop, before each run.",
        "calls",
        2,
    )
    seed: Seed = quantity("Seed of the order of operations and sizes inside a launch.", "none", 1)

    @property
    def message_bytes(self) -> list[int]:
        """The explicit sizes, ascending."""
        return cast(list[int], self.sizes)

    @property
    def measured(self) -> list[tuple[str, int]]:
        """Operation and size of every measurement: the barrier has one point, of 0 bytes."""
        return [
            (name, size)
            for name in self.operations
            for size in ([0] if name == "barrier" else self.message_bytes)
        ]


class CollectivesDefinition(ManyRanksDefinition[CollectivesParameters]):
    """Layout and cost of a launch of collective operations."""

    name = "collectives"
    title = "Collective operations"
    deciding = "collective_time"
    shown = "collective_time"
    parameters = CollectivesParameters
    example = {"ranks": 2, "operations": ["barrier", "allreduce"], "sizes": [4, 1024]}
    metrics = (
        time_metric(
            "collective_time",
            "time of a collective operation: the longest over the ranks of each repetition,"
            " the median over repetitions; procedure loop: the longest over the ranks of a"
            " loop's mean, the median over runs; message length per pair of ranks",
            limit="link",
        ),
        time_metric(
            "collective_time_best",
            "the least repetition (loop: run) of a launch, the longest over the ranks",
            limit="link",
        ),
    )
    relations = {"collective_time_best": of_samples(min, "collective_time")}
    points = ("operation", "message_bytes")
    noted = {
        "warmup": attrgetter("warmup"),
        "order_seed": attrgetter("seed"),
        "ranks": attrgetter("ranks"),
        "results_verified": str,
    }

    def expected(self, params: CollectivesParameters, hosts: Sequence[str]) -> Iterator[Asked]:
        """A time with a sample of each repetition (loop: run), and the least of them."""
        samples = params.repetitions if params.procedure == "each" else params.runs
        for operation, size in params.measured:
            at = {"operation": operation, "message_bytes": size}
            yield Asked("collective_time", at, samples)
            yield Asked("collective_time_best", at)

    def durations_s(
        self, params: CollectivesParameters, metrics: Sequence[Metric]
    ) -> Iterable[float]:
        """The calls of each operation and size."""
        calls = params.repetitions if params.procedure == "loop" else 1
        for metric in metrics:
            if metric.name == self.deciding:
                yield calls * sum(metric.samples or [metric.value])

    def bytes_per_rank(self, params: CollectivesParameters) -> int:
        """Two buffers with a block of the greatest size for every rank, and the allowance."""
        return 2 * params.ranks * params.message_bytes[-1]

    def estimate_s(
        self, params: CollectivesParameters, layout: Layout, site: SiteCapacity
    ) -> float:
        """Launch overhead + every call at 100 µs and p messages over a node's link.

        Assumes p − 1 messages of the size through the busiest node's link for each operation, and
        1 GB/s within a node.
        """
        bytes_per_s = link_bytes_per_s(layout, site)
        runs = params.runs if params.procedure == "loop" else 1
        calls = 2 + runs * (params.repetitions + params.warmup)
        call_s = [1e-4 + size * params.ranks / bytes_per_s for _, size in params.measured]
        return site.launch_overhead_s + calls * sum(call_s)


CHECK = CollectivesDefinition()
