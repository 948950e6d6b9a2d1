# SPDX-License-Identifier: Apache-2.0
"""The OSU micro-benchmarks, where a site has them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, get_args

from checks.common.definition import (
    RANK_ALLOWANCE_BYTES,
    FastMachine,
    Layout,
    SiteCapacity,
    link_bytes_per_s,
)
from checks.common.durations import LEAST_ONCE_S
from checks.common.layouts import ManyRanksDefinition
from checks.common.parameters import (
    MAX_RANKS,
    Parameters,
    RanksPerNode,
    quantity,
    ranks_per_node_field,
    refuse_least_above_greatest,
)
from checks.osu.metrics import METRICS
from records.metric import Metric

PointToPoint = Literal["osu_latency", "osu_bw", "osu_bibw", "osu_multi_lat", "osu_mbw_mr"]
Collective = Literal[
    "osu_allgather",
    "osu_allreduce",
    "osu_alltoall",
    "osu_bcast",
    "osu_gather",
    "osu_reduce",
    "osu_reduce_scatter",
    "osu_scatter",
    "osu_iallreduce",
    "osu_ialltoall",
    "osu_ibcast",
]
OneSided = Literal["osu_put_latency", "osu_put_bw", "osu_get_latency", "osu_get_bw"]
Unsized = Literal["osu_barrier", "osu_ibarrier", "osu_init", "osu_hello"]
Test = PointToPoint | Collective | OneSided | Unsized

#: Tests between exactly two ranks.
PAIR_TESTS = frozenset({"osu_latency", "osu_bw", "osu_bibw", *get_args(OneSided)})
#: Tests whose option -f gives least and greatest over ranks.
COLLECTIVE_TESTS = frozenset({*get_args(Collective), "osu_barrier", "osu_ibarrier"})
#: Tests without message sizes.
UNSIZED_TESTS = frozenset(get_args(Unsized))
#: Tests whose value is half of a round trip; those of windows of messages, and how many those are.
ROUND_TRIP_TESTS = frozenset({"osu_latency", "osu_multi_lat"})
WINDOW_TESTS = frozenset({"osu_bw", "osu_bibw", "osu_mbw_mr", "osu_put_bw", "osu_get_bw"})
WINDOW_MESSAGES = 64
#: Tests that take neither iterations nor statistics.
STARTUP_TESTS = frozenset({"osu_init", "osu_hello"})


class OsuParameters(Parameters):
    """One run of one test."""

    test: Test = quantity("The suite's program.", "none", "osu_latency")
    ranks: int = quantity("Ranks of the launch.", "ranks", 2, ge=2, le=MAX_RANKS)
    ranks_per_node: RanksPerNode = ranks_per_node_field()
    least_bytes: int = quantity("Least message (-m).", "bytes", 1, ge=0, le=2**30)
    greatest_bytes: int = quantity("Greatest message (-m).", "bytes", 65536, ge=1, le=2**30)
    suite_sizes: bool = quantity(
        "Whether the suite takes its own sizes, which the two above must state: versions before"
        " 5.4 cannot choose them in point-to-point tests.",
        "none",
        False,
    )
    iterations: int = quantity("Iterations (-i).", "iterations", 100, ge=1, le=10_000_000)
    warmup: int = quantity("Iterations before them (-x).", "iterations", 10, ge=0, le=10_000_000)
    full: bool = quantity("Least and greatest too (-f).", "none", False)
    validate_data: bool = quantity("Received data checked (-c).", "none", False)
    tails: bool = quantity("Tail percentiles too (-z).", "none", False)

    def model_post_init(self, context: Any) -> None:
        """Refuse what the test does not have."""
        if self.test in PAIR_TESTS and self.ranks != 2:
            raise ValueError(f"{self.test} runs between 2 ranks, not {self.ranks}")
        if self.full and self.test not in COLLECTIVE_TESTS:
            raise ValueError(f"full is for collective operations; {self.test} has no option -f")
        refuse_least_above_greatest(self.least_bytes, self.greatest_bytes)


class OsuDefinition(ManyRanksDefinition[OsuParameters]):
    """Layout and cost of an OSU test."""

    name = "osu"
    title = "OSU micro-benchmarks"
    deciding = "osu_latency"
    shown = "osu_latency"
    parameters = OsuParameters
    example = {"test": "osu_latency"}
    metrics = METRICS
    points = ("message_bytes", "percentile")
    features = frozenset({"mpi", "program:osu"})
    least_measured_s = LEAST_ONCE_S
    repetitions = ("iterations",)

    def memory_bytes_per_node(self, params: OsuParameters, cores_per_node: int) -> int:
        """Two buffers of the greatest size for every rank, at each rank, and the allowance."""
        on_node = self.ranks_per_node(params, cores_per_node)
        size = 0 if params.test in UNSIZED_TESTS else params.greatest_bytes
        return on_node * (2 * params.ranks * size + RANK_ALLOWANCE_BYTES)

    def durations_s(self, params: OsuParameters, metrics: Sequence[Metric]) -> Iterable[float]:
        """All iterations of each size, in one go: their mean is the value."""
        ways = 2 if params.test in ROUND_TRIP_TESTS else 1
        for metric in metrics:
            if params.test in STARTUP_TESTS:
                return
            if metric.name in ("osu_latency", "osu_overall_time"):
                yield ways * params.iterations * metric.value
            elif metric.name == "osu_bandwidth":
                size = float((metric.at or {}).get("message_bytes", 0))
                yield params.iterations * WINDOW_MESSAGES * size / metric.value

    def fastest_s(self, params: OsuParameters, fast: FastMachine) -> Iterable[float]:
        """One message an iteration, of each size by doubling, or a window of them."""
        window = WINDOW_MESSAGES if params.test in WINDOW_TESTS else 1
        trips = params.iterations * (2 if params.test in ROUND_TRIP_TESTS else 1)
        if params.test in UNSIZED_TESTS - STARTUP_TESTS:
            yield trips * fast.message_s(0)
        size = max(1, params.least_bytes)
        while params.test not in UNSIZED_TESTS and size <= params.greatest_bytes:
            yield trips * fast.message_s(window * size)
            size *= 2

    def one_sided(self, params: OsuParameters) -> bool:
        """By its test."""
        return params.test in get_args(OneSided)

    def estimate_s(self, params: OsuParameters, layout: Layout, site: SiteCapacity) -> float:
        """Launch overhead + every size's iterations, each of all ranks' messages one by one.

        Assumes 100 µs a message and the link's speed, 1 GB/s within a node.
        """
        if params.test in STARTUP_TESTS:
            return site.launch_overhead_s + 0.2 * layout.ranks
        bytes_per_s = link_bytes_per_s(layout, site)
        sizes = 1 if params.test in UNSIZED_TESTS else params.greatest_bytes.bit_length()
        volume = 0 if params.test in UNSIZED_TESTS else 2 * params.greatest_bytes
        once_s = layout.ranks * (1e-4 * sizes + volume / bytes_per_s)
        return site.launch_overhead_s + (params.iterations + params.warmup) * once_s


CHECK = OsuDefinition()
