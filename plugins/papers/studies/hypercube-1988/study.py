# SPDX-License-Identifier: Apache-2.0
"""T. H. Dunigan (1988): tables, figures and claims, and what a run has of the same kind."""

from typing import Any

from plugins.papers.fields import LENGTH, Field
from plugins.papers.run_values import RunValues, of_run, share_of
from plugins.papers.study import Claim, Datum, Drawn, Key, PrintedTable, Quantity, Study, table

#: Two nodes as Slurm places them.
NODES = {"params.placement": "between-nodes", "params.transport": "library", "params.hops": 0}
SHORT = {LENGTH: [8, 16, 32, 64, 128, 256, 512]}
HOST = {"params.placement": "login-node", "params.transport": "tcp"}
SELF = {"params.placement": "self"}
TYPES = {"integer2": "integer16", "integer4": "integer32", "real4": "real32", "real8": "real64"}
BYTES = Key("length_bytes", "bytes", LENGTH)

time = of_run("echo", "half_round_trip", NODES)
LONGEST = {**NODES, LENGTH: 8192}
long_rate = of_run("echo", "bandwidth", LONGEST)
of_8_bytes = of_run("echo", "half_round_trip", {**NODES, LENGTH: 8})
product = of_run("node", "operation_time", {"at.operand": "real64", "at.operation": "*"})
sum_of_products = of_run(
    "node", "operation_time", {"at.operand": "real64", "at.operation": "*+*+*"}
)


def times(run: RunValues) -> Field:
    """Times of an echo, by length too."""
    return run.values("echo", "half_round_trip", NODES, by=[LENGTH])


def greatest_ring(run: RunValues, **where: object) -> Field:
    """Rate of the ring of most ranks."""
    return run.values("ring", "ring_rate", where, by=["ranks"]).pick("ranks", "greatest")


def by_hops(run: RunValues) -> Field:
    """Rates by hops; two nodes as Slurm places them are neighbours, unless one hop was measured."""
    where = {"params.placement": "between-nodes", "params.transport": "library"}
    rates = run.values("echo", "bandwidth", where)
    hops = rates.axes.index("params.hops")
    found = {
        (*p[:hops], "1", *p[hops + 1 :]): by for p, by in rates.values.items() if p[hops] == "0"
    }
    return Field(rates.axes, found | {p: by for p, by in rates.values.items() if p[hops] != "0"})


def echoes(part: str, path: str, ours: Quantity, **further: Any) -> PrintedTable:
    """A part of Tables 8 to 11."""
    rate = Datum("rate_kb_s", ours)
    further = {"keys": [BYTES], "only": {"path": [path]}, **further}
    return table(f"Tables 8 to 11, {part}", "data_rates.csv", rate, **further)


TABLES = [
    table(
        "Table 3",
        "arithmetic.csv",
        Datum("time_us", of_run("node", "operation_time")),
        keys=[
            Key("data_type", "type", "at.operand", TYPES),
            Key("operation", "operation", "at.operation"),
        ],
    ),
    *(
        table(
            f"Table 4 and Figure 1, {program}",
            "synthetic.csv",
            Datum("wall_s", of_run("node", f"{program.lower()}_time")),
            only={"test": [program.lower()]},
        )
        for program in ("sieve", "Dhrystone", "floatmath", "Whetstone")
    ),
    table(
        "Table 5",
        "memory.csv",
        Datum("total_kbytes"),
        Datum("available_kbytes", of_run("node", "allocatable_memory")),
    ),
    table(
        "Table 6",
        "ring.csv",
        Datum("rate_kb_s", greatest_ring),
        Datum("wall_s"),
        keys=[BYTES],
        drawn=["rate_kb_s"],
        figures="Figure 2",
    ),
    table(
        "Table 7",
        "coefficients.csv",
        Datum("startup_us", lambda run: times(run).line("start_up")),
        Datum("byte_transfer_us", lambda run: times(run).line("per_byte")),
        across=["machine", "message_regime"],
    ),
    echoes(
        "neighbours and hops",
        "node",
        by_hops,
        keys=[Key("hops", "hops", "params.hops"), BYTES],
        figures="Figures 3 and 4",
    ),
    echoes("self", "self", of_run("echo", "bandwidth", SELF), figures="Figure 5"),
    echoes("host", "host", of_run("echo", "bandwidth", HOST), figures="Figure 6"),
    table(
        "Table 12",
        "figures_of_merit.csv",
        Datum("data_rate_kb_s", long_rate),
        Datum(
            "kiloflops",
            lambda run: sum_of_products(run).each(lambda time_s: 1 / time_s),
            unit="flop/s",
            factor=1000,
        ),
        Datum("transfer_8_byte_us", of_8_bytes),
        Datum("multiply_8_byte_us", product),
        Datum("comm_comp_ratio", lambda run: of_8_bytes(run) / product(run), unit="1"),
    ),
]

SHOWN = [
    Drawn(
        "Hops",
        after="Tables 8 to 11, neighbours and hops",
        check="echo",
        only=["picture-echo-hops", "table-echo-hops"],
    ),
    Drawn("Figure 7", after="Table 12", check="interference"),
    Drawn("Figure 8", after="Table 12", check="cholesky"),
]

CLAIMS = {
    "ring": Claim(lambda run: greatest_ring(run, **{LENGTH: 8192}), long_rate, more_than=0.9),
    "self": Claim(of_run("echo", "half_round_trip", SELF), time, [LENGTH], less_than=1),
    "host": Claim(
        of_run("echo", "half_round_trip", {**HOST, **SHORT}),
        of_run("echo", "half_round_trip", {**NODES, **SHORT}),
        [LENGTH],
        more_than=1,
    ),
    "hops": Claim(
        of_run("echo", "half_round_trip", {"params.hops": 3}),
        of_run("echo", "half_round_trip", {"params.hops": 1}),
        [LENGTH],
        less_than=1.1,
    ),
    "channel": Claim(share_of("network", "echo", "bandwidth", LONGEST), more_than=0.4),
    "8 bytes": Claim(of_8_bytes, product, more_than=50),
}

STUDY = Study("hypercube-1988", tables=TABLES, shown=SHOWN, claims=CLAIMS)
