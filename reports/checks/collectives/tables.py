# SPDX-License-Identifier: Apache-2.0
"""Tables of collective operations: expressions, T0 and R∞."""

from __future__ import annotations

from reports.analysis.run import Analysis
from reports.checks.collectives.expressions import alternatives, expression_text
from reports.checks.collectives.measured import Measured, measured, words
from reports.models.collectives import asymptotic_bandwidth
from reports.notation.units import bytes_text, count_text, percent, readable_unit, significant
from reports.show.lines import joined
from reports.show.rows import environments, name_cell
from reports.show.tables import Cell, Column, Lead, Table, across, numeric, pivot


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
        " least BIC, by relative least squares to the medians over launches. Where two laws fit"
        " alike the cell says undetermined and gives them all. No law where the best is off by"
        " more than 25 % rms, or every one misses left-out process counts by more than 50 %:"
        " ranks share cores, or the library changes its algorithm with the length.",
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
        badges=(*(["undetermined"] if others else []), *family.flags),
    )


def latencies(analysis: Analysis) -> Table | None:
    """Measured startup latency T0(p) and aggregated bandwidth R∞(p), a column a process count."""
    families = measured(analysis)
    counts = sorted({p for family in families for p in family.counts})
    several = [p for p in counts if p > 1]

    def startups(line: list[Measured]) -> list[str]:
        data, shortest = line[0].data, line[0].shortest
        at_count = ((data.p == p) & (data.message_bytes == shortest) for p in counts)
        times = (data.time_s[mask].tolist() for mask in at_count)
        return [significant(each[0] * 1e6) if each else "–" for each in times]

    def bandwidth(family: Measured, p: int) -> float | None:
        delay = None if isinstance(family.model, str) else family.model.best.delay
        if delay is None or p not in family.counts:
            return None
        return asymptotic_bandwidth(family.operation, delay, p)

    rates = {family: [bandwidth(family, p) for p in several] for family in families}
    unit = readable_unit("bytes/s", (rate for each in rates.values() for rate in each if rate))
    shortest = sorted({f.shortest for f in families if f.operation != "barrier"})
    lengths = ", ".join(bytes_text(size) for size in shortest)
    return pivot(
        families,
        _LEAD,
        [
            (numeric(*(f"T0({p}), µs" for p in counts)), startups),
            (
                numeric(*(f"R∞({p}), {unit.label}" for p in several)),
                lambda line: [
                    "–" if rate is None else significant(rate / unit.factor)
                    for rate in rates[line[0]]
                ],
            ),
        ],
        anchor="table-collective-latencies",
        title="Startup latency T0(p) and aggregated bandwidth R∞(p)",
        note=f"T0: median time of the shortest message ({lengths}; the barrier has none). R∞ = f/D"
        " from the fitted delay, f = p − 1 messages for broadcast, gather, scatter, reduce and"
        " scan, p(p − 1) for total exchange (1996), and so for allgather and reduce-scatter,"
        " 2(p − 1) for allreduce.",
    )
