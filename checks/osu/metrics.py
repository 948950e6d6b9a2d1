# SPDX-License-Identifier: Apache-2.0
"""Metrics of the check osu."""

from checks.common.metrics import LAUNCH
from records.metric import Kind, MetricDefinition

#: Name and title without "osu" and "OSU", unit, definition.
_TABLE = (
    ("latency", "latency", "s", "mean over iterations and ranks"),
    ("latency_least", "least latency", "s", "mean of the fastest rank"),
    ("latency_greatest", "greatest latency", "s", "mean of the slowest rank"),
    ("tail_latency", "tail latency", "s", "percentile over iterations"),
    ("bandwidth", "bandwidth", "bytes/s", "bytes of all windows over the time"),
    ("tail_bandwidth", "tail bandwidth", "bytes/s", "percentile over windows"),
    ("message_rate", "message rate", "1/s", "messages of all pairs over the time"),
    ("overall_time", "overall time", "s", "communication beside computing"),
    ("compute_time", "computing time", "s", "the computing alone"),
    ("communication_time", "communication time", "s", "the communication alone"),
    (
        "communication_least",
        "least communication time",
        "s",
        "the communication alone on the fastest rank",
    ),
    (
        "communication_greatest",
        "greatest communication time",
        "s",
        "the communication alone on the slowest rank",
    ),
    ("call_time", "call time", "s", "the call that begins the operation"),
    ("test_time", "MPI_Test time", "s", "MPI_Test beside computing"),
    ("wait_time", "MPI_Wait time", "s", "MPI_Wait after computing"),
    ("overlap", "overlap", "1", "communication hidden behind computing"),
    ("init_least", "least MPI_Init", "s", "MPI_Init on the fastest rank"),
    ("init_mean", "mean MPI_Init", "s", "MPI_Init, mean of the ranks"),
    ("init_greatest", "greatest MPI_Init", "s", "MPI_Init on the slowest rank"),
)
#: Printed as 0.00 where nothing was hidden, no time was left to test or wait, or a rank whose
#: message had left was done within a step of the library's clock.
_MAY_BE_ZERO = {
    *("overlap", "test_time", "wait_time"),
    *("latency_least", "communication_least", "call_time"),
}
_KINDS: dict[str, Kind] = {"overlap": "share", "latency": "mean", "communication_time": "mean"}

METRICS = (
    *(
        MetricDefinition(
            f"osu_{name}",
            unit,
            "lower" if unit == "s" else "higher",
            f"OSU micro-benchmarks: {definition}",
            may_be_zero=name in _MAY_BE_ZERO,
            title=f"OSU {title}",
            limit="links" if unit == "bytes/s" else "",
            kind=_KINDS.get(name, ""),
        )
        for name, title, unit, definition in _TABLE
    ),
    LAUNCH,
)
