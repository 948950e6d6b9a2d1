# SPDX-License-Identifier: Apache-2.0
"""A printed table with a run's values beside it: theirs, ours, and what one is of the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from records.metric import Better
from reports.analysis import Analysis, Row
from reports.notation.units import ReadableUnit, count_text, readable_unit, three_digits
from reports.papers.definition import Column as PrintedColumn
from reports.papers.definition import PrintedTable, Study
from reports.papers.matching import (
    Point,
    library_of,
    most_launched,
    plain_value,
    point_of,
    rows_like,
)
from reports.show.rows import environments, value_cell
from reports.show.tables import Cell, Column, Table

#: Between the columns of then, where a table has none across.
_THEN = ""


@dataclass(frozen=True)
class Beside:
    """One quantity of a printed table, then and now, by point.

    A point is what the table's keys say. `then`: printed values in SI units by point and by what
    stands across; `now`: rows of the run by point and environment.
    """

    study: Study
    table: PrintedTable
    column: PrintedColumn
    analysis: Analysis

    @cached_property
    def then(self) -> dict[Point, dict[str, tuple[str, str]]]:
        """Point → across → value and spread as printed."""
        found: dict[Point, dict[str, tuple[str, str]]] = {}
        for row in self.study.printed(self.table):
            point = tuple(
                plain_value(item.today.get(row[item.column], row[item.column]))
                for item in self.table.keys
            )
            across = " ".join(text for name in self.table.across if (text := row[name])) or _THEN
            value, spread = row[self.column.column], row.get(self.column.spread, "")
            if value:
                found.setdefault(point, {})[across] = value, spread
        return found

    @cached_property
    def now(self) -> dict[Point, dict[str, Row]]:
        """Point → environment → the row of most launches. Keys that a run has not count as none."""
        if self.column.ours is None:
            return {}
        groups: dict[tuple[Point, str], list[Row]] = {}
        for row in rows_like(self.analysis, self.column.ours):
            point = point_of(self.analysis, row, (item.ours for item in self.table.keys))
            groups.setdefault((point, self.analysis.case(row).environment), []).append(row)
        found: dict[Point, dict[str, Row]] = {}
        for (point, environment), rows in groups.items():
            found.setdefault(point, {})[environment] = most_launched(rows)
        return found

    @property
    def across(self) -> list[str]:
        """What stands side by side in the printed table."""
        return list(dict.fromkeys(name for by in self.then.values() for name in by))

    @property
    def environments(self) -> list[str]:
        """The run's environments that have the quantity."""
        return environments(self.analysis, (name for by in self.now.values() for name in by))

    @property
    def points(self) -> list[Point]:
        """Points of both, numbers ascending."""
        both = dict.fromkeys((*self.then, *self.now))
        return sorted(both, key=lambda point: [_order(text) for text in point])

    @cached_property
    def unit(self) -> ReadableUnit:
        """In which values of then and now are written."""
        values = [v for p in self.then for a in self.across if (v := self.si(p, a)) is not None]
        values += [row.summary.mean for by in self.now.values() for row in by.values()]
        return readable_unit(self.column.unit, values)

    @property
    def better(self) -> Better:
        """Which way the quantity is better."""
        ours = self.column.ours
        known = self.analysis.register.metrics.get(ours.metric) if ours else None
        return known.better if known else "higher"

    def si(self, point: Point, across: str) -> float | None:
        """A printed value in the SI unit."""
        printed = self.then.get(point, {}).get(across)
        return float(printed[0]) * self.column.factor if printed else None

    def reference(self, point: Point, environment: str) -> float | None:
        """What a run's value is held against: its library's of then, or the best machine's."""
        if self.table.libraries:
            return self.si(point, library_of(environment))
        values = [v for name in self.then.get(point, {}) if (v := self.si(point, name)) is not None]
        best = max if self.better == "higher" else min
        return best(values, default=None)


def _order(text: str) -> tuple[int, float, str]:
    try:
        return 0, float(text), ""
    except ValueError:
        return 1, 0.0, text


def besides(study: Study, table: PrintedTable, analysis: Analysis) -> list[Beside]:
    """The quantities of a printed table, each beside the run."""
    return [Beside(study, table, column, analysis) for column in table.values]


