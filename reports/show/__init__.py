# SPDX-License-Identifier: Apache-2.0
"""What sections of a report are made of; those of checks outside the tree import this alone of us.

A `report.py` beside such a check defines `SECTION = Section(pictures=(…), tables=(…))`. Each entry
is a function of the run's `Analysis` that gives a `Picture`, a `Table`, or None:

- `analysis.rows_of(check, *metrics)` are `Row`s: a metric at a point of a case, `row.summary` with
  n, mean, s, median and intervals in the SI unit `row.unit`, `row.series.at_value(name)` a
  coordinate of the point; `analysis.case(row)` has parameters, ranks and environment.
- `pivot` makes every table; `value_cell` (mean ± s) and `range_cell` (median, least, greatest) its
  cells, `side_by_side` a column for each environment.
- `lines_picture` draws metrics along an `Axis`, a panel for each of the `Curves` that `grouped`
  gives; `size_picture` does so along message lengths; `picture_of` takes a `Panel` for each group:
  marks (`Series`, `Rule`, `Text`, `Bars`, `Heat`) over two axes (`Axis`).
- `quantity`, `with_spread`, `with_range`, `between` write numbers; `readable_unit` finds the unit.
"""

from reports.analysis import Analysis, Row, flags_of
from reports.notation.units import ReadableUnit, bytes_text, count_text, percent, readable_unit
from reports.notation.values import between, not_resolved, quantity, with_range, with_spread
from reports.show.lines import (
    Curves,
    footer,
    grouped,
    lines_of,
    lines_picture,
    picture_of,
    size_picture,
)
from reports.show.panel import (
    Axis,
    Bars,
    Heat,
    Panel,
    Picture,
    Rule,
    Scale,
    Series,
    Text,
    heat_panel,
    rows_axis,
)
from reports.show.rows import (
    environment_cell,
    environments,
    in_reading_order,
    message_bytes,
    range_cell,
    row_label,
    side_by_side,
    value_cell,
)
from reports.show.section import Section
from reports.show.tables import Cell, Column, Table, across, pivot

__all__ = [
    "Analysis",
    "Axis",
    "Bars",
    "Cell",
    "Column",
    "Curves",
    "Heat",
    "Panel",
    "Picture",
    "ReadableUnit",
    "Row",
    "Rule",
    "Scale",
    "Section",
    "Series",
    "Table",
    "Text",
    "across",
    "between",
    "bytes_text",
    "count_text",
    "environment_cell",
    "environments",
    "flags_of",
    "footer",
    "grouped",
    "heat_panel",
    "in_reading_order",
    "lines_of",
    "lines_picture",
    "message_bytes",
    "not_resolved",
    "percent",
    "picture_of",
    "pivot",
    "quantity",
    "range_cell",
    "readable_unit",
    "row_label",
    "rows_axis",
    "side_by_side",
    "size_picture",
    "value_cell",
    "with_range",
    "with_spread",
]
