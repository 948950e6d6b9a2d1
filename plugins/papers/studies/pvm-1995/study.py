# SPDX-License-Identifier: Apache-2.0
"""H. Casanova, J. Dongarra and W. Jiang (1995): tables, figures and claims, and what a run has of
the same kind."""

from __future__ import annotations

from collections.abc import Mapping

from plugins.papers.fields import LENGTH
from plugins.papers.run_values import of_run
from plugins.papers.study import Claim, Key, Quantity, Shown, Study, Value, ratio, table

NODES = {"params.placement": "between-nodes"}
MPI = {**NODES, "params.transport": "library", "params.hops": 0}
DIRECT = {**NODES, "params.route": "direct"}
#: The messages through which the paper's straight lines go.
LINE_BYTES = 1024
SHORT = {LENGTH: [128, 256, 512, 768, 1024]}
LONG = {LENGTH: 800_000}
#: Lengths of figures 2, 4 and 6, and of 3(a), 5 and 7.
OF_RATES = [16, 64, 256, 1024, 4096, 16384, 65536, 262144, 800000]
OF_TIMES = [0, 128, 256, 384, 512, 640, 768, 896, 1024]
PROTOCOLS = {"pvm_psend": "psend", "PvmDataInPlace": "InPlace", "PvmDataRaw": "Raw"}
KEYS = [
    Key("protocol", "protocol", "at.construct", PROTOCOLS),
    Key("", "route", "params.route", then="direct"),
]
BYTES = Key("message_bytes", "bytes", LENGTH)
PVM = {"library": ["PVM"]}
NATIVE = {"library": ["CMMD", "NX", "MPL"]}
OF_LINE = "intercept of a straight line up to 1024 bytes"
OF_RATE = "from the mean of 100 round trips of 800 Kbytes"
DRAWN = "by a straight line through the printed latency and the rate of 800 Kbytes"


def of_pvm(construct: str, at: Mapping[str, object] | None = None) -> Quantity:
    """Half a round trip by a protocol on the direct route."""
    return of_run(
        "pvm_echo", "half_round_trip", {"at.construct": construct, **DIRECT, **(at or {})}
    )


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


