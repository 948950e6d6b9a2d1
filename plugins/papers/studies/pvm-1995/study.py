# SPDX-License-Identifier: Apache-2.0
"""H. Casanova, J. Dongarra and W. Jiang (1995): tables, figures and claims, and what a run has of
the same kind."""

from collections.abc import Mapping
from typing import Any

from plugins.papers.fields import LENGTH
from plugins.papers.run_values import of_run
from plugins.papers.study import Claim, Datum, Drawn, Key, PrintedTable, Quantity, Study, table

NODES = {"params.placement": "between-nodes"}
MPI = {**NODES, "params.transport": "library", "params.hops": 0}
DIRECT = {**NODES, "params.route": "direct"}
#: The messages through which the paper's straight lines go.
LINE_BYTES = 1024
SHORT = {LENGTH: [128, 256, 512, 768, 1024]}
LONG = {LENGTH: 800_000}
PSEND = {**DIRECT, "at.construct": "psend", **LONG}
#: Lengths of figures 2, 4 and 6, and of 3(a), 5 and 7.
OF_RATES = [16, 64, 256, 1024, 4096, 16384, 65536, 262144, 800000]
OF_TIMES = [0, 128, 256, 384, 512, 640, 768, 896, 1024]
PROTOCOLS = {"pvm_psend": "psend", "PvmDataInPlace": "InPlace", "PvmDataRaw": "Raw"}
KEYS = [
    Key("protocol", "protocol", "at.construct", PROTOCOLS),
    Key("", "route", "params.route", then="direct"),
]
BYTES = Key("message_bytes", "bytes", LENGTH)
OPERATIONS = {"pvm_psend": "psend", "pvm_send_inplace": "InPlace", "pvm_send_raw": "Raw"}
FILE = "latency_bandwidth.csv"
CALL = ["machine", "library", "protocol", "mode"]


def of_pvm(construct: str, at: Mapping[str, object] | None = None) -> Quantity:
    """Half a round trip by a protocol on the direct route."""
    return of_run(
        "pvm_echo", "half_round_trip", {"at.construct": construct, **DIRECT, **(at or {})}
    )


def of_inplace(length: int) -> Quantity:
    """Rate of PvmDataInPlace at a length, on the direct route."""
    where = {"at.construct": "InPlace", **DIRECT, LENGTH: length}
    return of_run("pvm_echo", "bandwidth_mean", where)


def start_up(check: str, where: Mapping[str, object]) -> Quantity:
    """Intercept of a straight line through short messages, as the paper's latencies."""
    return lambda run: run.values(check, "half_round_trip_mean", where, [LENGTH]).line(
        "start_up", up_to=LINE_BYTES
    )


def by_latency_and_rate(row: Mapping[str, str], at: Mapping[str, float]) -> dict[str, float | None]:
    """t(m), a line through the latency and the rate of 800 Kbytes, µs; R(m) = m/t, MB/s."""
    m, latency_us = at["message_bytes"], float(row["latency_us"])
    per_byte_us = 1 / float(row["bandwidth_mb_s"]) - latency_us / 8e5
    time_us = latency_us + per_byte_us * m
    return {"time_us": time_us, "rate_mb_s": m / time_us}


def of_table_2(latency: Quantity, rate: Quantity) -> list[Datum]:
    """Columns of Table 2."""
    return [Datum("latency_us", latency), Datum("bandwidth_mb_s", rate)]


def plotted(number: str, value: Datum, lengths: list[int], **further: Any) -> PrintedTable:
    """Curves that the paper prints as plots only, through the values of Table 2."""
    further |= {"law": by_latency_and_rate, "at": {"message_bytes": lengths}, "printed": False}
    return table(number, FILE, value, **further)


BY_PROTOCOL = {"keys": [*KEYS, BYTES], "only": {"library": ["PVM"]}}
NATIVE = {
    "keys": [BYTES],
    "across": ["machine", "library"],
    "only": {"library": ["CMMD", "NX", "MPL"]},
}

TABLES = [
    table(
        "Table 2",
        FILE,
        *of_table_2(
            start_up("pvm_echo", NODES), of_run("pvm_echo", "bandwidth_mean", {**NODES, **LONG})
        ),
        keys=KEYS,
        only={"library": ["PVM"]},
    ),
    table(
        "Table 2, native calls and PVMe",
        FILE,
        *of_table_2(start_up("echo", MPI), of_run("echo", "bandwidth", {**MPI, **LONG})),
        across=CALL,
        only={"library": ["CMMD", "NX", "MPL", "PVMe"]},
    ),
    plotted(
        "Figures 2, 4 and 6",
        Datum("rate_mb_s", of_run("pvm_echo", "bandwidth_mean", NODES)),
        OF_RATES,
        **BY_PROTOCOL,
    ),
    plotted(
        "Figures 2, 4 and 6, native calls",
        Datum("rate_mb_s", of_run("echo", "bandwidth", MPI)),
        OF_RATES,
        **NATIVE,
    ),
    plotted(
        "Figures 3(a), 5 and 7",
        Datum("time_us", of_run("pvm_echo", "half_round_trip_mean", {**NODES, LENGTH: OF_TIMES})),
        OF_TIMES,
        **BY_PROTOCOL,
    ),
    plotted(
        "Figures 3(a), 5 and 7, native calls",
        Datum("time_us", of_run("echo", "half_round_trip_mean", {**MPI, LENGTH: OF_TIMES})),
        OF_TIMES,
        **NATIVE,
    ),
    table("Latencies in the text", "linear_fit_latencies.csv", Datum("latency_us"), across=CALL),
    table(
        "Copies in the text",
        "copies.csv",
        Datum("total_copies", unit="1"),
        Datum("network_messages", unit="1"),
        across=["send_routine", "encoding"],
        stands="protocol",
    ),
    table(
        "Times of 800 Kbytes",
        "bcopy.csv",
        Datum("time_us", of_run("pvm_echo", "copy_time", {**LONG, **DIRECT})),
        only={"operation": ["bcopy"]},
    ),
    table(
        "Times of 800 Kbytes by PVM",
        "bcopy.csv",
        Datum("time_us", of_run("pvm_echo", "half_round_trip_mean", {**LONG, **DIRECT})),
        keys=[Key("operation", "protocol", "at.construct", OPERATIONS)],
        only={"operation": list(OPERATIONS)},
    ),
]

SHOWN = [
    Drawn(
        "Where the time goes",
        after="Times of 800 Kbytes by PVM",
        check="pvm_echo",
        only=["table-pvm-order", "table-pvm-steps"],
    )
]

CLAIMS = {
    "psend and InPlace": Claim(of_pvm("psend"), of_pvm("InPlace"), [LENGTH], less_than=1),
    "psend and Raw": Claim(of_pvm("psend"), of_pvm("Raw"), [LENGTH], less_than=1),
    "short messages": Claim(of_pvm("InPlace", SHORT), of_pvm("Raw", SHORT), [LENGTH], more_than=1),
    "long messages": Claim(of_pvm("InPlace", LONG), of_pvm("Raw", LONG), less_than=1),
    "beyond 1 MB": Claim(of_inplace(1_200_000), of_inplace(800_000), more_than=1),
    "rate": Claim(
        of_run("pvm_echo", "bandwidth_mean", {**PSEND, "environment": "pvm"}),
        of_run("echo", "bandwidth", {**MPI, **LONG, "environment": "mpich"}),
        more_than=0.9,
    ),
}

STUDY = Study("pvm-1995", tables=TABLES, shown=SHOWN, claims=CLAIMS)
