# SPDX-License-Identifier: Apache-2.0
"""Closed forms of papers: rows of printed coefficients become rows of points, and measured times
become coefficients of the same forms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from reports.models.collectives import FORMS, Form, Law, aggregated_factor
from reports.papers.definition import ClosedForm
from reports.statistics.descriptive import Vector

_Row = Mapping[str, str]
_At = Mapping[str, float]
#: Columns that a law adds to a row; without a value, "".
_Law = Callable[[_Row, _At], dict[str, float | None]]
#: A line through fewer numbers of nodes meets them whatever its form is.
LEAST_COUNTS = 3


def expanded(rows: Iterable[_Row], law: ClosedForm) -> Iterator[dict[str, str]]:
    """Each row at every combination of the law's coordinates, with what the law gives there."""
    names = list(law.at)
    for row in rows:
        for values in product(*law.at.values()):
            at = dict(zip(names, values, strict=True))
            made = LAWS[law.law](row, at)
            texts = {name: f"{value:.12g}" for name, value in at.items()}
            texts |= {n: "" if value is None else f"{value:.12g}" for n, value in made.items()}
            yield {**row, **texts}


def _collective(row: _Row, at: _At) -> dict[str, float | None]:
    """T(m, p) = a·f(p) + b + (c·g(p) + d)·m of Hwang, Wang and Wang (1996), µs and MB/s."""
    p, m = at["procs"], at.get("message_bytes", 0.0)

    def law(form: str, slope: str, offset: str) -> Law:
        return Law(form, float(row[offset]), float(row[slope]))  # type: ignore[arg-type]

    startup = law(row["startup_form"], "startup_a_us", "startup_b_us").at(p)
    if not row["delay_form"]:
        return {"startup_us": startup, "delay_us": None, "time_us": startup, "rate_mb_s": None}
    per_byte = law(row["delay_form"], "delay_c_us_per_byte", "delay_d_us_per_byte").at(p)
    if per_byte <= 0:  # some fits give a negative delay at few nodes
        return {"startup_us": startup, "delay_us": None, "time_us": None, "rate_mb_s": None}
    rate = aggregated_factor(row["operation"], p) / per_byte
    return {
        "startup_us": startup,
        "delay_us": per_byte * m,
        "time_us": startup + per_byte * m,
        "rate_mb_s": rate,
    }


def _half_length(row: _Row, at: _At) -> dict[str, float | None]:
    """R(m) = R∞·m/(m + n½), R∞ from the rate of 10⁶ bytes (Hockney), MB/s."""
    if not (row["bandwidth_mb_s"] and row["n_half_bytes"]):
        return {"rate_mb_s": None}
    m, half = at["message_bytes"], float(row["n_half_bytes"])
    greatest = float(row["bandwidth_mb_s"]) * (1 + half / 1e6)
    return {"rate_mb_s": greatest * m / (m + half)}


def _latency_and_rate(row: _Row, at: _At) -> dict[str, float | None]:
    """R(m) = m/t, t the straight line through the latency and the rate of 800 Kbytes, MB/s."""
    m, latency_us = at["message_bytes"], float(row["latency_us"])
    per_byte_us = 1 / float(row["bandwidth_mb_s"]) - latency_us / 8e5
    return {"rate_mb_s": m / (latency_us + per_byte_us * m)}


LAWS: dict[str, _Law] = {
    "collective": _collective,
    "half_length": _half_length,
    "latency_and_rate": _latency_and_rate,
}


@dataclass(frozen=True)
class Coefficients:
    """T(m, p) = a·f(p) + b + (c·g(p) + d)·m, in s; no delay for an operation without a length."""

    startup: Law
    delay: Law | None

    def rate(self, operation: str, p: float) -> float | None:
        """R∞(p) in bytes/s; None where no delay above 0 is known."""
        per_byte = self.delay.at(p) if self.delay else 0.0
        return aggregated_factor(operation, p) / per_byte if per_byte > 0 else None


def fitted(
    times_s: Mapping[tuple[float, float], float], forms: Sequence[Form]
) -> Coefficients | None:
    """The coefficients of times by (p, m), with the forms f and g, by plain least squares.

    As Hwang, Wang and Wang (1996) did: T0 is the time of the shortest message, D = T − T0 of the
    others. None with times at fewer than LEAST_COUNTS p.
    """
    shortest = min(m for _, m in times_s)
    first = {p: time for (p, m), time in times_s.items() if m == shortest}
    counts = np.array(sorted(first))
    if len(counts) < LEAST_COUNTS:
        return None
    startup = _line(forms[0], counts, np.ones_like(counts), np.array([first[p] for p in counts]))
    rest = [(p, m, time - first[p]) for (p, m), time in times_s.items() if m > shortest]
    if len({p for p, _, _ in rest}) < LEAST_COUNTS:
        return Coefficients(startup, None)
    return Coefficients(startup, _line(forms[-1], *np.array(rest).T))


def _line(form: Form, p: Vector, m: Vector, values: Vector) -> Law:
    """values = (slope·form(p) + offset)·m by least squares."""
    design = np.column_stack([FORMS[form](p) * m, m])
    slope, offset = np.linalg.lstsq(design, values, rcond=None)[0]
    return Law(form, float(offset), float(slope))
