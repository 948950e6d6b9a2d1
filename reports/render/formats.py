# SPDX-License-Identifier: Apache-2.0
"""Formats for other programs: tests as JUnit XML, in pieces; samples as OpenMetrics text
(https://prometheus.io/docs/specs/om/open_metrics_spec/); summary.csv and values.parquet, SI base
units, each row with its unit (docs/data.md has every column).

All samples are gauges without a time stamp, so that the textfile collector of a node exporter,
which reads the older text format, takes the same file. A run may have half a million tests.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from io import BytesIO
from itertools import islice
from operator import attrgetter
from types import SimpleNamespace
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np
import polars as pl
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.samples import Sample as _Line

from records.text.plain_text import plain
from records.units import MESSAGE_BYTES, axis_of, unit_of
from reports.analysis.run import Analysis, Row
from reports.notation.labels import pairs_text
from reports.result import Sample, Test

#: Test cases in a piece.
_TOGETHER = 2000
#: Text that stands as it is: half a million names pass here.
_PLAIN = re.compile(r"[\w .:,=/-]*", re.ASCII).fullmatch


def junit(tests: Callable[[], Iterable[Test]], name: str) -> Iterator[str]:
    """A test suite of this name with a test case for each test (`Result.tests`)."""
    # The numbers come first; to make each test twice takes longer than to keep its text.
    counts: Counter[str] = Counter()
    pieces, every = [], iter(tests())
    while together := [*islice(every, _TOGETHER)]:
        counts.update(test.outcome for test in together)
        pieces.append("".join(map(_case, together)))
    numbers = (
        f'tests="{counts.total()}" failures="{counts["failure"]}" errors="{counts["error"]}"'
        f' skipped="{counts["skipped"]}"'
    )
    yield f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites {numbers}>\n'
    yield f"<testsuite name={_attribute(name)} {numbers}>\n"
    yield from pieces
    yield "</testsuite>\n</testsuites>\n"


def _case(test: Test) -> str:
    head = f"{_suite(test.suite)}{_attribute(test.name)}"
    if not test.outcome:
        return f"{head}/>\n"
    marks = f"message={_attribute(test.message)}"
    marks += f" type={_attribute(test.kind)}" if test.kind else ""
    text = escape(plain(test.output))
    return f"{head}><{test.outcome} {marks}>{text}</{test.outcome}></testcase>\n"


@lru_cache(maxsize=4096)
def _suite(name: str) -> str:
    """Beginning of a test case of a suite."""
    return f"<testcase classname={_attribute(name)} name="


def _attribute(text: str) -> str:
    return f'"{text}"' if _PLAIN(text) else quoteattr(plain(text))


PREFIX = "assay"
#: The end of a name for a unit that is not known.
UNKNOWN = "value"


def openmetrics(samples: Iterable[Sample]) -> str:
    """A family for each name and unit, in the order of its first sample; each set of labels once,
    the last value of it. Empty labels mean the same as none and are left out."""
    families: dict[str, GaugeMetricFamily] = {}
    lines: dict[str, dict[tuple[tuple[str, str], ...], float]] = {}
    for sample in samples:
        # A gauge without a unit has "" for one; a value of an unknown unit says so in its name.
        unit = sample.unit if sample.unit == "" else unit_of(sample.unit).spelled or UNKNOWN
        name = "_".join(filter(None, (PREFIX, sample.name, unit)))
        known = "" if unit == UNKNOWN else unit
        families.setdefault(name, GaugeMetricFamily(name, sample.text, unit=known))
        labels = {key: plain(text) for key, text in sample.labels.items() if text}
        lines.setdefault(name, {})[tuple(labels.items())] = float(f"{sample.value:.12g}")
    for name, family in families.items():
        family.samples = [_Line(name, dict(labels), one) for labels, one in lines[name].items()]
    made = generate_latest(SimpleNamespace(collect=families.values))  # type: ignore[no-untyped-call]
    text: str = made.decode()
    return text


_LAYOUT = ("ranks", "ranks_per_node", "nodes")
#: Columns that both tables have, whatever was measured.
COMMON = ("run_id", "campaign", "site", "better", *_LAYOUT, "grid", MESSAGE_BYTES)
_CASE = ("check", "environment", "case_id", "params")
_ROW = (*_CASE, "metric", "at", "unit")
_INTERVAL = ("low", "high", "method", "level")
CSV_COLUMNS = (
    *_ROW,
    *("n", "blocks_planned", "mean", "stddev", "cv"),
    *(f"mean_ci_{part}" for part in _INTERVAL),
    "median",
    *(f"median_ci_{part}" for part in _INTERVAL),
    *("min", "max", "flags", "schema"),
    *COMMON,
)
#: Columns that every values.parquet has; those of parameters and points follow.
PARQUET_COLUMNS = (*_ROW, "block", "value", *COMMON)
#: What the columns of both files mean; it counts up when one goes or means something else.
SCHEMA = 2
#: Columns of summary.csv that are a statistic, and its name in `Summary`.
_STATISTICS = {name: name for name in ("n", "mean", "stddev", "cv", "median")}
_STATISTICS |= {"min": "least", "max": "greatest"}
_TYPES: dict[str, Any] = {
    **dict.fromkeys(("n", "blocks_planned"), pl.Int64),
    **dict.fromkeys(("mean_ci_method", "median_ci_method", "flags"), pl.String),
}
#: Names that parameters and points may not have; a layout and a message length are theirs.
_TAKEN = {*CSV_COLUMNS, *PARQUET_COLUMNS} - {*_LAYOUT, MESSAGE_BYTES}
_EVERY = {*CSV_COLUMNS, *PARQUET_COLUMNS}
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv(analysis: Analysis) -> bytes:
    """summary.csv: a row for each (case, metric, point), valid launches only."""
    schema = pl.lit(SCHEMA).alias("schema")
    frame = _heads(analysis).with_columns(*_statistics(analysis, analysis.rows), schema)
    frame = frame.select(*CSV_COLUMNS, pl.exclude([*_EVERY]))
    return frame.write_csv(line_terminator="\n").encode()


def _statistics(analysis: Analysis, rows: Sequence[Row]) -> Iterator[pl.Series]:
    """The columns of summary.csv that tell of a row's values."""
    summaries, asked = [row.summary for row in rows], analysis.run.asked
    columns: dict[str, Sequence[Any]] = {
        name: [*map(attrgetter(of), summaries)] for name, of in _STATISTICS.items()
    }
    cases = map(analysis.case, rows)
    columns["blocks_planned"] = [asked[case.environment, case.check] for case in cases]
    columns["flags"] = [csv_text("; ".join(row.flags)) if row.flags else "" for row in rows]
    for name in ("mean", "median"):
        intervals = [*map(attrgetter(f"{name}_interval"), summaries)]
        for part in _INTERVAL:
            columns[f"{name}_ci_{part}"] = [getattr(item, part, None) for item in intervals]
    for name, values in columns.items():
        yield pl.Series(name, values, dtype=_TYPES.get(name, pl.Float64))


