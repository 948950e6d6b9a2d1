# SPDX-License-Identifier: Apache-2.0
"""J. J. Dongarra and T. H. Dunigan (1996): tables, figures and claims, and what a run has of the
same kind."""

from collections.abc import Mapping
from operator import mul

from plugins.papers.fields import LENGTH, Field
from plugins.papers.run_values import RunValues, of_run, share_of
from plugins.papers.study import (
    Claim,
    Datum,
    Drawn,
    Key,
    PrintedLaw,
    PrintedTable,
    Quantity,
    Study,
    table,
)

#: Ranks that are neighbours, and the rows beside the machines of then that are of other kinds.
NEAR = {"params.transport": "library", "params.distance": 1, "params.hops": 0}
NODES = {"params.placement": "between-nodes", **NEAR}
WITHIN = {"params.placement": "within-node", **NEAR}
TCP = {"params.transport": "tcp", "params.placement": "between-nodes"}
UDP = {"params.transport": "udp", "params.placement": "between-nodes"}
LOCKED = {"params.placement": "between-nodes", "params.synchronisation": "lock"}
PUT = {**LOCKED, "at.operation": "put"}
GET = {**LOCKED, "params.placement": "within-node", "at.operation": "get", LENGTH: 8}
MILLION = {LENGTH: 1_000_000}
#: The lengths at which curves are drawn that the paper prints as plots only.
DRAWN = [1, 4, 16, 64, 256, 1000, 4000, 16000, 64000, 250_000, 1_000_000]

latency = of_run("echo", "echo_latency_least", NODES)
latency_within = of_run("echo", "echo_latency_least", WITHIN)
clock = of_run("node", "core_clock")


def latency_cycles(run: RunValues) -> Field:
    """Latency times clock."""
    return latency(run).joined(clock(run), mul)


def half_length(where: Mapping[str, object]) -> Quantity:
    """n½ of a straight line through the times of all lengths."""
    return lambda run: run.values("echo", "half_round_trip", where, [LENGTH]).line("half_length")


def of_one_byte(where: Mapping[str, object]) -> Quantity:
    """Latency of sockets, which have no empty message."""
    return of_run("echo", "half_round_trip_best", {**where, LENGTH: 1})


def columns(
    latency: Quantity, check: str, metric: str, where: Mapping[str, object]
) -> dict[str, Quantity]:
    """Quantities of Table 2.1 by column; n½ of an echo."""
    share = share_of("network", check, metric, where)
    found = {"latency_us": latency, "bandwidth_mb_s": of_run(check, metric, where)}
    return {**found, "peak_share": share}


def of_echo(latency: Quantity, where: Mapping[str, object]) -> dict[str, Quantity]:
    """Quantities of Table 2.1 from an echo."""
    found = columns(latency, "echo", "bandwidth", {**where, **MILLION})
    return {**found, "n_half_bytes": half_length(where)}


def by_half_length(row: Mapping[str, str], at: Mapping[str, float]) -> dict[str, float | None]:
    """R(m) = R∞·m/(m + n½), R∞ from the rate of 10⁶ bytes (Hockney), MB/s."""
    if not (row["bandwidth_mb_s"] and row["n_half_bytes"]):
        return {"rate_mb_s": None}
    m, half = at["message_bytes"], float(row["n_half_bytes"])
    greatest = float(row["bandwidth_mb_s"]) * (1 + half / 1e6)
    return {"rate_mb_s": greatest * m / (m + half)}


def by_line(row: Mapping[str, str], at: Mapping[str, float]) -> dict[str, float | None]:
    """T(m), the straight line through the latency and the time of 10⁶ bytes, µs."""
    if not row["bandwidth_mb_s"]:
        return {"time_us": None}
    latency_us, long_us = float(row["latency_us"]), 1e6 / float(row["bandwidth_mb_s"])
    return {"time_us": latency_us + (long_us - latency_us) * at["message_bytes"] / 1e6}


