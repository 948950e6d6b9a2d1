# SPDX-License-Identifier: Apache-2.0
"""A printed quantity and a run's at the same points: theirs, ours, and what one is of the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log

import numpy as np

from records.flags import MEANINGS, OVERSUBSCRIBED
from records.metric import Better
from reports.analysis import Analysis, Row
from reports.checks.common.fits import LEAST_FOR_HALF
from reports.load.run import Series
from reports.notation.units import ReadableUnit, readable_unit
from reports.notation.values import not_resolved
from reports.papers.definition import Column, PrintedTable, Study, Variant
from reports.papers.fields import across_of, measured_field, printed_field, printed_key
from reports.papers.matching import Point, found_at, library_of, rows_like
from reports.papers.steps import Field
from reports.show.rows import environments
from reports.statistics.descriptive import summarise

#: Marks what rests on launches that shared cores, and what the mark means.
SHARED = "*"
SHARED_MEANS = f"{SHARED} {OVERSUBSCRIBED}: {MEANINGS[OVERSUBSCRIBED]}."

#: Units that the records' register leaves as they are.
_LABELS = {"1": ReadableUnit("", 1.0), "1/s": ReadableUnit("MHz", 1e6)}
#: Units that values are read in as they are printed, by SI unit and factor.
_AS_PRINTED = {("1", 0.01): ReadableUnit("%", 0.01), ("bytes", 1024.0): ReadableUnit("KiB", 1024.0)}


@dataclass(frozen=True)
class Beside:
    """One quantity of a printed table, then and now, by point.

    A point is what the table's keys say. `printed`: values of then in SI units by point and by what
    stands across; `now`: rows of the run by point and environment.
    """

    study: Study
    table: PrintedTable
    column: Column
    analysis: Analysis

    @cached_property
    def printed(self) -> Field:
        """The values of then, in SI units."""
        return printed_field(self.study, self.table, self.column)

    @cached_property
    def texts(self) -> dict[Point, dict[str, tuple[str, str]]]:
        """Value and spread as printed; nothing of what is calculated from printed values."""
        if self.column.steps or self.column.over or self.table.law:
            return {}
        found: dict[Point, dict[str, tuple[str, str]]] = {}
        for row in self.study.printed(self.table):
            point = tuple(printed_key(item, row) for item in self.table.keys)
            told = row[self.column.column], row.get(self.column.spread, "")
            found.setdefault(point, {}).setdefault(across_of(self.study, self.table, row), told)
        return found

    @cached_property
    def marks(self) -> dict[Point, dict[str, list[int]]]:
        """Of each doubtful value the places, from 1, of what is said of it."""
        found: dict[Point, dict[str, list[int]]] = {}
        for row in self.study.printed(self.table):
            point = tuple(printed_key(item, row) for item in self.table.keys)
            about = (one.is_about(row, self.column.column) for one in self.table.doubtful)
            if places := [place for place, is_it in enumerate(about, start=1) if is_it]:
                name = across_of(self.study, self.table, row)
                found.setdefault(point, {}).setdefault(name, []).extend(places)
        return found

    @cached_property
    def now(self) -> dict[Point, dict[str, Row]]:
        """Point → environment → what was measured. Keys that a run has not count as none."""
        found: dict[Point, dict[str, Row]] = {}
        for point, rows in self._measured.items():
            if kept := {name: row for name, row in rows.items() if not self._no_number(row)}:
                found[point] = kept
        return found

    @cached_property
    def without(self) -> dict[Point, dict[str, str]]:
        """Point → environment → why what was measured gives no number."""
        found: dict[Point, dict[str, str]] = {}
        for point, rows in self._measured.items():
            for name, row in rows.items():
                if why := self._no_number(row):
                    found.setdefault(point, {})[name] = why
        return found

    def _no_number(self, row: Row) -> str | None:
        """Why blocks give no number that is fitted to them, or their difference, which one outlier
        can decide; None where they do, and for what was measured itself."""
        steps = self.column.ours.steps if self.column.ours else []
        done, n = {step.do for step in steps}, row.summary.n
        if not done & {"line", "law", "less"}:
            return None
        if n < LEAST_FOR_HALF and any(step.gives == "half_length" for step in steps):
            return f"needs {LEAST_FOR_HALF} launches"
        if n > 1 and (row.summary.stddev or 0.0) >= abs(row.summary.mean):
            return f"{not_resolved(n)}: s reaches the mean"
        return "negative" if "line" in done and row.summary.mean < 0 else None

    @cached_property
    def _measured(self) -> dict[Point, dict[str, Row]]:
        """`now` and `without` together."""
        if self.column.ours is None:
            return {}
        axes = [item.ours for item in self.table.keys]
        field = measured_field(self.analysis, self.column.ours, axes)
        found: dict[Point, dict[str, Row]] = {}
        for point, values in field.values.items():
            for name, one in values.items():
                blocks, numbers = zip(*sorted(one.by_block.items()), strict=True)
                series = Series(
                    one.case, self.column.ours.metric, (), np.array(blocks), np.array(numbers)
                )
                row = Row(series, self.column.unit, summarise(numbers), one.flags)
                found.setdefault(point, {})[name] = row
        return found

    @property
    def across(self) -> list[str]:
        """What stands side by side in the printed table."""
        return list(dict.fromkeys(name for by in self.printed.values.values() for name in by))

    @property
    def environments(self) -> list[str]:
        """The run's environments that have the quantity."""
        return environments(self.analysis, (name for by in self._measured.values() for name in by))

    @property
    def points(self) -> list[Point]:
        """Points of both: numbers ascending, words in the paper's order."""
        both = dict.fromkeys((*self.printed.values, *self._measured))
        words = {
            text: place
            for place, text in enumerate(dict.fromkeys(t for point in both for t in point))
        }
        return sorted(both, key=lambda point: [_order(text, words) for text in point])

    @cached_property
    def unit(self) -> ReadableUnit:
        """In which values of then and now are written."""
        values = [one.by_block[0] for by in self.printed.values.values() for one in by.values()]
        values += [row.summary.mean for by in self.now.values() for row in by.values()]
        printed = _AS_PRINTED.get((self.column.unit, self.column.factor))
        known = printed or _LABELS.get(self.column.unit)
        return known or readable_unit(self.column.unit, values)

    @property
    def better(self) -> Better:
        """Which way the quantity is better."""
        ours = self.column.ours
        known = self.analysis.register.metrics.get(ours.metric) if ours else None
        return known.better if known else "higher"

    def si(self, point: Point, across: str) -> float | None:
        """A value of then in the SI unit."""
        found = self.printed.values.get(point, {}).get(across)
        return found.by_block[0] if found else None

    def reference(self, point: Point, environment: str) -> float | None:
        """What a run's value is held against: its library's of then, or the best machine's."""
        if self.table.libraries:
            return self.si(point, library_of(environment))
        names = self.printed.values.get(point, {})
        values = [v for name in names if (v := self.si(point, name)) is not None]
        best = max if self.better == "higher" else min
        return best(values, default=None)