def tables_of(found: Sequence[Beside], anchor: str) -> list[Table]:
    """A printed table as tables: machines in rows where it has no keys, else one a quantity."""
    if not found[0].table.keys:
        return [_machines(found, anchor)]
    return [_points(one, f"{anchor}-{number}") for number, one in enumerate(found)]


def _points(one: Beside, anchor: str) -> Table:
    """A line a point: what stood across then, what each environment has now, and their ratio."""
    columns = [Column(item.title, numeric=True) for item in one.table.keys]
    columns += [Column(f"{name} then".strip(), numeric=True) for name in one.across]
    for name in one.environments:
        columns += [Column("now", numeric=True, environment=name), Column("now ÷ then", True)]
    printed = {plain_value(v): k for item in one.table.keys for k, v in item.today.items()}
    rows = []
    for point in one.points:
        cells = [Cell(printed.get(text, text)) for text in point]
        cells += [_then_cell(one, point, name) for name in one.across]
        for name in one.environments:
            cells += _now_cells(one, point, name)
        rows.append(cells)
    title = f"{one.table.number}: {one.table.title}"
    if len(one.table.values) > 1:
        title += f", {one.column.title}"
    return Table(anchor, f"{title}, {one.unit.label}", columns, rows, _note(one), len(rows))


def _then_cell(one: Beside, point: Point, name: str) -> Cell:
    printed = one.then.get(point, {}).get(name)
    if printed is None:
        return Cell("")
    scale = one.column.factor / one.unit.factor
    text = three_digits(float(printed[0]) * scale)
    if printed[1]:
        text += f" ± {three_digits(float(printed[1]) * scale)}"
    return Cell(text, title=f"printed: {printed[0]}; {one.column.were}")


def _now_cells(one: Beside, point: Point, name: str) -> list[Cell]:
    row = one.now.get(point, {}).get(name)
    if row is None:
        return [Cell(""), Cell("")]
    reference = one.reference(point, name)
    ratio = three_digits(row.summary.mean / reference) if reference else ""
    return [value_cell([row], one.unit), Cell(ratio)]


def _note(one: Beside) -> str:
    parts = [f"Then: {one.column.were}."]
    if one.column.without:
        parts.append(f"Nothing of the run stands beside it: {one.column.without}.")
    elif not one.now:
        parts.append("This run did not measure it.")
    else:
        least = min(row.summary.n for by in one.now.values() for row in by.values())
        parts.append(
            f"Now: mean ± s of launches, at least {count_text(least, 'launch', 'launches')}."
        )
        held = "the same library's" if one.table.libraries else "the best machine's"
        parts.append(f"The ratio is to {held} value of then.")
        both = sum(point in one.then for point in one.now)
        parts.append(f"{both} of {len(one.then)} printed points were measured.")
    return " ".join([*parts, one.table.note]).strip()


def _machines(found: Sequence[Beside], anchor: str) -> Table:
    """A line a machine of then, and a line an environment of now."""
    first = found[0]
    columns = [Column("machine")]
    columns += [Column(f"{o.column.title}, {o.unit.label}", numeric=True) for o in found]
    rows = [
        [Cell(name), *(_then_cell(one, (), name) for one in found)]
        for name in dict.fromkeys(name for one in found for name in one.across)
    ]
    begun = len(rows)
    for name in environments(first.analysis, (n for one in found for n in one.environments)):
        cells = (_now_cells(one, (), name)[0] for one in found)
        rows.append([Cell(name, environment=name), *cells])
    notes = [f"{one.column.title}: {one.column.were}" for one in found]
    notes += [f"{o.column.title} of today: {o.column.without}" for o in found if o.column.without]
    note = ". ".join([*notes, "Below: this cluster, mean ± s of launches"]) + "."
    title = f"{first.table.number}: {first.table.title}"
    groups = frozenset({begun}) if begun < len(rows) else frozenset()
    return Table(
        anchor, title, columns, rows, f"{note} {first.table.note}".strip(), len(rows), groups
    )


def measured_share(found: Iterable[Beside]) -> tuple[int, int]:
    """Of the columns with a counterpart: printed points that the run has, and all of them."""
    counted = [one for one in found if one.column.ours is not None]
    measured = sum(point in one.now for one in counted for point in one.then)
    return measured, sum(len(one.then) for one in counted)
