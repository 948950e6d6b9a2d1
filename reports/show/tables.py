# SPDX-License-Identifier: Apache-2.0
"""Tables as plain data, which HTML and Markdown render alike, and `pivot`, which makes them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import PurePosixPath
from typing import Any, Literal, TypeVar, get_type_hints
from urllib.parse import quote

from msgspec import UNSET

from records.run.archive import is_member
from reports.notation.units import quantity, readable_unit

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)

#: Longer tables are cut in HTML and Markdown, with a line saying so; summary.csv has every row.
MOST_ROWS = 50
#: Tone of a verdict, and of a state that re-runs give.
TONES: dict[str, Literal["good", "bad", "open"]] = {
    "PASS": "good",
    "FAIL": "bad",
    "SUSPECT": "open",
    "INCONCLUSIVE": "open",
    "confirmed": "bad",
    "suspected": "open",
}


@dataclass(frozen=True, slots=True)
class Cell:
    """Text with what belongs to it: a title with SI values, a link, badges, a library's sign, how
    it is meant, and code after it. A page shows `parts`, each with its own link, in place of the
    text."""

    text: str
    title: str = ""
    href: str = ""
    badges: tuple[str, ...] = ()
    environment: str = ""
    tone: Literal["", "good", "open", "bad"] = ""
    parts: tuple[Cell, ...] = ()
    code: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """A column's heading; numeric ones are set flush right."""

    title: str
    numeric: bool = False
    environment: str = ""


@dataclass(frozen=True)
class Table:
    """Rows of cells; `total` counts all rows where the table is cut."""

    anchor: str
    title: str
    columns: list[Column]
    rows: list[list[Cell]]
    note: str = ""
    total: int = 0

    @property
    def omitted(self) -> int:
        """Rows not shown."""
        return max(0, self.total - len(self.rows))


Heading = Column | str
#: What makes a row's cell, or several cells, below a heading or several.
Lead = tuple[Heading | list[Heading], Callable[[T], Cell | str | Sequence[Cell | str]]]
#: The same from all rows of a line.
Value = tuple[Heading | list[Heading], Callable[[list[T]], Cell | str | Sequence[Cell | str]]]


def numeric(*titles: str) -> list[Heading]:
    """Headings over numbers."""
    return [Column(title, numeric=True) for title in titles]


def pivot(
    rows: Iterable[T],
    by: Sequence[Lead[T]],
    cell: Sequence[Value[T]] = (),
    *,
    anchor: str,
    title: str,
    note: str = "",
    total: int | None = None,
    most: int = MOST_ROWS,
) -> Table | None:
    """A line for each combination of `by` that the rows have, in the order of its first row.

    `by` gives the leading cells of a row: rows with the same texts and links there share a line,
    which has the badges of all of them. `cell` gives the further cells from a line's rows; without
    it each row has a line of its own. A heading that is a text stands over words in `by` and over
    numbers in `cell`. At most `most` lines are made; `total` tells how many there are where `rows`
    are cut already. None without rows.
    """
    lines: dict[object, tuple[list[Cell], list[T]]] = {}
    for index, row in enumerate(rows):
        lead = _cells(make(row) for _, make in by)
        key = tuple((item.text, item.href) for item in lead) if cell else index
        known, members = lines.setdefault(key, (lead, []))
        members.append(row)
        for column, item in enumerate(lead if known is not lead else ()):
            if item.badges != known[column].badges:
                both = dict.fromkeys((*known[column].badges, *item.badges))
                known[column] = replace(known[column], badges=tuple(both))
    if not lines:
        return None
    made = [
        lead + _cells(make(members) for _, make in cell)
        for lead, members in list(lines.values())[:most]
    ]
    columns = _columns((heading for heading, _ in by), numeric=False)
    columns += _columns((heading for heading, _ in cell), numeric=True)
    return Table(anchor, title, columns, made, note, total or len(lines))