def parquet(analysis: Analysis) -> bytes:
    """values.parquet: a row for each value of a valid launch."""
    rows, buffer = analysis.rows, BytesIO()
    metadata = {"assay.schema": str(SCHEMA), "assay.run_id": plain(analysis.run.run_id)}
    words = _heads(analysis).with_columns(pl.col(pl.String).cast(pl.Categorical))
    empty = np.array([], dtype=np.float64)
    blocks = [row.series.blocks for row in rows] or [empty.astype(np.int64)]
    repeated = words[np.repeat(np.arange(len(rows)), [row.summary.n for row in rows])]
    repeated.with_columns(
        pl.Series("block", np.concatenate(blocks)),
        pl.Series("value", np.concatenate([row.series.values for row in rows] or [empty])),
    ).select(*PARQUET_COLUMNS, pl.exclude([*_EVERY])).write_parquet(buffer, metadata=metadata)
    return buffer.getvalue()


@lru_cache(maxsize=1)
def _heads(analysis: Analysis) -> pl.DataFrame:
    """The columns that name rows; a point precedes a parameter of its name."""
    rows, metrics = analysis.rows, analysis.register.metrics
    of_case = _cases(analysis)[np.array([row.series.case for row in rows], dtype=np.int64)]
    known: dict[Any, int] = {}
    places = [known.setdefault(row.series.at, len(known)) for row in rows]
    texts = [csv_text(pairs_text(point)) for point in known]
    points = _frame([dict(point) for point in known])
    points = points.with_columns(pl.Series("at", texts, dtype=pl.String))
    of_point = points[np.array(places, dtype=np.int64)]
    both = [name for name in points.columns if name in of_case.columns]
    merged = [pl.coalesce(*_alike(of_point[name], of_case[name])).alias(name) for name in both]
    names = [row.series.metric for row in rows]
    heads = of_case.with_columns(
        *merged,
        pl.Series("metric", names, dtype=pl.String),
        pl.Series("unit", [csv_text(row.unit) for row in rows], dtype=pl.String),
        pl.Series("better", [metrics[name].better for name in names], dtype=pl.String),
    ).hstack(of_point.drop(both))
    if MESSAGE_BYTES not in heads.columns:
        heads = heads.with_columns(pl.lit(None, dtype=pl.Int64).alias(MESSAGE_BYTES))
    return heads


