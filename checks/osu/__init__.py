# SPDX-License-Identifier: Apache-2.0
"""The OSU micro-benchmarks, where a site has them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from checks.common.definition import LEAST_ONCE_S, Layout, SiteCapacity, link_bytes_per_s
from checks.common.messages import ManyRanksDefinition
from checks.common.parameters import (
    MAX_RANKS,
    Parameters,
    RanksPerNode,
    quantity,
    refuse_least_above_greatest,
)
from records.metric import Metric, MetricDefinition

#: Messages that a test keeps under way (the suite's -W, which is left at its default).
WINDOW = 64


@dataclass(frozen=True)
class OsuTest:
    """A program of the suite: what its title says between "OSU" and "Test", in any capitals, and
    what it prints of a size.

    `pair`: it runs between two ranks. `round_trip`: its value is half of an iteration's time.
    """

    title: str
    prints: Literal["latency", "bandwidth", "rate", "collective", "start-up"] = "latency"
    pair: bool = False
    sized: bool = True
    round_trip: bool = False


TESTS = {
    "osu_latency": OsuTest("MPI Latency", pair=True, round_trip=True),
    "osu_bw": OsuTest("MPI Bandwidth", "bandwidth", pair=True),
    "osu_bibw": OsuTest("MPI Bi-Directional Bandwidth", "bandwidth", pair=True),
    "osu_multi_lat": OsuTest("MPI Multi Latency", round_trip=True),
    "osu_mbw_mr": OsuTest("MPI Multiple Bandwidth / Message Rate", "rate"),
    "osu_allgather": OsuTest("MPI Allgather Latency", "collective"),
    "osu_allreduce": OsuTest("MPI Allreduce Latency", "collective"),
    "osu_alltoall": OsuTest("MPI All-to-All Personalized Exchange Latency", "collective"),
    "osu_bcast": OsuTest("MPI Broadcast Latency", "collective"),
    "osu_gather": OsuTest("MPI Gather Latency", "collective"),
    "osu_reduce": OsuTest("MPI Reduce Latency", "collective"),
    "osu_reduce_scatter": OsuTest("MPI Reduce_scatter Latency", "collective"),
    "osu_scatter": OsuTest("MPI Scatter Latency", "collective"),
    "osu_put_latency": OsuTest("MPI_Put Latency", pair=True),
    "osu_put_bw": OsuTest("MPI_Put Bandwidth", "bandwidth", pair=True),
    "osu_get_latency": OsuTest("MPI_Get Latency", pair=True),
    "osu_get_bw": OsuTest("MPI_Get Bandwidth", "bandwidth", pair=True),
    "osu_barrier": OsuTest("MPI Barrier Latency", "collective", sized=False),
    "osu_init": OsuTest("MPI Init", "start-up", sized=False),
}

#: Of each metric: title without "OSU", definition, unit, headings of its column in versions 5 to 7.
_METRICS = {
    "latency": (
        *("latency", "mean over iterations and ranks", "s"),
        ("Latency (us)", "Latency(us)", "Avg Latency(us)"),
    ),
    "latency_least": ("least latency", "mean of the fastest rank", "s", ("Min Latency(us)",)),
    "latency_greatest": (
        *("greatest latency", "mean of the slowest rank", "s", ("Max Latency(us)",)),
    ),
    "bandwidth": (
        *("bandwidth", "bytes of all windows over the time", "bytes/s"),
        ("Bandwidth (MB/s)", "MB/s"),
    ),
    "message_rate": (
        *("message rate", "messages of all pairs over the time", "1/s", ("Messages/s",)),
    ),
    "init_least": ("least MPI_Init", "MPI_Init on the fastest rank", "s", ()),
    "init_mean": ("mean MPI_Init", "MPI_Init, mean of the ranks", "s", ()),
    "init_greatest": ("greatest MPI_Init", "MPI_Init on the slowest rank", "s", ()),
}

METRICS = tuple(
    MetricDefinition(
        f"osu_{name}",
        unit,
        "lower" if unit == "s" else "higher",
        f"OSU micro-benchmarks: {definition}",
        # Printed as 0.00 of a rank that was done within a step of the library's clock.
        may_be_zero=name == "latency_least",
        title=f"OSU {title}",
        limit="links" if unit == "bytes/s" else "",
        kind="mean" if name == "latency" else "",
    )
    for name, (title, definition, unit, _) in _METRICS.items()
)
#: Name and printed value to SI units by the heading of a column.
COLUMNS = {
    heading: (name, {"s": 1e-6, "bytes/s": 1e6}.get(unit, 1.0))
    for name, (*_, unit, headings) in _METRICS.items()
    for heading in headings
}

if TYPE_CHECKING:
    TestName = str
else:
    TestName = Literal[tuple(TESTS)]


class OsuParameters(Parameters):
    """Parameters of a run of one test."""

    test: TestName = quantity("The suite's program.", "none", "osu_latency")
    ranks: int = quantity("Ranks of the launch.", "ranks", 2, ge=2, le=MAX_RANKS)
    ranks_per_node: RanksPerNode = "fill"
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

    @property
    def suite_test(self) -> OsuTest:
        """Test of the suite: what its program prints, and between which ranks."""
        return TESTS[self.test]

    def model_post_init(self, context: Any) -> None:
        """Refuse what the test does not have."""
        if self.suite_test.pair and self.ranks != 2:
            raise ValueError(f"{self.test} runs between 2 ranks, not {self.ranks}")
        if self.full and self.suite_test.prints != "collective":
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
    points = ("message_bytes",)
    features = frozenset({"mpi", "program:osu"})
    least_measured_s = LEAST_ONCE_S

    def bytes_per_rank(self, params: OsuParameters) -> int:
        """Two buffers of the greatest size for every rank, at each rank, and the allowance."""
        return 2 * params.ranks * params.greatest_bytes if params.suite_test.sized else 0

    def durations_s(self, params: OsuParameters, metrics: Sequence[Metric]) -> Iterable[float]:
        """All iterations of each size, in one go: their mean is the value."""
        test = params.suite_test
        for metric in metrics if test.prints != "start-up" else ():
            if metric.name == "osu_latency":
                yield (2 if test.round_trip else 1) * params.iterations * metric.value
            elif metric.name == "osu_bandwidth":
                size = float((metric.at or {}).get("message_bytes", 0))
                yield params.iterations * WINDOW * size / metric.value

    def estimate_s(self, params: OsuParameters, layout: Layout, site: SiteCapacity) -> float:
        """Launch overhead + every size's iterations, each of all ranks' messages one by one.

        Assumes 100 µs a message and the link's speed, 1 GB/s within a node.
        """
        test = params.suite_test
        if test.prints == "start-up":
            return site.launch_overhead_s + 0.2 * layout.ranks
        sizes = params.greatest_bytes.bit_length() if test.sized else 1
        volume = 2 * params.greatest_bytes if test.sized else 0
        once_s = layout.ranks * (1e-4 * sizes + volume / link_bytes_per_s(layout, site))
        return site.launch_overhead_s + (params.iterations + params.warmup) * once_s


CHECK = OsuDefinition()