def _order(text: str, words: Mapping[str, int]) -> tuple[int, float]:
    try:
        return 0, float(text)
    except ValueError:
        return 1, words[text]


def settled(table: PrintedTable, analysis: Analysis) -> PrintedTable:
    """The table at the values of a run that are nearest to those it holds fixed."""
    for item in table.keys:
        wanted = table.nearest.get(item.column)
        if wanted is None or item.ours is None:
            continue
        rows = [row for c in table.values if c.ours for row in rows_like(analysis, c.ours)]
        found = {float(v) for row in rows if (v := found_at(analysis, row, item.ours))}
        least = min(found, key=lambda v: abs(log(v / wanted)), default=wanted)
        where = {item.ours: least}
        columns = [
            c.model_copy(
                update={"ours": c.ours.model_copy(update={"where": {**c.ours.where, **where}})}
            )
            if c.ours
            else c
            for c in table.values
        ]
        law = table.law
        if law:
            law = law.model_copy(update={"at": {**law.at, item.column: [least]}})
        note = (
            f"At {least:g} {item.title}; the paper's is at {wanted:g}." if least != wanted else ""
        )
        update = {"values": columns, "law": law, "note": f"{note} {table.note}".strip()}
        table = table.model_copy(update=update)
    return table


def besides(study: Study, table: PrintedTable, analysis: Analysis) -> list[Beside]:
    """The quantities of a printed table, each beside the run."""
    return [Beside(study, table, column, analysis) for column in table.values]


def of_variant(found: Sequence[Beside], variant: Variant) -> list[Beside]:
    """The same with what rows of a kind have of the run."""
    return [Beside(one.study, one.table, variant.of(one.column), one.analysis) for one in found]


def measured_share(found: Iterable[Beside]) -> tuple[int, int]:
    """Of the columns with a counterpart: printed values whose point a run has, and all of them."""
    counted = [one for one in found if one.column.ours is not None]
    values = [
        (point in one.now, len(by)) for one in counted for point, by in one.printed.values.items()
    ]
    return sum(number for there, number in values if there), sum(number for _, number in values)
