# SPDX-License-Identifier: Apache-2.0
"""K. Hwang, C. Wang and C.-L. Wang (1996): tables, figures and claims, and what a run has of the
same kind: T(m, p) = a·f(p) + b + (c·g(p) + d)·m."""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import permutations, product
from operator import sub
from statistics import fmean
from typing import Any, cast

import numpy as np

from plugins.papers.fields import LENGTH, NOWHERE, BlockValues, Field, Point, computed, plain_value
from plugins.papers.run_values import RunValues, of_run
from plugins.papers.study import Claim, Datum, Drawn, Key, PrintedTable, Quantity, Study, table
from reports.models.collectives import FORMS, Form, Law, aggregated_factor

#: The forms f of start-up and g of delay in the paper's Table 3.
FORMS_OF: dict[str, tuple[Form, Form]] = {
    "barrier": ("log2_p", "log2_p"),
    "broadcast": ("log2_p", "log2_p"),
    "gather": ("p", "p"),
    "scatter": ("p", "p"),
    "reduce": ("log2_p", "log2_p"),
    "scan": ("log2_p", "p"),
    "total_exchange": ("p", "p"),
}
#: The T3D was measured up to so many nodes.
T3D_NODES = 64
#: A line of any form meets fewer numbers of nodes.
LEAST_COUNTS = 3
#: Operations with a length, and numbers of nodes of the figures.
LENGTHY = ["broadcast", "gather", "scatter", "reduce", "scan", "total_exchange"]
PROCS = [2, 4, 8, 16, 32, 64, 128]
OPERATION, NODES = Key("operation", "operation", "at.operation"), Key("procs", "nodes", "ranks")
BYTES = Key("message_bytes", "bytes", LENGTH)


def by_expression(row: Mapping[str, str], at: Mapping[str, float]) -> dict[str, float | None]:
    """The paper's Table 3 at p nodes and m bytes, µs and MB/s; none beyond its nodes."""
    p, m = at["procs"], at.get("message_bytes", 0.0)
    if row["machine"] == "T3D" and p > T3D_NODES:
        return dict.fromkeys(("startup_us", "delay_us", "time_us", "rate_mb_s"))

    def law(form: str, slope: str, offset: str) -> float:
        return Law(cast(Form, row[form]), float(row[offset]), float(row[slope])).at(p)

    startup = law("startup_form", "startup_a_us", "startup_b_us")
    found = {"startup_us": startup, "delay_us": None, "time_us": startup, "rate_mb_s": None}
    if not row["delay_form"]:
        return found
    per_byte = law("delay_form", "delay_c_us_per_byte", "delay_d_us_per_byte")
    if per_byte <= 0:  # some fits give a negative delay at few nodes
        return {**found, "time_us": None}
    rate = aggregated_factor(row["operation"], p) / per_byte
    delay = per_byte * m
    return {**found, "delay_us": delay, "time_us": startup + delay, "rate_mb_s": rate}


def fitted(
    times_s: Mapping[tuple[float, float], float], forms: tuple[Form, Form]
) -> tuple[Law, Law | None] | None:
    """Start-up and delay of times by (p, m), by plain least squares as in the paper.

    T0 is the time of the shortest message, D = T − T0 of the others. None with times at fewer than
    LEAST_COUNTS p; no delay for an operation without a length.
    """
    shortest = min(m for _, m in times_s)
    first = {p: time for (p, m), time in times_s.items() if m == shortest}
    if len(first) < LEAST_COUNTS:
        return None
    startup = _line(forms[0], [(p, 1.0, time) for p, time in first.items()])
    rest = [(p, m, time - first[p]) for (p, m), time in times_s.items() if m > shortest]
    enough = len({p for p, _, _ in rest}) >= LEAST_COUNTS
    return startup, _line(forms[1], rest) if enough else None


def _line(form: Form, points: Sequence[tuple[float, float, float]]) -> Law:
    """value = (slope·form(p) + offset)·m of (p, m, value) by least squares."""
    p, m, values = np.array(points).T
    design = np.column_stack([FORMS[form](p) * m, m])
    slope, offset = np.linalg.lstsq(design, values, rcond=None)[0]
    return Law(form, float(offset), float(slope))


def by_law(
    times: Field, value: Callable[[str, float, Law, Law | None], float], *, by_ranks: bool = False
) -> Field:
    """Value by the law through times by operation, ranks and length, for each operation, or for
    each at each number of ranks."""
    lines: dict[tuple[str, str], dict[tuple[float, float], BlockValues]] = {}
    for (operation, ranks, length), name, one in times.items():
        # An operation without a length has none.
        at = float(ranks), 0.0 if length == NOWHERE else float(length)
        if operation in FORMS_OF:
            lines.setdefault((operation, name), {})[at] = one
    made = []
    for (operation, name), line in lines.items():
        for p in dict.fromkeys(p for p, _ in line) if by_ranks else [math.nan]:

            def part(*times_s: float, operation: str = operation, p: float = p) -> float:
                laws = fitted(dict(zip(line, times_s, strict=True)), FORMS_OF[operation])  # noqa: B023
                return value(operation, p, *laws) if laws else math.nan

            point = (operation, plain_value(p)) if by_ranks else (operation,)
            made.append((point, name, computed(part, *line.values())))
    return times.made(made, times.axes[: 1 + by_ranks], "law")