TABLES = [
    table(
        "Table 2",
        "latency_bandwidth.csv",
        Value(
            "latency_us",
            "latency",
            "intercept of a straight line up to 1024 bytes",
            start_up("pvm_echo", NODES),
        ),
        Value(
            "bandwidth_mb_s",
            "bandwidth",
            "from the mean of 100 round trips of 800 Kbytes",
            of_run("pvm_echo", "bandwidth_mean", {**NODES, **LONG}),
        ),
        keys=KEYS,
        only=PVM,
    ),
    table(
        "Table 2, native calls and PVMe",
        "latency_bandwidth.csv",
        Value(
            "latency_us",
            "latency",
            "intercept of a straight line up to 1024 bytes",
            start_up("echo", MPI),
        ),
        Value(
            "bandwidth_mb_s",
            "bandwidth",
            "from the mean of 100 round trips of 800 Kbytes",
            of_run("echo", "bandwidth", {**MPI, **LONG}),
        ),
        across=["machine", "library", "protocol", "mode"],
        only={"library": ["CMMD", "NX", "MPL", "PVMe"]},
    ),
    table(
        "Figures 2, 4 and 6",
        "latency_bandwidth.csv",
        Value(
            "rate_mb_s",
            "rate",
            "by a straight line through the printed latency and the rate of 800 Kbytes",
            of_run("pvm_echo", "bandwidth_mean", NODES),
        ),
        keys=[*KEYS, BYTES],
        only=PVM,
        law=by_latency_and_rate,
        at={"message_bytes": OF_RATES},
        printed=False,
    ),
    table(
        "Figures 2, 4 and 6, native calls",
        "latency_bandwidth.csv",
        Value(
            "rate_mb_s",
            "rate",
            "by a straight line through the printed latency and the rate of 800 Kbytes",
            of_run("echo", "bandwidth", MPI),
        ),
        keys=[BYTES],
        across=["machine", "library"],
        only=NATIVE,
        law=by_latency_and_rate,
        at={"message_bytes": OF_RATES},
        printed=False,
    ),
    table(
        "Figures 3(a), 5 and 7",
        "latency_bandwidth.csv",
        Value(
            "time_us",
            "transfer time",
            "by a straight line through the printed latency and the rate of 800 Kbytes",
            of_run("pvm_echo", "half_round_trip_mean", {**NODES, LENGTH: OF_TIMES}),
        ),
        keys=[*KEYS, BYTES],
        only=PVM,
        law=by_latency_and_rate,
        at={"message_bytes": OF_TIMES},
        printed=False,
    ),
    table(
        "Figures 3(a), 5 and 7, native calls",
        "latency_bandwidth.csv",
        Value(
            "time_us",
            "transfer time",
            "by a straight line through the printed latency and the rate of 800 Kbytes",
            of_run("echo", "half_round_trip_mean", {**MPI, LENGTH: OF_TIMES}),
        ),
        keys=[BYTES],
        across=["machine", "library"],
        only=NATIVE,
        law=by_latency_and_rate,
        at={"message_bytes": OF_TIMES},
        printed=False,
    ),
    table(
        "Latencies in the text",
        "linear_fit_latencies.csv",
        Value(
            "latency_us",
            "latency",
            "intercept of a straight line up to 1024 bytes",
            without="Table 2 above has the same quantity beside today's",
        ),
        across=["machine", "library", "protocol", "mode"],
    ),
    table(
        "Copies in the text",
        "copies.csv",
        Value(
            "total_copies",
            "copies",
            "by the protocol's design",
            without="it is a property of the protocol",
            unit="1",
        ),
        Value(
            "network_messages",
            "messages",
            "by the protocol's design",
            without="it is a property of the protocol",
            unit="1",
        ),
        across=["send_routine", "encoding"],
        stands="protocol",
    ),
    table(
        "Times of 800 Kbytes",
        "bcopy.csv",
        Value(
            "time_us",
            "local copy",
            "one value; how often is not stated",
            of_run("pvm_echo", "copy_time", {**LONG, **DIRECT}),
        ),
        only={"operation": ["bcopy"]},
    ),
    table(
        "Times of 800 Kbytes by PVM",
        "bcopy.csv",
        Value(
            "time_us",
            "one-way time",
            "half a round trip",
            of_run("pvm_echo", "half_round_trip_mean", {**LONG, **DIRECT}),
        ),
        keys=[
            Key(
                "operation",
                "protocol",
                "at.construct",
                {"pvm_psend": "psend", "pvm_send_inplace": "InPlace", "pvm_send_raw": "Raw"},
            )
        ],
        only={"operation": ["pvm_psend", "pvm_send_inplace", "pvm_send_raw"]},
    ),
]

SHOWN = [
    Shown(
        "Where the time goes",
        after="Times of 800 Kbytes by PVM",
        check="pvm_echo",
        only=["table-pvm-order", "table-pvm-steps"],
    )
]

CLAIMS = {
    "psend and InPlace": Claim(ratio(of_pvm("psend"), of_pvm("InPlace"), LENGTH), less_than=1),
    "psend and Raw": Claim(ratio(of_pvm("psend"), of_pvm("Raw"), LENGTH), less_than=1),
    "short messages": Claim(
        ratio(of_pvm("InPlace", SHORT), of_pvm("Raw", SHORT), LENGTH), more_than=1
    ),
    "long messages": Claim(ratio(of_pvm("InPlace", LONG), of_pvm("Raw", LONG)), less_than=1),
    "rate": Claim(
        ratio(
            of_run(
                "pvm_echo",
                "bandwidth_mean",
                {**DIRECT, "at.construct": "psend", **LONG, "environment": "pvm"},
            ),
            of_run("echo", "bandwidth", {**MPI, **LONG, "environment": "mpich"}),
        ),
        more_than=0.9,
    ),
}

STUDY = Study(
    "pvm-1995",
    words={"no_interrupt": "without interrupts", "interrupt": "with interrupts"},
    tables=TABLES,
    shown=SHOWN,
    claims=CLAIMS,
)
