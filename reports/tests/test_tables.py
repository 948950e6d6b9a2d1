# SPDX-License-Identifier: Apache-2.0
"""Tables that are made from structs: headings and notation come from the fields."""

from typing import Annotated

from records.forms import Part, key
from reports.notation.units import percent
from reports.show.tables import Cell, Column, in_unit, table_of


class _Row(Part):
    """A struct that is shown."""

    node: Annotated[str, key("The node.", "node")]
    value: Annotated[float, key("The value.", "value", in_unit, numeric=True)]
    unit: Annotated[str, key("Its SI unit.")]
    share: Annotated[float | None, key("A share.", "share", percent, numeric=True)]
    verdict: Annotated[str, key("The verdict.", "verdict")]


def test_a_table_is_made_from_the_fields_of_its_structs() -> None:
    rows = [_Row("n1", 2.5e9, "bytes/s", 0.5, "FAIL"), _Row("n2", 1e6, "bytes/s", None, "PASS")]
    table = table_of(rows, anchor="a", title="A")
    assert table is not None
    assert table.columns == [
        Column("node"),
        Column("value", numeric=True),
        Column("share", numeric=True),
        Column("verdict"),
    ]
    shown = [Cell("n1"), Cell("2.500 GB/s"), Cell("50.0 %"), Cell("FAIL", tone="bad")]
    assert table.rows[0] == shown
    assert [cell.text for cell in table.rows[1]] == ["n2", "1.000 MB/s", "–", "PASS"]


def test_columns_are_chosen_and_rows_are_cut() -> None:
    rows = [_Row("n1", 2.5e9, "bytes/s", 0.5, "FAIL"), _Row("n2", 1e6, "bytes/s", None, "PASS")]
    table = table_of(rows, "verdict", "node", anchor="a", title="A", most=1)
    assert table is not None
    assert [[cell.text for cell in row] for row in table.rows] == [["FAIL", "n1"]]
    assert table.omitted == 1
    assert table_of([], anchor="a", title="A") is None
