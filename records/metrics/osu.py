# SPDX-License-Identifier: Apache-2.0
"""Metrics: the OSU micro-benchmarks, as the suite defines them."""

from records.metrics.definition import CheckMetrics, MetricDefinition

CHECKS = (
    CheckMetrics("osu", title="OSU micro-benchmarks", deciding="osu_latency", shown="osu_latency"),
)


def _metric(name: str, unit: str, better: str, definition: str, title: str) -> MetricDefinition:
    return MetricDefinition(
        f"osu_{name}",
        unit,
        "higher" if better == "higher" else "lower",
        f"OSU micro-benchmarks: {definition}",
        may_be_zero=name in ("overlap", "test_time", "wait_time"),
        title=f"OSU {title}",
    )


DEFINITIONS = (
    _metric("latency", "s", "lower", "mean over iterations and ranks", "latency"),
    _metric("latency_least", "s", "lower", "mean of the fastest rank", "least latency"),
    _metric("latency_greatest", "s", "lower", "mean of the slowest rank", "greatest latency"),
    _metric("tail_latency", "s", "lower", "percentile over iterations", "tail latency"),
    _metric("bandwidth", "bytes/s", "higher", "bytes of all windows over the time", "bandwidth"),
    _metric("tail_bandwidth", "bytes/s", "higher", "percentile over windows", "tail bandwidth"),
    _metric("message_rate", "1/s", "higher", "messages of all pairs over the time", "message rate"),
    _metric("overall_time", "s", "lower", "communication beside computing", "overall time"),
    _metric("compute_time", "s", "lower", "the computing alone", "computing time"),
    _metric("communication_time", "s", "lower", "the communication alone", "communication time"),
    _metric(
        "communication_least",
        "s",
        "lower",
        "the communication alone on the fastest rank",
        "least communication time",
    ),
    _metric(
        "communication_greatest",
        "s",
        "lower",
        "the communication alone on the slowest rank",
        "greatest communication time",
    ),
    _metric("call_time", "s", "lower", "the call that begins the operation", "call time"),
    _metric("test_time", "s", "lower", "MPI_Test beside computing", "MPI_Test time"),
    _metric("wait_time", "s", "lower", "MPI_Wait after computing", "MPI_Wait time"),
    _metric("overlap", "1", "higher", "communication hidden behind computing", "overlap"),
    _metric("init_least", "s", "lower", "MPI_Init on the fastest rank", "least MPI_Init"),
    _metric("init_mean", "s", "lower", "MPI_Init, mean of the ranks", "mean MPI_Init"),
    _metric("init_greatest", "s", "lower", "MPI_Init on the slowest rank", "greatest MPI_Init"),
)