def share_of_peak(row: Mapping[str, str], _: Mapping[str, float]) -> dict[str, float | None]:
    """Bandwidth over the vendor's peak."""
    rate, peak = row["bandwidth_mb_s"], row["theoretical_bandwidth_mb_s"]
    return {"peak_share": float(rate) / float(peak) if rate and peak else None}


def plotted(number: str, value: Datum, law: PrintedLaw) -> PrintedTable:
    """Curves that the paper prints as plots only, by a law from Table 2.1."""
    return table(
        number,
        "latency_bandwidth.csv",
        value,
        keys=[Key("message_bytes", "bytes", LENGTH)],
        across=["machine", "variant"],
        only={"kind": ["multiprocessor"]},
        law=law,
        at={"message_bytes": DRAWN},
        printed=False,
    )


ECHO = of_echo(latency, NODES)
latency_udp = of_one_byte(UDP)

TABLES = [
    table(
        "Table 2.1",
        "latency_bandwidth.csv",
        Datum("latency_us", latency),
        Datum("bandwidth_mb_s", ECHO["bandwidth_mb_s"]),
        Datum("n_half_bytes", ECHO["n_half_bytes"]),
        Datum("theoretical_bandwidth_mb_s"),
        Datum("peak_share", ECHO["peak_share"], unit="1"),
        across=["machine", "variant"],
        law=share_of_peak,
        variants={
            "between two nodes": {},
            "inside a node": of_echo(latency_within, WITHIN),
            "TCP": of_echo(of_one_byte(TCP), TCP),
            "one side alone, put under a lock": columns(
                of_run("one_sided", "one_sided_time_least", {**PUT, LENGTH: 8}),
                "one_sided",
                "one_sided_rate",
                {**PUT, **MILLION},
            ),
            "UDP echo, and ttcp over TCP": columns(
                latency_udp, "streams", "window_rate", {**TCP, LENGTH: 50_000}
            ),
        },
    ),
    plotted("Figure 2.2", Datum("time_us", of_run("echo", "half_round_trip", NODES)), by_line),
    plotted("Figure 2.3", Datum("rate_mb_s", of_run("echo", "bandwidth", NODES)), by_half_length),
    table(
        "Table 3.1",
        "computation.csv",
        Datum("latency_us", latency),
        Datum("latency_cycles", latency_cycles, unit="1"),
        Datum("clock_mhz", clock),
        *(Datum(f"linpack{n}_mflops", of_run("node", f"linpack_{n}_rate")) for n in (100, 1000)),
        *(
            Datum(
                f"linpack{n}_ops_per_cycle",
                of_run("node", "operations_per_cycle", {"at.kernel": f"linpack_{n}"}),
                unit="1",
            )
            for n in (100, 1000)
        ),
        across=["machine", "variant"],
    ),
]

SHOWN = [
    Drawn("Figure 2.4", after="Figure 2.3", check="one_sided"),
    Drawn(
        "Hop term in the text",
        after="Figure 2.3",
        check="echo",
        only=["picture-echo-hops", "table-echo-hops"],
    ),
]

CLAIMS = {
    "linpack": Claim(
        of_run("node", "linpack_1000_rate"),
        of_run("node", "linpack_100_rate"),
        ["at.node"],
        more_than=1,
    ),
    "hops": Claim(
        of_run("echo", "half_round_trip", {"params.hops": 3}),
        of_run("echo", "half_round_trip", {"params.hops": 1}),
        [LENGTH],
        less_than=1.1,
    ),
    "udp": Claim(latency_udp, more_than=0.0005),
    "shared memory": Claim(
        of_run("one_sided", "one_sided_time_least", GET), latency_within, less_than=1
    ),
    "cycles": Claim(latency_cycles, more_than=900),
    "peak": Claim(share_of("cores", "node", "linpack_1000_rate"), None, ["at.node"], more_than=0.7),
    "ttcp": Claim(
        share_of("network", "streams", "window_rate", {**TCP, LENGTH: 50_000}), more_than=0.75
    ),
}

STUDY = Study("ornl-1996", tables=TABLES, shown=SHOWN, claims=CLAIMS)
