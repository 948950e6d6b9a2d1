# SPDX-License-Identifier: Apache-2.0
"""Section of a check in a report; for checks that bring none each metric against its axis.

What varies is a coordinate of the points or a parameter of the cases; the first that is a number
throughout is the axis.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from records.units import MESSAGE_BYTES, axis_of
from reports.analysis.cells import ESTIMAND
from reports.analysis.run import Analysis, Row, flags_of
from reports.load.loading import AtKey
from reports.notation.labels import point_text
from reports.notation.units import count_text, readable_unit, sentence_case
from reports.show import lines
from reports.show.panel import Axis, Picture
from reports.show.rows import in_reading_order, measured_in, row_label, side_by_side, value_cell
from reports.show.tables import MOST_ROWS, Cell, Column, Lead, Table, pivot, slug

#: Pictures of one section, and lines of each of its tables; what is beyond stands in summary.csv.
MOST_PICTURES, MOST_LINES = 3, 18
#: Names of environments of more letters than this do not stand side by side below a picture.
MOST_TICK_LETTERS = 30
#: An axis of positive values over more than this ratio is logarithmic, as is one of sizes.
LINEAR_UP_TO = 50.0


@dataclass(frozen=True, slots=True)
class Section:
    """A check's own pictures and tables; after them stand the statistics of every metric.

    Each function takes the analysis of the run and gives None where it has nothing to show.
    """

    pictures: Sequence[Callable[[Analysis], Picture | None]] = ()
    tables: Sequence[Callable[[Analysis], Table | None]] = ()


def statistics_tables(analysis: Analysis, check: str) -> list[Table]:
    """Each measured metric of a check, environments side by side."""
    metrics = analysis.register.metrics
    names = [name for name in analysis.metrics_of(check) if metrics[name].measured]
    made = (side_by_side_table(analysis, check, name, most=MOST_LINES) for name in names)
    return [table for table in made if table is not None]


def generic_section(analysis: Analysis, check: str) -> Section:
    """Pictures of the first measured metrics of a check, against the first name that varies and is
    a number in every row."""
    metrics, pictures = analysis.register.metrics, []
    names = [name for name in analysis.metrics_of(check) if metrics[name].measured]
    for metric in names[:MOST_PICTURES]:
        names_of = varying(analysis, analysis.rows_of(check, metric)).items()
        axis = next((name for name, values in names_of if _are_numbers(values)), None)
        pictures.append(partial(metric_picture, check=check, metric=metric, axis=axis))
    return Section(pictures)


def varying(analysis: Analysis, rows: Sequence[Row]) -> dict[str, list[object]]:
    """Coordinates of points, then parameters of cases that vary, with the value at each point."""
    alike = analysis.run.first_alike
    points = {(alike[row.series.case], row.series.at): row for row in rows}.values()
    names = dict.fromkeys(name for row in points for name, _ in row.series.at)
    for check in {analysis.case(row).check for row in points}:
        names |= dict.fromkeys(analysis.labels[check].varying)
    every = {name: [_value(analysis, row, name) for row in points] for name in names}
    return {name: values for name, values in every.items() if len(set(map(repr, values))) > 1}


def _value(analysis: Analysis, row: Row, name: str) -> object:
    own = row.series.at_value(name)
    return analysis.case(row).params.get(name) if own is None else own


def _are_numbers(values: Sequence[object]) -> bool:
    return all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)


def metric_picture(analysis: Analysis, check: str, metric: str, axis: str | None) -> Picture | None:
    """A metric against an axis, a panel for each combination of all else that varies.

    Without an axis the environments stand side by side.
    """
    rows = analysis.rows_of(check, metric)
    title = analysis.register.metric_title(metric)
    title = sentence_case(title) + (f" against {axis_of(axis).title}" if axis else "")
    x, without, place = _x_axis(analysis, rows, axis)
    log_y = (
        x.scale != "linear" and rows[0].unit == "s" and all(row.summary.least > 0 for row in rows)
    )
    return lines.lines_picture(
        analysis,
        rows,
        place,
        x,
        without=without,
        anchor=f"picture-{slug(check)}-{slug(metric)}-{slug(axis or 'environment')}",
        title=title,
        caption="One panel for each combination of what else varies.",
        log_y=log_y,
        from_zero=bool(axis) and not log_y and all(row.summary.least >= 0 for row in rows),
    )


def _x_axis(
    analysis: Analysis, rows: Sequence[Row], axis: str | None
) -> tuple[Axis, list[str], Callable[[Row], float]]:
    """The x axis of a picture, what one curve goes over, and where a row is on it."""
    if axis is None:
        places = {name: float(n) for n, name in enumerate(measured_in(analysis, rows))}
        fit = sum(map(len, places)) <= MOST_TICK_LETTERS
        ticks = {place: name if fit else "" for name, place in places.items()}
        x = Axis("environment", ticks=ticks)
        return x, [], lambda row: places[analysis.case(row).environment]
    names = varying(analysis, rows)
    along = [*map(repr, names[axis])]
    without = [
        name
        for name, values in names.items()
        if len({*zip(along, map(repr, values), strict=True)}) == len({*along})
    ]
    values = sorted({float(str(value)) for value in names[axis]})
    title = lines.MESSAGE_LENGTH if axis == MESSAGE_BYTES else axis_of(axis).title
    wide = values[0] > 0 and values[-1] / values[0] > LINEAR_UP_TO
    x = Axis(title, scale="log" if wide else "linear", counts=True)
    if axis_of(axis).unit == "bytes":
        x = Axis(title, scale="bytes")
    return x, without, lambda row: float(str(_value(analysis, row, axis)))


def varying_leads(analysis: Analysis, rows: Sequence[Row]) -> list[Lead[Row]]:
    """Leading cells of a table: a column for each name that varies."""

    def lead(name: str, values: Sequence[object]) -> Lead[Row]:
        def text(row: Row) -> str:
            value = _value(analysis, row, name)
            return "–" if value is None else point_text(name, value)

        return Column(axis_of(name).title or name, numeric=_are_numbers(values)), text

    return [lead(*item) for item in varying(analysis, rows).items()]


def side_by_side_table(
    analysis: Analysis,
    check: str,
    metric: str,
    some: Sequence[Row] | None = None,
    *,
    most: int = MOST_ROWS,
) -> Table | None:
    """A metric by all that varies, a column an environment; of `some` rows, or all."""
    every = analysis.rows_of(check, metric) if some is None else some
    if not every:
        return None
    rows = in_reading_order(analysis, every, most * len(measured_in(analysis, every)))
    unit = readable_unit(rows[0].unit, (row.summary.mean for row in rows))
    blocks, defined = analysis.run.blocks, analysis.register.metrics[metric]
    alike, cut = analysis.run.first_alike, len(rows) < len(every)

    def cell(rows: list[Row]) -> Cell:
        badges = flags_of(rows)
        if rows and rows[0].summary.n != blocks:
            badges = (f"n = {rows[0].summary.n}", *badges)
        href = f"#case-{slug(analysis.case(rows[0]).id)}" if rows else ""
        return replace(value_cell(rows, unit), badges=badges, href=href)

    # The mean of rates is not total work over total time.
    mean = "arithmetic mean of rates" if rows[0].unit.endswith("/s") else "mean"
    title = f"{lines.joined(analysis.register.metric_title(metric), unit.label)}: {mean} ± s"
    return pivot(
        rows,
        varying_leads(analysis, every) or [("case", lambda row: row_label(analysis, row))],
        [side_by_side(analysis, rows, cell)],
        anchor="-".join(["table", slug(check), slug(metric), "side-by-side"]),
        title=sentence_case(title),
        note=f"{sentence_case(defined.definition)}; {defined.better} is better. Over"
        f" n = {count_text(blocks, 'launch')} unless a cell says otherwise; a cell's title gives"
        " interval, median and extremes in SI units, as does summary.csv.",
        total=len({(alike[row.series.case], row.series.at) for row in every}) if cut else None,
        most=most,
    )


#: Points of a check's first table.
MOST_POINTS = 5


@lru_cache(maxsize=32)
def headline_table(analysis: Analysis, check: str) -> Table | None:
    """The check's deciding metric at points spread over what was measured."""
    metric = analysis.deciding_metric(check)
    points: dict[tuple[int, AtKey], list[Row]] = {}
    for row in in_reading_order(analysis, analysis.rows_of(check, metric) if metric else ()):
        key = analysis.run.first_alike[row.series.case], row.series.at
        points.setdefault(key, []).append(row)
    every, most = [*points.values()], MOST_POINTS - 1
    if left := max(0, len(every) - MOST_POINTS):
        every = [every[round(index * (len(every) - 1) / most)] for index in range(MOST_POINTS)]
    rows = [row for point in every for row in point]
    table = side_by_side_table(analysis, check, metric, rows)
    if table is None:
        return None
    better = analysis.register.metrics[metric].better
    note = f"n = {count_text(analysis.run.blocks, 'launch')} unless a cell says otherwise;"
    note += f" {better} is better; a value leads to its raw output."
    if any(cell.check == check for cell in analysis.comparisons.overall):
        note += f" {ESTIMAND}"
    note += f" {count_text(left, 'further point')} below." if left else ""
    return replace(table, anchor=f"headline-{slug(check)}", note=note)
