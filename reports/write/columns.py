# SPDX-License-Identifier: Apache-2.0
"""Run, layout, parameters and points as columns of tables for other programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl

from records.axes import MESSAGE_BYTES
from records.metric import Register
from records.text.plain_text import plain
from reports.analysis import Analysis

#: Columns that every table has, whatever was measured.
COMMON = (
    *("run_id", "campaign", "site", "better"),
    *("ranks", "ranks_per_node", "nodes", "grid", MESSAGE_BYTES),
)
_LAYOUT = ("ranks", "ranks_per_node", "nodes")
#: Names of parameters and points that keep them although a column of `COMMON` has them: it is
#: theirs.
_THEIRS = {*_LAYOUT, MESSAGE_BYTES}
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_text(text: str) -> str:
    """Text that no spreadsheet takes for a formula."""
    text = plain(text)
    return f"'{text}" if text.startswith(_FORMULA) else text


class AxisColumns:
    """For rows of an analysis the columns of `COMMON` but `better`, then those of their parameters
    and their points; a point stands before a parameter of its name.

    A name in `taken` is led by `param_`, in whatever case it is written. Parameters that list
    points are left out. Kept are a row a case and a row a point; of all rows only their places.
    """

    def __init__(self, analysis: Analysis, taken: frozenset[str]) -> None:
        known: dict[Any, int] = {}
        rows = analysis.rows
        points = (known.setdefault(row.series.at, len(known)) for row in rows)
        self._point_of = np.fromiter(points, dtype=np.int64, count=len(rows))
        self._case_of = np.array([row.series.case for row in rows], dtype=np.int64)
        self._cases = _cases(analysis, taken)
        self._points = _frame([dict(point) for point in known], taken)

    def of(self, rows: slice) -> pl.DataFrame:
        """The columns of some rows."""
        cases, points = self._cases[self._case_of[rows]], self._points[self._point_of[rows]]
        both = [name for name in points.columns if name in cases.columns]
        merged = (pl.coalesce(*_alike(points[name], cases[name])).alias(name) for name in both)
        found = cases.with_columns(*merged).hstack(points.drop(both))
        if MESSAGE_BYTES not in found.columns:
            found = found.with_columns(pl.lit(None, dtype=pl.Int64).alias(MESSAGE_BYTES))
        return found.select(*(name for name in COMMON if name != "better"), pl.exclude(COMMON))


@lru_cache(maxsize=1)
def axis_columns(analysis: Analysis, taken: frozenset[str]) -> AxisColumns:
    """The axis columns of an analysis, made once for all its files."""
    return AxisColumns(analysis, taken)


def better(register: Register, metrics: Iterable[str]) -> pl.Series:
    """The column `better` of rows of these metrics."""
    return pl.Series("better", [register.metrics[name].better for name in metrics], dtype=pl.String)


def _cases(analysis: Analysis, taken: frozenset[str]) -> pl.DataFrame:
    """Each case of the plan: its run, its layout, its parameters."""
    run, cases = analysis.run, analysis.run.plan.cases
    run_id, campaign, site = map(csv_text, (run.run_id, run.plan.campaign, run.plan.site))
    unlike, which = np.unique(np.array(run.first_alike, dtype=np.int64), return_inverse=True)
    every = [cases[place].params for place in unlike.tolist()]
    grids = [
        f"{params['p']}x{params['q']}" if {"p", "q"} <= params.keys() else None for params in every
    ]
    params = _frame(every, taken).with_columns(pl.Series("grid", grids, dtype=pl.String))
    named = (
        params[which]
        .select(pl.exclude(*_LAYOUT))
        .with_columns(
            *(pl.lit(value).alias(name) for name, value in (("run_id", run_id), ("site", site))),
            pl.lit(campaign).alias("campaign"),
        )
    )
    layout = (
        pl.Series(name, [getattr(case, name) for case in cases], dtype=pl.Int64) for name in _LAYOUT
    )
    return named.with_columns(*layout)


def _frame(items: Sequence[Mapping[str, Any]], taken: frozenset[str]) -> pl.DataFrame:
    """A column for each key that has single values, a row for each item."""
    names: dict[str, str] = {}
    for key in dict.fromkeys(key for item in items for key, value in item.items()):
        name = csv_text(key)
        while name in names.values() or (name.lower() in taken and name not in _THEIRS):
            name = f"param_{name}"
        names[key] = name
    columns = []
    for key, name in names.items():
        values = [item.get(key) for item in items]
        if any(value is not None and not isinstance(value, list | dict) for value in values):
            columns.append(_series(name, values))
    return pl.DataFrame(columns) if columns else pl.DataFrame(height=len(items))


def _series(name: str, values: Sequence[Any]) -> pl.Series:
    """A column of numbers or of truths where all are, else of words; lists and mappings, which
    stand in no cell, are left out."""
    single = [None if isinstance(value, list | dict) else value for value in values]
    kinds = {type(value) for value in single if value is not None}
    if kinds == {bool}:
        return pl.Series(name, single, dtype=pl.Boolean)
    if kinds == {int}:
        return pl.Series(name, single, dtype=pl.Int64)
    if kinds <= {int, float}:
        return pl.Series(name, single, dtype=pl.Float64)
    texts = [None if value is None else csv_text(str(value)) for value in single]
    return pl.Series(name, texts, dtype=pl.String)


def _alike(first: pl.Series, second: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Two columns of one type."""
    if first.dtype == second.dtype:
        return first, second
    return first.cast(pl.String), second.cast(pl.String)
