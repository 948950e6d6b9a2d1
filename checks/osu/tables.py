# SPDX-License-Identifier: Apache-2.0
"""The suite as data: each test with its title, each metric with the columns that print it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
