# SPDX-License-Identifier: Apache-2.0
"""Tables of collective operations: expressions, choices of laws, T0 and R∞."""

from __future__ import annotations

from reports.analysis.run import Analysis
from reports.checks.collectives.expressions import (
    alternatives,
    delay_text,
    expression_text,
    startup_text,
)
from reports.checks.collectives.measured import Measured, measured, words
from reports.models.collectives import asymptotic_bandwidth
from reports.notation.units import (
    ReadableUnit,
    bytes_text,
    count_text,
    fixed,
    percent,
    readable_unit,
    significant,
)
from reports.show.lines import joined
from reports.show.rows import environments, name_cell
from reports.show.tables import Cell, Column, Heading, Lead, Table, across, numeric, pivot

_UNDETERMINED = "undetermined"


def _operation(family: Measured) -> str:
    return joined(words(family.operation), family.variant)


_LEAD: list[Lead[Measured]] = [
    ("operation", _operation),
    ("environment", lambda family: name_cell(family.environment, family.flags)),
]


def expressions(analysis: Analysis) -> Table | None:
    """T(m, p) of every operation, a column an environment."""
    families = measured(analysis)
    return pivot(
        families,
        [("operation", _operation)],
        [
            across(
                environments(analysis, (family.environment for family in families)),
                lambda family: family.environment,
                _fitted_cell,
                lambda name: Column("fitted", environment=name),
            ),
        ],
        anchor="table-collective-expressions",
        title="Time of collective operations in closed form, as Table 3 of Hwang, Wang and Wang"
        " (1996)",
        note="T(m, p) = T0(p) + D(m, p) in µs for m bytes a pair on p processes: the law with the"
        " least BIC. Where two laws fit alike the cell says undetermined and gives them all; the"
        " choices stand in the next table.",
    )


def _fitted_cell(families: list[Measured]) -> Cell:
    if not families:
        return Cell("–", title="no valid launch")
    family = families[0]
    model = family.model
    if isinstance(model, str):
        return Cell("no law", title=model, badges=family.flags)
    others = list(alternatives(model))
    counts = ", ".join(str(p) for p in family.counts)
    return Cell(
        "; ".join([expression_text(model.best.startup, model.best.delay), *others]),
        title=f"{count_text(model.points, 'point')}, p = {counts}, rms {percent(model.best.rms)}",
        badges=((_UNDETERMINED,) if others else ()) + family.flags,
    )


_CHOICE: list[Heading] = [
    *(Column("law, µs"), Column("runner-up, µs"), "ΔBIC", "left-out p: error, runner-up's"),
    *("rms of the fit", Column("verdict")),
]


def choices(analysis: Analysis) -> Table | None:
    """How each law was chosen: the runner-up, ΔBIC, errors of left-out process counts, rms."""
    lines: list[tuple[Measured, str, list[str]]] = []
    for family in measured(analysis):
        model = family.model
        if isinstance(model, str):
            lines.append((family, "T0, D", [*["–"] * 5, f"no law: {model}"]))
            continue
        parts = (("T0", model.startup, startup_text), ("D", model.delay, delay_text))
        for part, choice, text in parts:
            if choice is not None:
                cells = [
                    text(choice.law),
                    text(choice.runner_up),
                    fixed(choice.delta_bic, 1),
                    ", ".join(map(percent, choice.left_out_rms)),
                    percent(model.best.rms),
                    "determined" if choice.determined else _UNDETERMINED,
                ]
                lines.append((family, part, cells))
    return pivot(
        lines,
        [
            *((heading, lambda line, make=make: make(line[0])) for heading, make in _LEAD),
            ("part", lambda line: line[1]),
        ],
        [(_CHOICE, lambda line: line[0][2])],
        anchor="table-collective-choices",
        title="How the laws were chosen",
        note="Candidates: T0 a, a + b·f(p), D/m c, c + d·g(p), f and g of log₂p, ⌈log₂p⌉ and p, f"
        " of p·log₂p and g of (p − 1)/p as well; all pairs fitted by relative least squares to the"
        " medians over launches. BIC takes p as a random effect: all lengths of one p share its"
        " luck. A simpler law is chosen at ΔBIC ≥ 2, any other at ≥ 6, and only where it is by 3"
        " better than √p (in D than p·log₂p too), no other law predicts left-out process counts"
        " better by more than a tenth, and it misses them by at most 50 %. Where even the best pair"
        " is off by more than 25 % rms, or every pair misses left-out counts by more than 50 %,"
        " there is no law: ranks share cores, at some counts or at all, or the library"
        " changes its algorithm with the length.",
        group=1,
    )


def _rate(rate: float | None, unit: ReadableUnit) -> str:
    return "–" if rate is None else significant(rate / unit.factor)


def latencies(analysis: Analysis) -> Table | None:
    """Measured startup latency T0(p) and aggregated bandwidth R∞(p), a column a process count."""
    families = measured(analysis)
    counts = sorted({p for family in families for p in family.counts})
    several = [p for p in counts if p > 1]

    def startups(line: list[Measured]) -> list[str]:
        data, shortest = line[0].data, line[0].shortest
        found = ((data.p == p) & (data.message_bytes == shortest) for p in counts)
        times = (data.time_s[at].tolist() for at in found)
        return [significant(each[0] * 1e6) if each else "–" for each in times]

    def bandwidth(family: Measured, p: int) -> float | None:
        delay = None if isinstance(family.model, str) else family.model.best.delay
        if delay is None or p not in family.counts:
            return None
        return asymptotic_bandwidth(family.operation, delay, p)

    rates = {family: [bandwidth(family, p) for p in several] for family in families}
    unit = readable_unit("bytes/s", (rate for found in rates.values() for rate in found if rate))
    shortest = sorted({f.shortest for f in families if f.operation != "barrier"})
    lengths = ", ".join(bytes_text(size) for size in shortest)
    return pivot(
        families,
        _LEAD,
        [
            (numeric(*(f"T0({p}), µs" for p in counts)), startups),
            (
                numeric(*(f"R∞({p}), {unit.label}" for p in several)),
                lambda line: [_rate(r, unit) for r in rates[line[0]]],
            ),
        ],
        anchor="table-collective-latencies",
        title="Startup latency T0(p) and aggregated bandwidth R∞(p)",
        note=f"T0: median time of the shortest message ({lengths}; the barrier has none). R∞ = f/D"
        " from the fitted delay, f = p − 1 messages for broadcast, gather, scatter, reduce and"
        " scan, p(p − 1) for total exchange (1996), and so for allgather and reduce-scatter,"
        " 2(p − 1) for allreduce.",
    )
