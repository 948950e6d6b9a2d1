# SPDX-License-Identifier: Apache-2.0
"""The suite as data: each test with its title, each metric with the columns that print it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from checks.common.metrics import LAUNCH
from records.metric import MetricDefinition

#: Messages that a test keeps under way (the suite's -W, which is left at its default).
WINDOW = 64


@dataclass(frozen=True)
class OsuTest:
    """A program of the suite: what its title says between "OSU" and "Test", in any capitals, and
    what it prints of a size.

    `pair`: it runs between two ranks. `round_trip`: its value is half of an iteration's time.
    """

    title: str
    prints: Literal["latency", "bandwidth", "rate", "collective", "overlap", "start-up"] = "latency"
    pair: bool = False
    sized: bool = True
    round_trip: bool = False

    @property
    def messages(self) -> int:
        """Messages one way in an iteration: a window where bandwidth is measured."""
        return WINDOW if self.prints in ("bandwidth", "rate") else 2 if self.round_trip else 1


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
    "osu_iallreduce": OsuTest("MPI Non-blocking Allreduce Latency", "overlap"),
    "osu_ialltoall": OsuTest("MPI Non-blocking All-to-All Latency", "overlap"),
    "osu_ibcast": OsuTest("MPI Non-blocking Broadcast Latency", "overlap"),
    "osu_put_latency": OsuTest("MPI_Put Latency", pair=True),
    "osu_put_bw": OsuTest("MPI_Put Bandwidth", "bandwidth", pair=True),
    "osu_get_latency": OsuTest("MPI_Get Latency", pair=True),
    "osu_get_bw": OsuTest("MPI_Get Bandwidth", "bandwidth", pair=True),
    "osu_barrier": OsuTest("MPI Barrier Latency", "collective", sized=False),
    "osu_ibarrier": OsuTest("MPI Non-blocking Barrier Latency", "overlap", sized=False),
    "osu_init": OsuTest("MPI Init", "start-up", sized=False),
    "osu_hello": OsuTest("MPI Hello World", "start-up", sized=False),
}

#: Of each metric: name and title without "osu" and "OSU", definition, headings of its column in
#: versions 5, 6 and 7.
_TABLE = """
latency | latency | mean over iterations and ranks | Latency (us), Latency(us), Avg Latency(us)
latency_least | least latency | mean of the fastest rank | Min Latency(us)
latency_greatest | greatest latency | mean of the slowest rank | Max Latency(us)
tail_latency | tail latency | percentile over iterations |
bandwidth | bandwidth | bytes of all windows over the time | Bandwidth (MB/s), MB/s
tail_bandwidth | tail bandwidth | percentile over windows |
message_rate | message rate | messages of all pairs over the time | Messages/s
overall_time | overall time | communication beside computing | Overall(us)
compute_time | computing time | the computing alone | Compute(us)
communication_time | communication time | the communication alone | Pure Comm.(us)
communication_least | least communication time | the communication alone on the fastest rank |\
 Min Comm.(us)
communication_greatest | greatest communication time |\
 the communication alone on the slowest rank | Max Comm.(us)
call_time | call time | the call that begins the operation | Coll. Init(us)
test_time | MPI_Test time | MPI_Test beside computing | MPI_Test(us)
wait_time | MPI_Wait time | MPI_Wait after computing | MPI_Wait(us)
overlap | overlap | communication hidden behind computing | Overlap(%)
init_least | least MPI_Init | MPI_Init on the fastest rank |
init_mean | mean MPI_Init | MPI_Init, mean of the ranks |
init_greatest | greatest MPI_Init | MPI_Init on the slowest rank |
"""
_METRICS = [[cell.strip() for cell in row.split("|")] for row in _TABLE.strip().splitlines()]
_UNITS = {
    "bandwidth": "bytes/s",
    "tail_bandwidth": "bytes/s",
    "message_rate": "1/s",
    "overlap": "1",
}
#: Printed as 0.00 where nothing was hidden, no time was left to test or wait, or a rank whose
#: message had left was done within a step of the library's clock.
_MAY_BE_ZERO = {
    *("overlap", "test_time", "wait_time"),
    *("latency_least", "communication_least", "call_time"),
}

METRICS = (
    *(
        MetricDefinition(
            f"osu_{name}",
            unit := _UNITS.get(name, "s"),
            "lower" if unit == "s" else "higher",
            f"OSU micro-benchmarks: {definition}",
            may_be_zero=name in _MAY_BE_ZERO,
            title=f"OSU {title}",
            limit="links" if unit == "bytes/s" else "",
        )
        for name, title, definition, _ in _METRICS
    ),
    LAUNCH,
)

_COLUMNS = {heading: name for name, *_, all_ in _METRICS for heading in all_.split(", ")}
_TAIL = re.compile(r"P(?P<of>\d\d?) Tail (?:(?P<latency>Lat\(us\))|BW\s?\(MB/s\))", re.ASCII)
_FACTORS = (("us)", 1e-6), ("MB/s", 1e6), ("%)", 1e-2), ("", 1.0))


@dataclass(frozen=True)
class OsuColumn:
    """Column of a table: metric without "osu_", its factor to SI units, a tail's percentile."""

    metric: str
    factor: float
    percentile: int | None = None


def column_of(heading: str) -> OsuColumn | None:
    """The column with this heading; None for one that is not known."""
    factor = next(factor for unit, factor in _FACTORS if unit in heading)
    if tail := _TAIL.fullmatch(heading):
        metric = "tail_latency" if tail["latency"] else "tail_bandwidth"
        return OsuColumn(metric, factor, int(tail["of"]))
    return OsuColumn(_COLUMNS[heading], factor) if heading in _COLUMNS else None
