# SPDX-License-Identifier: Apache-2.0
"""What commands show people on standard output: aligned, in colour on a terminal only.

Texts may come from programs and records: all are made plain, and none is read as markup. A line has
80 columns unless the terminal has more or fewer; off a terminal always 80. NO_COLOR is kept.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from assay.terminal import own_stdout
from records.plain_text import one_line

WIDTH = 80
#: Longer lines are hard to read, whatever a terminal offers.
MOST = 120

#: What a text means; the style follows.
Tone = Literal["plain", "good", "bad", "open", "quiet", "head"]
_STYLES = {
    "plain": "",
    "good": "bold green",
    "bad": "bold red",
    "open": "bold yellow",
    "quiet": "dim",
    "head": "bold",
}


#: A text, or a text with its tone.
Toned = str | tuple[str, Tone]


@dataclass(frozen=True)
class Column:
    """A table's column: numbers are set flush right and never broken."""

    title: str
    numeric: bool = False


class Screen:
    """Prints lines and tables."""

    def __init__(self) -> None:
        stream = own_stdout()
        probe = Console(file=stream)
        self.width = min(MOST, probe.width) if probe.is_terminal else WIDTH
        self._console = Console(
            file=stream,
            width=self.width,
            color_system=None if os.environ.get("NO_COLOR") else "auto",
            highlight=False,
            markup=False,
            emoji=False,
        )

    def line(self, *parts: Toned, indent: int = 0, hang: int = 0) -> None:
        """A paragraph of parts, broken at words; `hang`: by how much more its next lines are
        indented. A word that is longer than a line, such as a path, is never broken."""
        text = Text()
        for part in parts:
            words, tone = (part, "plain") if isinstance(part, str) else part
            text.append(plain_part(words), style=_STYLES[tone])
        room = max(20, self.width - indent - hang)
        for place, line in enumerate(text.divide(breaks(text.plain, room))):
            line.rstrip()
            self._out(Text(" " * (indent + (hang if place else 0))) + line)

    def blank(self) -> None:
        """An empty line."""
        self._console.print()

    def table(
        self,
        columns: Sequence[Column],
        rows: Sequence[Sequence[Toned]],
        *,
        indent: int = 2,
    ) -> None:
        """Rows below headings; words are broken where they do not fit, numbers are not."""
        grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style=_STYLES["quiet"])
        for column in columns:
            side: Literal["left", "right"] = "right" if column.numeric else "left"
            grid.add_column(
                Text(column.title), justify=side, no_wrap=column.numeric, overflow="fold"
            )
        for row in rows:
            cells = ((cell, "plain") if isinstance(cell, str) else cell for cell in row)
            grid.add_row(*(Text(one_line(text), style=_STYLES[tone]) for text, tone in cells))
        self._out(Padding(grid, (0, 0, 0, indent)))

    def _out(self, thing: Text | Padding) -> None:
        """Print without blanks at the ends of lines."""
        with self._console.capture() as caught:
            self._console.print(thing, soft_wrap=True)
        lines = (line.rstrip() for line in caught.get().splitlines())
        self._console.file.write("".join(f"{line}\n" for line in lines))


def breaks(text: str, room: int) -> list[int]:
    """Where lines of a text begin, the first left out, so that each has room for its words. A word
    that has no room anywhere, such as a path, stays where it is."""
    found, used = [], 0
    for word in re.finditer(r"\S+\s*", text):
        size = cell_len(word[0].rstrip())
        if used and used + size > room >= size:
            found.append(word.start())
            used = 0
        used += cell_len(word[0])
    return found


def plain_part(text: str) -> str:
    """A part of a line: on one line and plain, with the blanks at its ends."""
    inner = one_line(text).strip()
    if not inner:
        return " " * bool(text)
    return " " * text[:1].isspace() + inner + " " * text[-1:].isspace()
