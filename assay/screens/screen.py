# SPDX-License-Identifier: Apache-2.0
"""Screen that commands show people on standard output: aligned, in colour on a terminal only.

Texts may come from programs and records: all are made plain, and none is read as markup. A line has
80 columns unless the terminal has more or fewer; off a terminal always 80. NO_COLOR is kept, and
FORCE_COLOR colours nothing that is no terminal.
"""

import os
import sys
from collections.abc import Sequence
from typing import Literal

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from assay.terminal import breaks, cells, own, width_of
from records.text.plain_text import one_line
from reports.render.terminal import Lines, Style, Styled
from reports.show.tables import Column

_STYLES = {
    "plain": "",
    "good": "bold green",
    "bad": "bold red",
    "open": "bold yellow",
    "quiet": "dim",
    "head": "bold",
}


class Screen(Lines):
    """Prints lines and tables."""

    def __init__(self) -> None:
        stream = own(sys.stdout)
        self.width = width_of(stream)
        self._console = Console(
            file=stream,
            width=self.width,
            force_terminal=stream.isatty(),
            color_system=None if os.environ.get("NO_COLOR") else "auto",
            highlight=False,
            markup=False,
            emoji=False,
        )

    def line(self, *parts: Styled, indent: int = 0, hang: int = 0) -> None:
        """A paragraph of parts, broken at words; `hang`: by how much more its next lines are
        indented. A word that is longer than a line, such as a path, is never broken."""
        text = Text()
        for part in parts:
            words, tone = _with_tone(part)
            text.append(plain_part(words), style=_STYLES[tone])
        places = breaks(text.plain, self.width - indent, hang)
        for place, line in enumerate(text.divide(places)):
            line.rstrip()
            self._out(Text(" " * (indent + (hang if place else 0))) + line)

    def blank(self) -> None:
        """An empty line."""
        self._console.file.write("\n")

    def table(self, columns: Sequence[Column], rows: Sequence[Sequence[Styled]]) -> None:
        """Rows below headings. Texts are broken at blanks, numbers are not; where that does not
        fit, a row is a paragraph."""
        if _least_width(columns, rows) > self.width - 2:
            for row in rows:
                self.line(*_paragraph(columns, row), indent=2, hang=2)
            return
        grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style=_STYLES["quiet"])
        for column in columns:
            side: Literal["left", "right"] = "right" if column.numeric else "left"
            grid.add_column(
                Text(column.title), justify=side, no_wrap=column.numeric, overflow="fold"
            )
        for row in rows:
            found = map(_with_tone, row)
            grid.add_row(*(Text(one_line(text), style=_STYLES[tone]) for text, tone in found))
        self._out(Padding(grid, (0, 0, 0, 2)))

    def _out(self, thing: Text | Padding) -> None:
        """Print without blanks at the ends of lines."""
        with self._console.capture() as caught:
            self._console.print(thing, soft_wrap=True)
        lines = (line.rstrip() for line in caught.get().splitlines())
        self._console.file.write("".join(f"{line}\n" for line in lines))


def _with_tone(part: Styled) -> tuple[str, Style]:
    return (part, "plain") if isinstance(part, str) else part


def _least_width(columns: Sequence[Column], rows: Sequence[Sequence[Styled]]) -> int:
    """The width of a table whose texts are broken at each blank."""
    total = 2 * (len(columns) - 1)
    for place, column in enumerate(columns):
        texts = [column.title, *(_with_tone(row[place])[0] for row in rows)]
        parts = texts if column.numeric else [word for text in texts for word in text.split()]
        total += max(map(cells, parts), default=0)
    return total


def _paragraph(columns: Sequence[Column], row: Sequence[Styled]) -> list[Styled]:
    """A row of a table in a line: what has a heading after it, and commas between."""
    parts: list[Styled] = []
    for column, cell in zip(columns, row, strict=True):
        text, tone = _with_tone(cell)
        if text.strip():
            head = f"{column.title} " if column.title else ""
            parts += [f"{', ' if parts else ''}{head}", (text, tone)]
    return parts


def plain_part(text: str) -> str:
    """A part of a line: on one line and plain, with the blanks at its ends."""
    inner = one_line(text).strip()
    if not inner:
        return " " * bool(text)
    return " " * text[:1].isspace() + inner + " " * text[-1:].isspace()
