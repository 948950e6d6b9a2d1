# SPDX-License-Identifier: Apache-2.0
"""The rows of a table as HTML, made without a template: a page may have tens of thousands of cells.

All text is escaped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from markupsafe import Markup, escape

from records.flags import BEYOND_LIMIT, DISTURBED, INVALID_ON_PURPOSE, OVERSUBSCRIBED, meaning
from reports.notation.units import unbroken
from reports.show.tables import Cell, Column, Table

_NO_BREAK = "\N{NO-BREAK SPACE}"
#: Between the ends of an interval, which may break there.
_ENDS = " … "
_SIGNED_DIGITS = "+−0123456789"
#: A text with more letters is no interval alone.
_SENTENCE = 30
#: Titles of columns whose cells the style knows by them.
_STYLED = ("verdict", "reason")
#: Texts of cells that say nothing, which a card leaves out.
_NOTHING = ("", "–")


def table_rows(table: Table, env: Callable[[str], Markup], *, cards: bool) -> Markup:
    """A `tr` a row; `env` writes an environment. In `cards` a cell names its column."""
    heads = [_head_of(column, cards=cards) for column in table.columns]
    lines = []
    for place, row in enumerate(table.rows):
        cells = "".join(_cells(row, table.columns, heads, env))
        group = ' class="group"' if place in table.groups else ""
        lines.append(f"<tr{group}>{cells}</tr>\n")
    return Markup("".join(lines))  # noqa: S704 (all text in it is escaped)


def _head_of(column: Column, *, cards: bool) -> tuple[str, str]:
    """The class of a column's cells, and their column's name as an attribute."""
    named = f"{column.environment} {column.title}".strip()
    kind = "num" if column.numeric else column.title if column.title in _STYLED else ""
    return kind, f' data-of="{escape(named)}"' if cards else ""


def _cells(
    row: Sequence[Cell],
    columns: Sequence[Column],
    heads: Sequence[tuple[str, str]],
    env: Callable[[str], Markup],
) -> Iterator[str]:
    for place, (cell, column, (own, named)) in enumerate(zip(row, columns, heads, strict=False)):
        title = f' title="{escape(cell.title)}"' if cell.title else ""
        if not place:
            number = ' class="num"' if column.numeric else ""
            yield f'<th scope="row"{number}{title}>{_content(cell, env)}</th>'
            continue
        kinds = [own] if own else []
        kinds += ["ends"] if own == "num" and _ENDS in cell.text else []
        kinds += ["none"] if named and cell.text in _NOTHING and not cell.badges else []
        words = " ".join(kinds)
        kind = f' class="{words}"' if kinds else ""
        yield f"<td{kind}{named}{title}>{_content(cell, env)}</td>"


def _content(cell: Cell, env: Callable[[str], Markup]) -> str:
    """Text, link and badges of a cell."""
    if cell.parts:
        return ", ".join(
            f'<span title="{escape(part.title)}">{_content(part, env)}</span>'
            for part in cell.parts
        )
    quiet = ""
    if cell.environment:
        shown = str(env(cell.environment))
    else:
        quiet = ' class="quiet"' if cell.quiet else ""
        shown = str(escape(_text(cell)))
        if cell.tone:
            shown = f'<span class="badge {cell.tone}">{shown}</span>'
    if cell.href:
        shown = f'<a href="{escape(cell.href)}"{quiet}>{shown}</a>'
    elif quiet:
        shown = f"<span{quiet}>{shown}</span>"
    if cell.code:
        shown += f" <code>{escape(cell.code)}</code>"
    return shown + "".join(map(_badge, cell.badges)) if cell.badges else shown


def _text(cell: Cell) -> str:
    """The text of a cell; a value stays with its spread, an interval breaks between its ends, but
    not inside a sentence."""
    text = cell.text
    if cell.quiet and not cell.href:
        return unbroken(text)
    if len(text) > _SENTENCE:
        text = text.replace(_ENDS, f"{_NO_BREAK}…{_NO_BREAK}")
    elif not cell.href and _ENDS in text and text[0] in _SIGNED_DIGITS:
        return text.replace(" ", _NO_BREAK).replace(f"…{_NO_BREAK}", "… ")
    return unbroken(text)


def _badge(text: str) -> str:
    said = meaning(text)
    title = f' title="{escape(said)}"' if said else ""
    return f'<span class="badge {_badge_kind(text)}"{title}>{escape(text)}</span>'


def _badge_kind(text: str) -> str:
    """Class of a flag's colour; the word itself always says what it is."""
    if text.startswith((BEYOND_LIMIT, DISTURBED, OVERSUBSCRIBED, "n =")):
        return "warn"
    return "bad" if text.startswith(INVALID_ON_PURPOSE) else ""
