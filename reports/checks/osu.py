# SPDX-License-Identifier: Apache-2.0
"""The OSU micro-benchmarks in one table: benchmark by environment, with the launches' spread."""

from __future__ import annotations

from dataclasses import replace

from records.metric import Register
from reports.analysis import Analysis, Row, flags_of
from reports.checks.node.values import spread_cell
from reports.notation.units import bytes_text, readable_unit
from reports.show.tables import Cell, Column, Table, columns_of

_CHECK = "osu"
#: What a benchmark is read by: the first of these that it has.
_HEADLINES = (
    "osu_message_rate",
    "osu_bandwidth",
    "osu_overall_time",
    "osu_latency",
    "osu_init_mean",
    "launch",
)
#: Parameters that stand in the lead columns, or change no more than how well a value is known.
_LED = ("test", "least_bytes", "greatest_bytes", "suite_sizes", "iterations", "warmup")
#: A benchmark, its other parameters, the message length (None without), the metric.
_Key = tuple[str, str, int | None, str]


def benchmarks_table(analysis: Analysis) -> Table | None:
    """A line a benchmark and message length, a column an environment."""
    found: dict[_Key, dict[str, list[Row]]] = {}
    for test, rows in _by_test(analysis).items():
        printed = {row.series.metric for row in rows}
        headline = next(name for name in _HEADLINES if name in printed)
        for row in rows:
            if row.series.metric == headline:
                case = analysis.case(row)
                other = ", ".join(analysis.labels[_CHECK].parts(case, _LED))
                size = row.series.at_value("message_bytes")
                key = (test, other, None if size is None else int(size), headline)
                found.setdefault(key, {}).setdefault(case.environment, []).append(row)
    if not found:
        return None
    order = sorted(found, key=lambda key: (key[0], key[1], key[2] or 0))
    shown = {name for rows in found.values() for name in rows}
    names = [name for name in analysis.looks if name in shown]
    return Table(
        "table-osu-benchmarks",
        "Benchmarks by environment",
        [
            *columns_of(["benchmark", "case"], ["message"], ["quantity"]),
            *(Column(name, numeric=True, environment=name) for name in names),
        ],
        [_line(analysis.register, key, found[key], names) for key in order],
        "Median of the launches, in brackets least and greatest. Each benchmark by its own"
        " quantity: mean latency over ranks, bandwidth, message rate, overall time of a collective"
        " operation beside computing, mean time of MPI_Init, time of the launch of osu_hello.",
        total=len(order),
        groups=frozenset(
            place
            for place, key in enumerate(order)
            if place == 0 or key[:2] != order[place - 1][:2]
        ),
    )


def _by_test(analysis: Analysis) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in analysis.rows_of(_CHECK):
        if row.series.metric in _HEADLINES:
            found.setdefault(str(analysis.case(row).params["test"]), []).append(row)
    return found


def _line(
    register: Register, key: _Key, rows: dict[str, list[Row]], names: list[str]
) -> list[Cell]:
    test, other, size, metric = key
    values = {name: _values(rows.get(name, [])) for name in names}
    unit = readable_unit(
        register.metrics[metric].unit, [v for of_one in values.values() for v in of_one]
    )
    return [
        Cell(test),
        Cell(other or "–"),
        Cell("–" if size is None else bytes_text(size)),
        Cell(f"{register.metric_title(metric)}, {unit.label}"),
        *(_spread(values[name], unit.factor, rows.get(name, [])) for name in names),
    ]


def _values(rows: list[Row]) -> list[float]:
    return [float(value) for row in rows for value in row.series.values]


def _spread(values: list[float], factor: float, rows: list[Row]) -> Cell:
    scaled = [value / factor for value in values]
    return replace(spread_cell(scaled, 2), badges=flags_of(rows))
