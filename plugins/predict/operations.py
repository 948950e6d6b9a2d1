# SPDX-License-Identifier: Apache-2.0
"""Laws of the collective operations of a run: points of each environment and operation, the law
chosen, and what a report shows of it, as Table 3 of Hwang, Wang and Wang (1996) prints it."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from plugins.predict import collectives as models
from reports.analysis.run import Analysis, Row, flags_of
from reports.models.collectives import Form, Law
from reports.notation.labels import QUIET, Look
from reports.notation.units import bytes_text, count_text, percent, readable_unit, significant
from reports.show.lines import footer, joined, lines_of, picture_of, ranges_text
from reports.show.panel import Axis, Mark, Panel, Picture, Series
from reports.show.rows import environments, message_bytes, name_cell
from reports.show.tables import Cell, Column, Lead, Table, across, numeric, pivot

CHECK = "collectives"
METRIC = "collective_time"
#: Panels of a picture: the operations of a campaign with a variant or two.
MOST_OPERATIONS = 16
#: Parameters that do not make a family of their own: on an axis, or how often was measured.
_NO_VARIANT = ("ranks", "repetitions", "runs", "warmup", "seed")
_NAMES: dict[Form, str] = {
    "log2_p": " log₂p",
    "ceil_log2_p": " ⌈log₂p⌉",
    "p": " p",
    "(p-1)/p": " (p−1)/p",
    "constant": "",
    "sqrt_p": " √p",
    "p_log2_p": " p log₂p",
    "p_squared": " p²",
}


@dataclass(frozen=True, eq=False)
class Measured:
    """Curve family: an operation in an environment over sizes and process counts.

    `variant` names the procedure or the placement where a campaign varies them. The fitted times
    are medians over launches.
    """

    operation: str
    environment: str
    variant: str
    rows: list[Row]
    data: models.Points
    model: models.CollectiveModel | str
    flags: tuple[str, ...]

    @property
    def counts(self) -> list[int]:
        """The process counts, ascending."""
        return sorted({int(p) for p in self.data.p})

    @property
    def shortest(self) -> int:
        """The least message length: its time stands for T0."""
        return int(self.data.message_bytes.min())


@lru_cache(maxsize=4)
def measured(analysis: Analysis) -> tuple[Measured, ...]:
    """By operation, variant and environment, in reading order."""
    # Validation sorts each list: the paper's operations, then what goes beyond it.
    lists = (case.params.get("operations") for case in analysis.run.plan.cases)
    listed = (str(name) for given in lists if isinstance(given, list) for name in given)
    places = {name: index for index, name in enumerate(dict.fromkeys(listed))}
    names = list(analysis.looks)
    groups: dict[tuple[int, str, str, int], list[Row]] = {}
    for row in analysis.rows_of(CHECK, METRIC):
        case = analysis.case(row)
        variant = ", ".join(analysis.labels[CHECK].parts(case, without=_NO_VARIANT))
        operation = str(row.series.at_value("operation"))
        order = places.get(operation, len(places)), operation
        groups.setdefault((*order, variant, names.index(case.environment)), []).append(row)
    result = []
    for (_, operation, variant, name), rows in sorted(groups.items(), key=lambda item: item[0]):
        data = models.points([(*position(analysis, row), row.summary.median) for row in rows])
        model, flags = models.fit_collective(data), flags_of(rows)
        result.append(Measured(operation, names[name], variant, rows, data, model, flags))
    return tuple(result)


def position(analysis: Analysis, row: Row) -> tuple[int, int]:
    """Process count and message length of a row."""
    return analysis.case(row).ranks, message_bytes(row)


def words(operation: str) -> str:
    """The operation's name for readers."""
    return operation.replace("_", " ")


def startup_text(law: Law) -> str:
    """T0(p) in µs."""
    offset = _number(abs(law.offset) * 1e6)
    if law.form == "constant":
        return offset if law.offset >= 0 else f"−{offset}"
    sign, minus = "+" if law.offset >= 0 else "−", "" if law.slope >= 0 else "−"
    return f"{minus}{_number(abs(law.slope) * 1e6)}{_NAMES[law.form]} {sign} {offset}"


def delay_text(law: Law) -> str:
    """D(m, p) in µs for m bytes."""
    text = startup_text(law)
    return f"{text} m" if law.form == "constant" else f"({text}) m"


def expression_text(startup: Law, delay: Law | None) -> str:
    """T(m, p) in µs for m bytes on p processes."""
    return startup_text(startup) + (f" + {delay_text(delay)}" if delay else "")


def alternatives(model: models.CollectiveModel) -> Iterator[str]:
    """The laws that the model's are not told apart from: "T0 or 55 log₂p + 30 or 9 p + 70"."""
    for part, choice, text in (
        ("T0", model.startup, startup_text),
        ("D", model.delay, delay_text),
    ):
        if choice and not choice.determined:
            yield " or ".join([part, *map(text, choice.alike)])


def _number(value: float) -> str:
    """Two significant digits, three from 100 on, as in the paper; no powers of ten."""
    if value >= 1000:
        return f"{value:.0f}"
    text = f"{value:.3g}" if value >= 100 else f"{value:.2g}"
    return f"{float(text):.10f}".rstrip("0").rstrip(".") if "e" in text else text


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
        return models.asymptotic_bandwidth(family.operation, delay, p)

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


def against_counts(analysis: Analysis) -> Picture | None:
    """Time of the shortest message against processes, with the chosen law and the runner-up."""
    groups = _by_operation(analysis)
    if not any(len(family.counts) > 1 for families in groups.values() for family in families):
        return None
    return picture_of(
        analysis,
        groups.items(),
        lambda group: _count_panel(analysis, *group),
        anchor="picture-collective-counts",
        title="Startup latency of collective operations against process count",
        caption="The shortest message; lines join means, bands: ± s. Thick pale: the chosen law"
        " T0(p); dotted: those that the launches do not tell from it.",
        most=MOST_OPERATIONS,
    )


def _by_operation(analysis: Analysis) -> dict[str, list[Measured]]:
    """The first variant of each operation and environment; the tables have all."""
    groups: dict[str, dict[str, Measured]] = {}
    for family in measured(analysis):
        groups.setdefault(family.operation, {}).setdefault(family.environment, family)
    return {
        operation: list(by_environment.values()) for operation, by_environment in groups.items()
    }


def _count_panel(analysis: Analysis, operation: str, families: list[Measured]) -> Panel:
    rows = [row for f in families for row in f.rows if position(analysis, row)[1] == f.shortest]
    unit = readable_unit("s", [max(row.summary.mean for row in rows)])
    lines = lines_of(analysis, rows, lambda row: float(position(analysis, row)[0]), unit)
    laws: list[Mark] = []
    for family, line in zip(families, lines, strict=True):
        if not isinstance(family.model, str):
            choice = family.model.startup
            grid = np.linspace(min(line.x), max(line.x), 40).tolist()
            pale, dotted = Look(line.look.colour, "", ()), Look(QUIET, "", (1, 1.65))
            law = [choice.law.at(p) / unit.factor for p in grid]
            laws.append(Series(grid, law, pale, width=5, alpha=0.25))
            for other in choice.alike:
                law = [other.at(p) / unit.factor for p in grid]
                laws.append(Series(grid, law, dotted, width=1.2))
    return Panel(
        words(operation),
        [*laws, *lines],
        f"{words(operation)} against processes: {ranges_text(lines, unit.label)}",
        Axis("processes", counts=True),
        Axis(f"time, {unit.label}", low=0),
        footer(analysis, rows),
    )
