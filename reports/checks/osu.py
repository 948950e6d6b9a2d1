# SPDX-License-Identifier: Apache-2.0
"""The OSU micro-benchmarks in one table: benchmark by environment, with the launches' spread."""

from __future__ import annotations

from reports.analysis import Analysis, Row, flags_of
from reports.notation.units import bytes_text, readable_unit
from reports.show.rows import measured_in, message_bytes, range_cell
from reports.show.section import Section
from reports.show.tables import Cell, Column, Table, pivot

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


def benchmarks_table(analysis: Analysis) -> Table | None:
    """A line a benchmark and message length, a column an environment."""
    headlines: dict[str, str] = {}
    rows = analysis.rows_of(_CHECK, *_HEADLINES)
    for row in rows:  # in the order of _HEADLINES
        headlines.setdefault(_test(analysis, row), row.series.metric)
    rows = [row for row in rows if headlines[_test(analysis, row)] == row.series.metric]
    names = measured_in(analysis, rows)

    def other(row: Row) -> str:
        return ", ".join(analysis.labels[_CHECK].parts(analysis.case(row), _LED)) or "–"

    def size(row: Row) -> str:
        found = row.series.at_value("message_bytes")
        return "–" if found is None else bytes_text(found)

    def values(line: list[Row]) -> list[Cell]:
        unit = readable_unit(line[0].unit, (v for row in line for v in row.series.values.tolist()))
        cells = [Cell(f"{analysis.register.metric_title(line[0].series.metric)}, {unit.label}")]
        for name in names:
            own = [row for row in line if analysis.case(row).environment == name]
            launches = (v for row in own for v in row.series.values.tolist())
            cells.append(range_cell(launches, unit, flags_of(own)))
        return cells

    return pivot(
        sorted(rows, key=lambda row: (_test(analysis, row), other(row), message_bytes(row))),
        [
            ("benchmark", lambda row: _test(analysis, row)),
            ("case", other),
            (Column("message", numeric=True), size),
        ],
        [
            (
                [
                    Column("quantity"),
                    *(Column("", numeric=True, environment=name) for name in names),
                ],
                values,
            )
        ],
        anchor="table-osu-benchmarks",
        title="Benchmarks by environment",
        note="Median of the launches, in brackets least and greatest. Each benchmark by its own"
        " quantity: mean latency over ranks, bandwidth, message rate, overall time of a collective"
        " operation beside computing, mean time of MPI_Init, time of the launch of osu_hello.",
        group=2,
    )


def _test(analysis: Analysis, row: Row) -> str:
    return str(analysis.case(row).params["test"])


SECTION = Section(tables=(benchmarks_table,))