def _columns(headings: Iterable[Heading | list[Heading]], *, numeric: bool) -> list[Column]:
    parts = (item if isinstance(item, list) else [item] for item in headings)
    every = (item for part in parts for item in part)
    return [item if isinstance(item, Column) else Column(item, numeric) for item in every]


def _cells(made: Iterable[Cell | str | Sequence[Cell | str]]) -> list[Cell]:
    parts = ([item] if isinstance(item, Cell | str) else item for item in made)
    return [item if isinstance(item, Cell) else Cell(item) for part in parts for item in part]


def across(
    keys: Iterable[K],
    key: Callable[[T], K],
    cell: Callable[[list[T]], Cell | str],
    heading: Callable[[K], Heading],
) -> Value[T]:
    """Columns of `pivot`, one for each of `keys`: the cell of a line's rows that have this key."""
    wanted = list(keys)

    def cells(rows: list[T]) -> list[Cell | str]:
        groups: dict[K, list[T]] = {}
        for row in rows:
            groups.setdefault(key(row), []).append(row)
        return [cell(groups.get(wanted_key, [])) for wanted_key in wanted]

    return [heading(wanted_key) for wanted_key in wanted], cells


def table_of(
    rows: Iterable[Any], *names: str, anchor: str, title: str, note: str = "", most: int = MOST_ROWS
) -> Table | None:
    """Table with a line for each struct of `rows`, and a column for each field in `names`.

    `records.forms.key` gives a field its heading and notation; by default all fields with a heading
    are columns. None is shown as a dash, and a verdict in its tone. At most `most` lines are made.
    None without rows.
    """
    if not (every := list(rows)):
        return None
    struct: type = type(every[0])
    columns = _described(struct)
    chosen = [(name, columns[name]) for name in names or columns]
    cells = [
        [_shown(getattr(row, name), row, column["show"]) for name, column in chosen]
        for row in every[:most]
    ]
    headings = [Column(column["title"], column["numeric"]) for _, column in chosen]
    return Table(anchor, title, headings, cells, note, len(every))


@cache
def _described(struct: type) -> dict[str, dict[str, Any]]:
    """Fields of a struct that have a heading, with what `records.forms.key` says of them."""
    hints = get_type_hints(struct, include_extras=True).items()
    return {
        name: meta.extra
        for name, hint in hints
        for meta in getattr(hint, "__metadata__", ())
        if getattr(meta, "extra", None)
    }


def in_unit(value: float, row: Any) -> str:
    """`show` of a value in the unit that its row's field `unit` names."""
    return quantity(value, readable_unit(row.unit, [value]))


def _shown(value: Any, row: Any, show: Callable[..., Cell | str]) -> Cell:
    if value is None or value is UNSET:
        return Cell("–")
    made = show(value, row) if show is in_unit else show(value)
    return made if isinstance(made, Cell) else Cell(made, tone=TONES.get(made, ""))


def slug(text: str) -> str:
    """`text` as a part of an HTML id."""
    return "".join(char if char.isascii() and char.isalnum() else "-" for char in text)[:80]


#: The folder of pages with raw output, below that of a report.
PAGES = "raw"


@dataclass(frozen=True)
class RawLinks:
    """Links from a page to raw output, by the way `root` from it to the run directory; `cases` are
    the ids of those whose pages it links.

    A browser opens no archive: what lies in one is shown by a page of its case in `pages`.
    """

    root: str
    pages: str = PAGES
    cases: set[str] = field(default_factory=set)

    def to(self, path: str) -> str:
        """Link to an artifact below the run directory; "" for no path or one that leads out."""
        pure = PurePosixPath(path)
        if pure.is_absolute() or ".." in pure.parts or not pure.parts:
            return ""
        if not is_member(str(pure)):
            return f"{self.root}/{quote(str(pure), errors='replace')}"
        case = pure.name.split(".b", maxsplit=1)[0]
        self.cases.add(case)
        return f"{self.pages}/{page_of(case)}#{quote(pure.name, errors='replace')}"


def page_of(case: str) -> str:
    """The page that shows the members of a case: "ring-1a2b.html"."""
    return f"{quote(case, errors='replace')}.html"
