# SPDX-License-Identifier: Apache-2.0
"""The numbers as tables for other programs: summary.csv and values.parquet, SI base units, each row
with its unit; docs/data.md has every column."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from io import BytesIO
from operator import attrgetter
from typing import Any

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from records.axes import axis_of
from records.run.plan import PlannedCase
from records.text.plain_text import plain
from reports.analysis import Analysis, Row
from reports.notation.labels import pairs_text
from reports.write.columns import COMMON, axis_columns, better, csv_text

CSV_COLUMNS = (
    "check",
    "environment",
    "case_id",
    "params",
    "metric",
    "at",
    "unit",
    "n",
    "blocks_planned",
    "mean",
    "stddev",
    "cv",
    "mean_ci_low",
    "mean_ci_high",
    "mean_ci_method",
    "mean_ci_level",
    "median",
    "median_ci_low",
    "median_ci_high",
    "median_ci_method",
    "median_ci_level",
    "min",
    "max",
    "flags",
    "schema",
    *COMMON,
)
#: Columns that every values.parquet has; those of parameters and points follow.
PARQUET_COLUMNS = (
    *("check", "environment", "case_id", "params", "metric", "at", "unit", "block", "value"),
    *COMMON,
)
#: What the columns of both files mean; it counts up when one goes or means something else.
SCHEMA = 2
_TAKEN = frozenset((*CSV_COLUMNS, *PARQUET_COLUMNS))
#: Columns of summary.csv that are a statistic, and its name in `Summary`.
_STATISTICS = {name: name for name in ("n", "mean", "stddev", "cv", "median")}
_STATISTICS |= {"min": "least", "max": "greatest"}
_TYPES: dict[str, Any] = {
    "n": pl.Int64,
    "blocks_planned": pl.Int64,
    "mean_ci_method": pl.String,
    "median_ci_method": pl.String,
    "flags": pl.String,
}
#: Rows that are made into text together.
_BATCH = 40_000


def render_csv(analysis: Analysis) -> Iterator[bytes]:
    """One row for each (case, metric, point), valid launches only; in pieces."""
    for place, (rows, heads) in enumerate(_parts(analysis)):
        frame = heads.with_columns(*_statistics(analysis, rows), pl.lit(SCHEMA).alias("schema"))
        buffer = BytesIO()
        frame.select(*CSV_COLUMNS, *_further(heads)).write_csv(
            buffer, line_terminator="\n", include_header=not place
        )
        yield buffer.getvalue()


def _statistics(analysis: Analysis, rows: Sequence[Row]) -> Iterator[pl.Series]:
    """The columns of summary.csv that tell of a row's values."""
    summaries = [row.summary for row in rows]
    asked = analysis.run.asked
    columns: dict[str, Sequence[Any]] = {
        "blocks_planned": [
            asked[case.environment, case.check] for case in map(analysis.case, rows)
        ],
        "flags": _texts((row.flags for row in rows), "; ".join),
    }
    for column, name in _STATISTICS.items():
        columns[column] = [*map(attrgetter(name), summaries)]
    for name in ("mean", "median"):
        intervals = [*map(attrgetter(f"{name}_interval"), summaries)]
        for part in ("low", "high", "method", "level"):
            columns[f"{name}_ci_{part}"] = [getattr(item, part, None) for item in intervals]
    for name, values in columns.items():
        yield pl.Series(name, values, dtype=_TYPES.get(name, pl.Float64))


def render_parquet(analysis: Analysis) -> bytes:
    """One row for each value of a valid launch: case, metric, point, unit, block, value.

    The rows are made and compressed some at a time: all of them take a hundred bytes a value.
    """

    def pieces(*_: object) -> Iterator[pl.DataFrame]:
        return (_values(rows, heads) for rows, heads in _parts(analysis))

    metadata = {"assay.schema": str(SCHEMA), "assay.run_id": plain(analysis.run.run_id)}
    buffer = BytesIO()
    schema = _values([], next(_parts(analysis))[1].clear()).schema
    register_io_source(pieces, schema=schema).sink_parquet(buffer, metadata=metadata)
    return buffer.getvalue()


def _values(rows: Sequence[Row], heads: pl.DataFrame) -> pl.DataFrame:
    """The values behind rows, a row each."""
    words = heads.with_columns(pl.col(pl.String).cast(pl.Categorical))
    empty = np.array([], dtype=np.float64)
    blocks = [row.series.blocks for row in rows] or [empty.astype(np.int64)]
    repeated = words[np.repeat(np.arange(len(rows)), [row.summary.n for row in rows])]
    return repeated.with_columns(
        pl.Series("block", np.concatenate(blocks)),
        pl.Series("value", np.concatenate([row.series.values for row in rows] or [empty])),
    ).select(*PARQUET_COLUMNS, *_further(heads))


def _parts(analysis: Analysis) -> Iterator[tuple[Sequence[Row], pl.DataFrame]]:
    """Rows with what names them, some at a time; one part without rows where there are none."""
    axes = axis_columns(analysis, _TAKEN)
    for start in range(0, max(1, len(analysis.rows)), _BATCH):
        part = slice(start, start + _BATCH)
        rows = analysis.rows[part]
        yield rows, _heads(analysis, rows).hstack(axes.of(part))


def _further(heads: pl.DataFrame) -> list[str]:
    """The columns of parameters and points."""
    known = {*CSV_COLUMNS, *PARQUET_COLUMNS}
    return [name for name in heads.columns if name not in known]


@lru_cache(maxsize=1)
def _named(analysis: Analysis) -> pl.DataFrame:
    """What names a case, in the order of the plan."""
    cases = analysis.run.plan.cases
    return pl.DataFrame(
        {
            "check": _texts((case.check for case in cases), str),
            "environment": _texts((case.environment for case in cases), str),
            "case_id": [csv_text(case.id) for case in cases],
            "params": _texts(analysis.run.first_alike, lambda place: _params(cases[place])),
        },
        schema=dict.fromkeys(("check", "environment", "case_id", "params"), pl.String),
    )


def _params(case: PlannedCase) -> str:
    """The parameters of a case but those that list points."""
    return pairs_text((k, v) for k, v in case.params.items() if not axis_of(k).lists)


def _heads(analysis: Analysis, rows: Sequence[Row]) -> pl.DataFrame:
    """What names a row: check, environment, case, parameters, metric, point, unit, direction."""
    places = np.array([row.series.case for row in rows], dtype=np.int64)
    points = _texts((row.series.at for row in rows), pairs_text)
    return _named(analysis)[places].with_columns(
        pl.Series("metric", [row.series.metric for row in rows], dtype=pl.String),
        pl.Series("at", points, dtype=pl.String),
        pl.Series("unit", [csv_text(row.unit) for row in rows], dtype=pl.String),
        better(analysis.register, (row.series.metric for row in rows)),
    )


def _texts(keys: Any, make: Callable[[Any], str]) -> list[str]:
    """The text of each key; equal keys are made into text once."""
    known: dict[Any, str] = {}
    result = []
    for key in keys:
        text = known.get(key)
        if text is None:
            text = known[key] = csv_text(make(key))
        result.append(text)
    return result
