# SPDX-License-Identifier: Apache-2.0
"""What each test of the suite prints: title, columns, and what of a line follows from the rest."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from checks.common.answer import mean_is_possible
from checks.common.json_lines import OutputError
from checks.osu import OsuParameters

ITERATIONS, VALIDATION = "Iterations", "Validation"
#: The tails that option -z prints.
PERCENTILES = (50, 90, 99)
#: Half a unit of the last of two printed decimals, with room for binary fractions.
ROUNDING = 0.00505
#: Messages that a test keeps under way (the suite's -W, which is left at its default).
WINDOW = 64

#: What is between "OSU" and "Test" in a title; versions differ in capitals.
TITLES = {
    "osu_latency": "MPI Latency",
    "osu_bw": "MPI Bandwidth",
    "osu_bibw": "MPI Bi-Directional Bandwidth",
    "osu_multi_lat": "MPI Multi Latency",
    "osu_mbw_mr": "MPI Multiple Bandwidth / Message Rate",
    "osu_allgather": "MPI Allgather Latency",
    "osu_allreduce": "MPI Allreduce Latency",
    "osu_alltoall": "MPI All-to-All Personalized Exchange Latency",
    "osu_bcast": "MPI Broadcast Latency",
    "osu_gather": "MPI Gather Latency",
    "osu_reduce": "MPI Reduce Latency",
    "osu_reduce_scatter": "MPI Reduce_scatter Latency",
    "osu_scatter": "MPI Scatter Latency",
    "osu_iallreduce": "MPI Non-blocking Allreduce Latency",
    "osu_ialltoall": "MPI Non-blocking All-to-All Latency",
    "osu_ibcast": "MPI Non-blocking Broadcast Latency",
    "osu_put_latency": "MPI_Put Latency",
    "osu_put_bw": "MPI_Put Bandwidth",
    "osu_get_latency": "MPI_Get Latency",
    "osu_get_bw": "MPI_Get Bandwidth",
    "osu_barrier": "MPI Barrier Latency",
    "osu_ibarrier": "MPI Non-blocking Barrier Latency",
    "osu_init": "MPI Init",
    "osu_hello": "MPI Hello World",
}
_NON_BLOCKING = frozenset(test for test, title in TITLES.items() if "Non-blocking" in title)
_BANDWIDTHS = frozenset(test for test, title in TITLES.items() if title.endswith("Bandwidth"))


@dataclass(frozen=True)
class Column:
    """What a column is: the metric, its factor to SI units, the percentile of a tail."""

    metric: str
    factor: float = 1.0
    percentile: int | None = None


_LATENCY, _BANDWIDTH = Column("osu_latency", 1e-6), Column("osu_bandwidth", 1e6)
#: Headings of versions 5, 6 and 7 with full statistics; tails by `column`.
_COLUMNS = {
    "Latency (us)": _LATENCY,
    "Latency(us)": _LATENCY,
    "Avg Latency(us)": _LATENCY,
    "Min Latency(us)": Column("osu_latency_least", 1e-6),
    "Max Latency(us)": Column("osu_latency_greatest", 1e-6),
    "Bandwidth (MB/s)": _BANDWIDTH,
    "MB/s": _BANDWIDTH,
    "Messages/s": Column("osu_message_rate"),
    "Overall(us)": Column("osu_overall_time", 1e-6),
    "Compute(us)": Column("osu_compute_time", 1e-6),
    "Pure Comm.(us)": Column("osu_communication_time", 1e-6),
    "Min Comm.(us)": Column("osu_communication_least", 1e-6),
    "Max Comm.(us)": Column("osu_communication_greatest", 1e-6),
    "Coll. Init(us)": Column("osu_call_time", 1e-6),
    "MPI_Test(us)": Column("osu_test_time", 1e-6),
    "MPI_Wait(us)": Column("osu_wait_time", 1e-6),
    "Overlap(%)": Column("osu_overlap", 1e-2),
}
_TAIL = re.compile(
    r"P(?P<percentile>\d\d?) Tail (?:(?P<latency>Lat\(us\))|BW\s?\(MB/s\))", re.ASCII
)


def column(name: str) -> Column:
    """The column of this heading. Raises OutputError for an unknown one."""
    if name in _COLUMNS:
        return _COLUMNS[name]
    tail = _TAIL.fullmatch(name)
    if tail is None:
        raise OutputError(f"OSU's column {name!r} is not known")
    percentile = int(tail["percentile"])
    if tail["latency"]:
        return Column("osu_tail_latency", 1e-6, percentile)
    return Column("osu_tail_bandwidth", 1e6, percentile)


def check_columns(names: list[str], asked: OsuParameters) -> None:
    """Raise OutputError unless these headings, without the size, are those of what was asked."""
    own = {ITERATIONS: ITERATIONS, VALIDATION: VALIDATION}
    found = [own.get(name) or column(name) for name in names]
    kinds = [one if isinstance(one, str) else (one.metric, one.percentile) for one in found]
    validation = [VALIDATION] if asked.validate_data else []
    kind = "bandwidth" if asked.test in _BANDWIDTHS or asked.test == "osu_mbw_mr" else "latency"
    tails = [(f"osu_tail_{kind}", one) for one in PERCENTILES] if asked.tails else []
    for form in _forms(asked):
        first = [one if one == ITERATIONS else (f"osu_{one}", None) for one in form]
        if kinds in ([*first, *validation, *tails], [*first, *tails, *validation]):
            return
    raise OutputError(f"OSU's columns are {', '.join(names)!r:.200}; {asked.test} has others")


def _forms(asked: OsuParameters) -> list[list[str]]:
    """The columns before validation and tails; versions before 6 lack two of them."""
    if asked.test in _NON_BLOCKING:
        if not asked.full:
            return [["overall_time", "compute_time", "communication_time", "overlap"]]
        parts = ["overall_time", "compute_time", "call_time", "test_time", "wait_time"]
        bounds = ["communication_least", "communication_greatest"]
        return [[*parts, "communication_time", *between, "overlap"] for between in (bounds, [])]
    if asked.test == "osu_mbw_mr":
        return [["bandwidth", "message_rate"]]
    if asked.test in _BANDWIDTHS:
        return [["bandwidth"]]
    full = ["latency_least", "latency_greatest", ITERATIONS] if asked.full else []
    return [["latency", *full]]


def contradiction(
    values: Mapping[str, float], size: int | None, asked: OsuParameters
) -> str | None:
    """What of one line does not follow from the rest of it, or None; `values` in SI units.

    By the suite's own formulas; all numbers are printed with two decimals.
    """
    us = 1e-6
    for mean, least, greatest in (
        ("osu_latency", "osu_latency_least", "osu_latency_greatest"),
        ("osu_communication_time", "osu_communication_least", "osu_communication_greatest"),
    ):
        if least in values and not mean_is_possible(
            values[least], values[mean], values[greatest], asked.ranks, 2 * ROUNDING * us
        ):
            return f"a mean of {asked.ranks} ranks that its least and greatest do not allow"
    if "osu_message_rate" in values:
        bandwidth, rate = values["osu_bandwidth"], values["osu_message_rate"]
        if abs(rate - bandwidth / (size or 1)) > ROUNDING * (1e6 / (size or 1) + 1):
            return "a message rate that is not bandwidth over size"
    if "osu_overlap" not in values:
        return None
    overall, compute = values["osu_overall_time"], values["osu_compute_time"]
    alone = values["osu_communication_time"]
    parts = [values.get(f"osu_{part}_time", 0.0) for part in ("call", "test", "wait")]
    if compute + sum(parts) > overall + 5 * ROUNDING * us:
        return "parts that are longer than the whole"
    exposed = (overall - compute) / alone
    error = ROUNDING * 1e-2 + (2 + abs(exposed)) * ROUNDING * us / alone
    if abs(values["osu_overlap"] - max(0.0, 1 - exposed)) > error * (1 + ROUNDING):
        return "an overlap that does not follow from its times"
    return None


def least_duration_s(values: Mapping[str, float], size: int | None, asked: OsuParameters) -> float:
    """A time that the iterations of one line took at least."""
    if "osu_bandwidth" in values:
        ways = {"osu_bw": 1, "osu_bibw": 2, "osu_mbw_mr": asked.ranks // 2}.get(asked.test)
        sent = (size or 0) * (ways * WINDOW if ways else 1)
        return asked.iterations * sent / values["osu_bandwidth"]
    if "osu_overall_time" in values:
        once = values["osu_overall_time"] + values["osu_communication_time"]
        return asked.iterations * once
    ways = 2 if asked.test in ("osu_latency", "osu_multi_lat") else 1
    return asked.iterations * ways * values["osu_latency"]
