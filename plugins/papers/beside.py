# SPDX-License-Identifier: Apache-2.0
"""A printed quantity and a run's at the same points."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from math import log
from typing import Any, NamedTuple

import numpy as np

from plugins.papers.fields import BlockValues, Field, Point, plain_value
from plugins.papers.run_values import NO_LIBRARY, Request, RunValues, found_at, uses_library
from plugins.papers.study import Datum, Key, PrintedRow, PrintedTable, Quantity, Study
from reports.analysis.run import Analysis, Row
from reports.load.launches import Series
from reports.notation.units import ReadableUnit, as_stated, not_resolved, readable_unit
from reports.show.rows import environments
from reports.statistics.descriptive import summarise

#: Fewer launches give no n½: of two, one outlier decides the quotient.
LEAST_FOR_HALF = 3
#: Units of values of any size, by SI unit; and as printed, by unit and factor.
_LABELS = {"1/s": ReadableUnit("MHz", 1e6)}
_AS_PRINTED = {("1", 0.01): ReadableUnit("%", 0.01), ("bytes", 1024.0): ReadableUnit("KiB", 1024.0)}


class InPrint(NamedTuple):
    """A value as the paper prints it: digits, spread, and the places, from 1, of its doubts."""

    text: str
    spread: str
    doubts: list[int]


@dataclass(frozen=True)
class Beside:
    """Quantity of a printed table, then and now, by point: the coordinates of the table's keys.

    `ours` is the run's quantity, None where it has no such; `held`: places that the run is asked at
    one value of.
    """

    study: Study
    table: PrintedTable
    column: Datum
    analysis: Analysis
    ours: Quantity | None
    held: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def _rows(self) -> list[PrintedRow]:
        return self.study.printed(self.table)

    @cached_property
    def is_by_law(self) -> bool:
        """True where the table's law gives its values of then."""
        return self.column.column not in self._rows[0]

    @cached_property
    def printed(self) -> Field:
        """The values of then, in SI units."""
        found: dict[Point, dict[str, BlockValues]] = {}
        for row in self._with_law() if self.table.law else self._rows:
            if text := row[self.column.column]:
                point, name = self._place(row)
                value = BlockValues({0: float(text) * self.column.factor})
                found.setdefault(point, {}).setdefault(name, value)
        return self._calculated(Field(tuple(key.axis for key in self.table.keys), found))

    @cached_property
    def in_print(self) -> dict[Point, dict[str, InPrint]]:
        """Values as printed; nothing of a quantity calculated from printed values."""
        found: dict[Point, dict[str, InPrint]] = {}
        name = self.column.column
        for row in () if self.column.calculated or self.is_by_law else self._rows:
            doubtful = enumerate(self.table.doubts, start=1)
            doubts = [place for place, one in doubtful if one.is_about(row, name)]
            point, across = self._place(row)
            printed = InPrint(row[name], row.get(self.column.spread, ""), doubts)
            found.setdefault(point, {})[across] = printed
        return found

    def _with_law(self) -> Iterator[Mapping[str, str]]:
        """Each row at every combination of coordinates, with what the table's law gives there."""
        law = self.table.law
        assert law is not None
        held = {k.column: [self.held[k.axis]] for k in self.table.keys if k.axis in self.held}
        places = {**self.table.at, **held}
        for row in self._rows:
            for values in product(*places.values()):
                at = dict(zip(places, values, strict=True))
                made = {**at, **law(row, at)}
                yield {**row, **{k: "" if v is None else f"{v:.12g}" for k, v in made.items()}}

    def _place(self, row: Mapping[str, str]) -> tuple[Point, str]:
        """Point of a printed row, in the words of a run; and its heading across, in words for
        readers, "" in a table with none across."""
        texts = ((one, row[one.column] if one.column else one.then) for one in self.table.keys)
        point = tuple(plain_value(one.today.get(text, text)) for one, text in texts)
        across = (self.study.words.get(row[k], row[k]) for k in self.table.across if row[k])
        return point, " ".join(across)

    def _calculated(self, found: Field) -> Field:
        return self.column.calculated(found) if self.column.calculated else found

    @cached_property
    def _asked(self) -> tuple[Field, list[Request]]:
        """Values of the run, and what it was asked for."""
        run = RunValues(self.analysis, {one.axis: one.ours for one in self.table.keys}, self.held)
        if self.ours is None:
            return Field((), {}), []
        return self._calculated(self.ours(run)), run.requests

    @property
    def requests(self) -> list[Request]:
        """Requests to the run."""
        return self._asked[1]

    def why_nothing(self) -> str:
        """Reason why the run has nothing of it; "" where that is not known."""
        return self.requests[0].why_nothing() if self.requests else ""

    @cached_property
    def measured(self) -> dict[Point, dict[str, Row]]:
        """Point → environment → row. Keys that a run lacks count as none."""
        found: dict[Point, dict[str, Row]] = {}
        for point, name, one in self._asked[0].items():
            blocks, numbers = zip(*sorted(one.by_block.items()), strict=True)
            metric = self.requests[0].metric
            series = Series(one.case, metric, (), np.array(blocks), np.array(numbers))
            row = Row(series, self.column.unit, summarise(numbers), one.flags)
            found.setdefault(point, {})[name] = row
        return found

    @cached_property
    def now(self) -> dict[Point, dict[str, Row]]:
        """Measured rows that give a number."""
        return {
            point: kept
            for point, rows in self.measured.items()
            if (kept := {name: row for name, row in rows.items() if not self.no_number(row)})
        }

    def no_number(self, row: Row) -> str | None:
        """Reason why blocks give no fit or difference, which an outlier can decide; else None."""
        done, n = self._asked[0].made_by, row.summary.n
        if not done & {"line", "law", "difference"}:
            return None
        if n < LEAST_FOR_HALF and "half_length" in done:
            return f"needs {LEAST_FOR_HALF} launches"
        if n > 1 and (row.summary.stddev or 0.0) >= abs(row.summary.mean):
            return f"{not_resolved(n)}: s reaches the mean"
        return "negative" if "line" in done and row.summary.mean < 0 else None

    @cached_property
    def keys(self) -> list[Key]:
        """The table's keys that the quantity has: calculations may take some away."""
        return [key for key in self.table.keys if key.axis in self.printed.axes]

    @cached_property
    def across(self) -> list[str]:
        """Headings side by side in the printed table."""
        return list(dict.fromkeys(name for _, name, _ in self.printed.items()))

    @cached_property
    def environments(self) -> list[str]:
        """The run's environments that have the quantity."""
        return environments(self.analysis, (name for by in self.measured.values() for name in by))

    def label(self, name: str) -> str:
        """The environment's name, or that its values were measured without a library."""
        rows = [by[name] for by in self.measured.values() if name in by]
        alone = rows and not any(uses_library(self.analysis.case(row)) for row in rows)
        return NO_LIBRARY if alone else name

    @property
    def points(self) -> list[Point]:
        """Points of both: numbers ascending, words in the paper's order."""
        both = dict.fromkeys((*self.printed.values, *self.measured))
        words = list(dict.fromkeys(text for point in both for text in point))

        def order(text: str) -> tuple[int, float]:
            try:
                return 0, float(text)
            except ValueError:
                return 1, words.index(text)

        return sorted(both, key=lambda point: [order(text) for text in point])

    @cached_property
    def unit(self) -> ReadableUnit:
        """Unit of values of then and now."""
        unit = self.column.unit
        known = _AS_PRINTED.get((unit, self.column.factor)) or _LABELS.get(unit)
        values = [one.by_block[0] for _, _, one in self.printed.items()]
        values += [row.summary.mean for by in self.now.values() for row in by.values()]
        return known or readable_unit(unit, values)

    def si(self, point: Point, across: str) -> float | None:
        """A value of then in the SI unit."""
        found = self.printed.values.get(point, {}).get(across)
        return found.by_block[0] if found else None

    def reference(self, point: Point, environment: str) -> float | None:
        """Value of then for the ratio: the library's own, or the best machine's."""
        if self.table.libraries:
            return self.si(point, library_of(environment))
        metrics = self.analysis.register.metrics
        known = metrics.get(self.requests[0].metric) if self.requests else None
        best = min if known and known.better == "lower" else max
        values = (one.by_block[0] for one in self.printed.values.get(point, {}).values())
        return best(values, default=None)


