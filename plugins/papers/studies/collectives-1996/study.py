# SPDX-License-Identifier: Apache-2.0
"""What is calculated for the tables and claims of K. Hwang, C. Wang and C.-L. Wang (1996):
T(m, p) = a·f(p) + b + (c·g(p) + d)·m."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import cast

import numpy as np

from plugins.papers.fields import (
    LENGTH,
    NOWHERE,
    BlockValues,
    Field,
    computed,
    plain_value,
)
from plugins.papers.run_values import RunValues
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
#: A line through fewer numbers of nodes meets them whatever its form is.
LEAST_COUNTS = 3
_GROWING = {"at.operation": ["barrier", "broadcast", "reduce", "scan"]}


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
    """What the law through times by operation, ranks and length gives for each operation, or for
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


def start_up(run: RunValues, where: Mapping[str, object] | None = None) -> Field:
    """A run's times of the shortest message."""
    return run.values("collectives", "collective_time", where, [LENGTH]).pick(LENGTH, "least")


CALCULATIONS = {
    "by_expression": by_expression,
    "start_up": start_up,
    "start_up_on_16": lambda run: start_up(run, {**_GROWING, "ranks": 16}),
    "start_up_on_4": lambda run: start_up(run, {**_GROWING, "ranks": 4}),
    "delay": lambda run: (
        run.values("collectives", "collective_time", by=[LENGTH])
        .less(LENGTH, "least")
        .pick(LENGTH, 1024)
    ),
    "law_a": lambda run: by_law(times(run), lambda _, __, startup, ___: startup.slope),
    "law_b": lambda run: by_law(times(run), lambda _, __, startup, ___: startup.offset),
    "law_c": lambda run: by_law(times(run), lambda *law: law[3].slope if law[3] else math.nan),
    "law_d": lambda run: by_law(times(run), lambda *law: law[3].offset if law[3] else math.nan),
    "rate": lambda run: (
        times(run).less(LENGTH, "least").at_points(aggregated).pick(LENGTH, "greatest")
    ),
    "law_rate": lambda run: by_law(times(run), law_rate, by_ranks=True),
    "barrier": lambda run: run.values(
        "collectives", "collective_time", {"at.operation": "barrier"}, ["ranks"]
    ).pick("ranks", "greatest"),
}