def law_rate(operation: str, p: float, _: Law, delay: Law | None) -> float:
    """R∞(p) = f(m, p)/m over c·g(p) + d, bytes/s."""
    per_byte = delay.at(p) if delay else 0.0
    return aggregated_factor(operation, p) / per_byte if per_byte > 0 else math.nan


def aggregated(at: Mapping[str, str], time_s: float) -> float:
    """f(m, p) over a time: bytes that an operation moves in all, a second."""
    moved = aggregated_factor(at["at.operation"], float(at["ranks"])) * float(at[LENGTH])
    return moved / time_s if moved and time_s > 0 else math.nan


def times(run: RunValues) -> Field:
    """A run's times, by operation, ranks and length."""
    return run.values("collectives", "collective_time", by=["at.operation", "ranks", LENGTH])


def start_up(where: Mapping[str, object] | None = None) -> Quantity:
    """Times of the shortest message."""
    return lambda run: run.values("collectives", "collective_time", where, [LENGTH]).pick(
        LENGTH, "least"
    )


def bend(line: Mapping[Point, BlockValues]) -> BlockValues | None:
    """Of times by number of nodes that on a middle number, over the value half-way between line and
    logarithm from the least to the greatest: below 1 they grow linearly, above logarithmically."""
    low, *between, high = sorted(line, key=lambda point: float(point[0]))
    if not between:
        return None
    middle = between[len(between) // 2]
    first, p, last = (float(point[0]) for point in (low, middle, high))
    share = fmean([(p - first) / (last - first), math.log(p / first) / math.log(last / first)])
    return computed(
        lambda a, b, c: b / (a + share * (c - a)), *(line[one] for one in (low, middle, high))
    )


def growth(operations: list[str], **limit: Any) -> Claim:
    """Claim on how start-up grows with the nodes, of each of these operations."""
    where = {"at.operation": operations}

    def bent(run: RunValues) -> Field:
        times = run.values("collectives", "collective_time", where, ["ranks", LENGTH])
        return times.pick(LENGTH, "least").along(["ranks"], bend)

    return Claim(bent, None, ["at.operation"], each="at.operation", **limit)


def least_swap(times: Mapping[Any, float], names: Point, operations: Point) -> float:
    """The lesser of the factors by which the first takes longer than the second in one operation,
    and the second than the first in another; `times` by operation and name."""
    (a, b), (x, y) = names, operations
    return min(times[x, a] / times[x, b], times[y, b] / times[y, a])


def changed_places(run: RunValues) -> Field:
    """By how much two libraries change places between two operations: those that do so most in the
    first half of the blocks, in the other half, which they were not chosen by."""
    by = ["at.operation", "ranks", LENGTH]
    times = run.values("collectives", "collective_time", {"at.operation": LENGTHY}, by)
    times = times.pick(LENGTH, "greatest").pick("ranks", "greatest")
    one = {(point[0], name): values for point, name, values in times.items()}
    names, operations = ({key[place] for key in one} for place in (1, 0))
    if len(names) < 2 or len(one) < len(names) * len(operations):
        return Field((), {})
    blocks = sorted(set.intersection(*(set(values.by_block) for values in one.values())))
    at = {block: {key: values.by_block[block] for key, values in one.items()} for block in blocks}
    half = len(blocks) // 2
    best = max(
        product(permutations(names, 2), permutations(operations, 2)),
        key=lambda c: sum(math.log(least_swap(at[b], *c)) for b in blocks[:half]),
    )
    swaps = {block: least_swap(at[block], *best) for block in blocks[half:]}
    return times.made(
        [((), "", BlockValues(swaps, tuple(f for v in one.values() for f in v.flags)))], ()
    )


def delays(run: RunValues) -> Field:
    """Times less that of the shortest message, by operation, ranks and length."""
    return times(run).against(LENGTH, "least", sub, "difference")


def delay(run: RunValues) -> Field:
    """Time of 1024 bytes less that of the shortest message."""
    times = run.values("collectives", "collective_time", by=[LENGTH])
    return times.against(LENGTH, "least", sub, "difference").pick(LENGTH, 1024)


def barrier(run: RunValues) -> Field:
    """Time of a barrier on the greatest number of nodes."""
    where = {"at.operation": "barrier"}
    times = run.values("collectives", "collective_time", where, ["ranks"])
    return times.pick("ranks", "greatest")


def time_of(operation: str) -> Quantity:
    """Times of an operation."""
    return of_run("collectives", "collective_time", {"at.operation": operation})


def coefficient(column: str, index: int, part: str, **unit: Any) -> Datum:
    """A coefficient of Table 3: `part` of the law of start-up, 0, or delay, 1."""

    def fit(_: str, __: float, *laws: Law | None) -> float:
        law = laws[index]
        return getattr(law, part) if law else math.nan

    return Datum(column, lambda run: by_law(times(run), fit), **unit)


def by_expressions(number: str, *values: Datum, **further: Any) -> PrintedTable:
    """A figure whose curves are given by Table 3."""
    further = {"only": {"operation": LENGTHY}, "law": by_expression, **further}
    return table(number, "timing_expressions.csv", *values, **further)


def quoted(number: str, value: Datum, **further: Any) -> PrintedTable:
    """Times that the text quotes."""
    return table(number, "measured_latencies.csv", value, **further)


TABLES = [
    by_expressions(
        "Figure 1",
        Datum("startup_us", start_up()),
        keys=[OPERATION, NODES],
        only={},
        at={"procs": PROCS},
        figures="Figure 1",
    ),
    by_expressions(
        "Figure 2",
        Datum("time_us", of_run("collectives", "collective_time")),
        keys=[OPERATION, NODES, BYTES],
        at={"procs": [32], "message_bytes": [4**k for k in range(1, 9)]},
        nearest={"procs": 32},
        figures="Figure 2",
        further=False,
    ),
    by_expressions(
        "Figure 3",
        Datum("time_us", of_run("collectives", "collective_time", {LENGTH: [16, 65536]})),
        keys=[OPERATION, BYTES, NODES],
        at={"procs": PROCS, "message_bytes": [16, 65536]},
        figures="Figure 3",
    ),
    by_expressions(
        "Figure 4",
        Datum("startup_us", start_up()),
        Datum("delay_us", delay),
        keys=[OPERATION, NODES],
        at={"procs": [32], "message_bytes": [1024]},
        nearest={"procs": 32},
        further=False,
    ),
    table(
        "Table 3",
        "timing_expressions.csv",
        coefficient("startup_a_us", 0, "slope"),
        coefficient("startup_b_us", 0, "offset"),
        coefficient("delay_c_us_per_byte", 1, "slope", unit="s", factor=1e-6),
        coefficient("delay_d_us_per_byte", 1, "offset", unit="s", factor=1e-6),
        keys=[OPERATION],
    ),
    by_expressions(
        "Figure 5",
        Datum("rate_mb_s", lambda run: delays(run).at_points(aggregated).pick(LENGTH, "greatest")),
        Datum("rate_mb_s", lambda run: by_law(times(run), law_rate, by_ranks=True)),
        keys=[OPERATION, NODES],
        at={"procs": PROCS},
        figures="Figure 5",
    ),
    quoted(
        "Times quoted in the text",
        Datum("time_us", of_run("collectives", "collective_time")),
        keys=[OPERATION, NODES, Key("message_bytes", "bytes", LENGTH, {"": 4})],
        only={
            "operation": LENGTHY,
            "quantity": [
                "startup_measured",
                "collective_time_measured",
                "collective_time_from_expression",
            ],
        },
        further=False,
    ),
    quoted(
        "Barrier quoted in the text", Datum("time_us", barrier), only={"operation": ["barrier"]}
    ),
    quoted(
        "Ranges quoted in the text",
        Datum("time_us"),
        across=["machine", "quantity"],
        only={"quantity": ["collective_time_range_min", "collective_time_range_max"]},
        stands="quantity",
    ),
    quoted(
        "Hops quoted in the text", Datum("time_us"), only={"quantity": ["network_latency_per_hop"]}
    ),
    table(
        "Bandwidths quoted in the text",
        "aggregated_bandwidth.csv",
        Datum("bandwidth_mb_s"),
        across=["machine", "operation", "quantity"],
        stands="quantity",
    ),
]

SHOWN = [
    Drawn(
        "Table 3 of today",
        after="Table 3",
        check="collectives",
        only=[
            "picture-collective-length",
            "picture-collective-counts",
            "table-collective-expressions",
            "table-collective-latencies",
        ],
    )
]

CLAIMS = {
    "total exchange": Claim(
        time_of("total_exchange"), time_of("broadcast"), ["ranks", LENGTH], more_than=1
    ),
    "linear": growth(["gather", "scatter", "total_exchange"], less_than=1),
    "logarithmic": growth(["barrier", "broadcast", "reduce", "scan"], more_than=1),
    "ranking": Claim(changed_places, more_than=1),
}

STUDY = Study("collectives-1996", ranks_per_node=1, tables=TABLES, shown=SHOWN, claims=CLAIMS)