def _cases(analysis: Analysis) -> pl.DataFrame:
    """A row for each case of the plan; parameters that list points are left out."""
    run, plan = analysis.run, analysis.run.plan
    unlike, which = np.unique(np.array(run.first_alike, dtype=np.int64), return_inverse=True)
    first = [plan.cases[index] for index in unlike.tolist()]
    grids = [
        f"{case.params['p']}x{case.params['q']}" if {"p", "q"} <= case.params.keys() else None
        for case in first
    ]
    single = ([(k, v) for k, v in case.params.items() if not axis_of(k).lists] for case in first)
    params = [*map(csv_text, map(pairs_text, single))]
    alike = _frame([case.params for case in first]).with_columns(
        pl.Series("grid", grids, dtype=pl.String),
        pl.Series("params", params, dtype=pl.String),
    )
    whole = zip(COMMON, (run.run_id, plan.campaign, plan.site), strict=False)
    words = zip(_CASE, ("check", "environment", "id"), strict=False)
    cases = alike[which].drop(_LAYOUT, strict=False)
    return cases.with_columns(
        *(pl.lit(csv_text(text)).alias(name) for name, text in whole),
        *(
            pl.Series(name, [csv_text(getattr(case, of)) for case in plan.cases], dtype=pl.String)
            for name, of in words
        ),
        *(
            pl.Series(name, [getattr(case, name) for case in plan.cases], dtype=pl.Int64)
            for name in _LAYOUT
        ),
    )


def csv_text(text: str) -> str:
    """Text that no spreadsheet takes for a formula."""
    text = plain(text)
    return f"'{text}" if text.startswith(_FORMULA) else text


def _frame(items: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """A column for each key that has single values, a row for each item. A name that a column of
    the tables has, in whatever case it is written, is led by `param_`."""
    names: dict[str, str] = {}
    for key in dict.fromkeys(key for item in items for key in item):
        name = csv_text(key)
        while name in names.values() or name.lower() in _TAKEN:
            name = f"param_{name}"
        names[key] = name
    columns = []
    for key, name in names.items():
        values = [item.get(key) for item in items]
        if any(value is not None and not isinstance(value, list | dict) for value in values):
            columns.append(_series(name, values))
    return pl.DataFrame(columns) if columns else pl.DataFrame(height=len(items))


def _series(name: str, values: Sequence[Any]) -> pl.Series:
    """A column of numbers or of truths where all are, else of words; lists and mappings, which no
    cell can hold, are left out."""
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