def besides(study: Study, table: PrintedTable, analysis: Analysis) -> list[Beside]:
    """The quantities of a printed table, each with the run's, at the values of the run that are
    nearest to those that the table holds fixed."""
    found = [Beside(study, table, one, analysis, one.ours) for one in table.values]
    held, notes = {}, []
    for item in table.keys:
        wanted = table.nearest.get(item.column)
        if wanted is not None and item.ours:
            rows = (row for one in found for asked in one.requests for row in asked.rows)
            there = {float(v) for row in rows if (v := found_at(analysis, row, item.ours))}
            held[item.ours] = min(there, key=lambda v: abs(log(v / wanted)), default=wanted)
            if held[item.ours] != wanted:
                here, then = as_stated(held[item.ours]), as_stated(wanted)
                notes.append(f"At {here} {item.title}; the paper's is at {then}.")
    if not held:
        return found
    table = replace(table, note=" ".join([*notes, table.note]).strip())
    return [replace(one, table=table, held=held) for one in found]


def by_variant(found: Sequence[Beside]) -> list[tuple[str, list[Beside]]]:
    """Each kind of rows that a run has of a table of machines: its title and quantities."""
    kinds = [
        (title, [replace(o, ours=ours.get(o.column.column)) if ours else o for o in found])
        for title, ours in found[0].table.variants.items()
    ]
    return kinds or [("", [*found])]


def measured_share(found: Iterable[Beside]) -> tuple[int, int]:
    """Of the columns with a counterpart: printed values whose point a run has, and all of them."""
    # What follows from printed values is no printed value of its own, nor is what is drawn again.
    counted = [o for o in found if o.ours is not None and o.in_print and o.table.printed]
    values = [(p in one.now, len(by)) for one in counted for p, by in one.printed.values.items()]
    return sum(number for there, number in values if there), sum(number for _, number in values)


def library_of(environment: str) -> str:
    """The library that an environment's name begins with: lam of lam-lamd."""
    return environment.partition("-")[0]
