# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: I001  (one import a module, with all that it gives)
"""Parts of the sections of a report; a section outside the tree imports this alone of us.

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

from reports.analysis.run import (
    Analysis as Analysis,
    Row as Row,
    flags_of as flags_of,
)
from reports.notation.units import (
    ReadableUnit as ReadableUnit,
    bytes_text as bytes_text,
    count_text as count_text,
    percent as percent,
    readable_unit as readable_unit,
)
from reports.notation.units import (
    between as between,
    not_resolved as not_resolved,
    quantity as quantity,
    with_range as with_range,
    with_spread as with_spread,
)
from reports.show.lines import (
    Curves as Curves,
    footer as footer,
    grouped as grouped,
    lines_of as lines_of,
    lines_picture as lines_picture,
    picture_of as picture_of,
    size_picture as size_picture,
)
from reports.show.panel import (
    Axis as Axis,
    Bars as Bars,
    Heat as Heat,
    Panel as Panel,
    Picture as Picture,
    Rule as Rule,
    Scale as Scale,
    Series as Series,
    Text as Text,
    heat_panel as heat_panel,
    rows_axis as rows_axis,
)
from reports.show.rows import (
    environment_cell as environment_cell,
    environments as environments,
    in_reading_order as in_reading_order,
    message_bytes as message_bytes,
    range_cell as range_cell,
    row_label as row_label,
    side_by_side as side_by_side,
    value_cell as value_cell,
)
from reports.show.section import (
    Section as Section,
)
from reports.show.tables import (
    Cell as Cell,
    Column as Column,
    Table as Table,
    across as across,
    pivot as pivot,
)
