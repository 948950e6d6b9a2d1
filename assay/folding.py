# SPDX-License-Identifier: Apache-2.0
"""Texts broken at words into lines that fit; a path, or a command to be copied, is never broken."""

from __future__ import annotations

import os
import re
from typing import TextIO

from reports.notation.units import unbroken

WIDTH = 80
#: Longer lines are hard to read, even where a terminal is wide.
MOST = 120
#: By how much further lines of a text are indented.
HANG = 2
#: Columns that texts get however narrow the terminal.
_LEAST = 20

_ARGUMENT = r"(?:-[^\s;,]+(?: [^\s;,-][^\s;,]*)?|[A-Z0-9'\"/.][^\s;,]*|[^\s;,]*/[^\s;,]*)"
#: A command in a text: in backticks, or `assay` with its subcommand and what looks like arguments.
_COMMAND = rf"`[^`'\n]+`|\bassay [a-z]+(?: [a-z][\w-]*)?(?: {_ARGUMENT})*"
_WORD = re.compile(rf"(?:{_COMMAND}|\S)+\s*")


def width_of(stream: TextIO) -> int:
    """The columns of a line: those of the terminal, of COLUMNS where that is set; elsewhere 80."""
    if not stream.isatty():
        return WIDTH
    stated = os.environ.get("COLUMNS", "")
    try:
        columns = int(stated) if stated.isdigit() else os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        return WIDTH
    return min(MOST, columns or WIDTH)


def breaks(text: str, width: int, hang: int) -> list[int]:
    """Where lines of a text begin, the first left out, so that each is of this width at most; all
    but the first are indented by `hang`. A number and its unit stay together. A word for which no
    line has room, such as a path, stays where it is."""
    found, used, room = [], 0, max(_LEAST, width)
    for word in _WORD.finditer(unbroken(text).replace("\u00a0", "_")):
        size = cells(word[0].rstrip())
        if used and used + size > room and size <= max(_LEAST, width - hang):
            found.append(word.start())
            used, room = 0, max(_LEAST, width - hang)
        used += cells(word[0])
    return found


def folded(text: str, width: int, hang: int = HANG) -> str:
    """Each line of a text that is too long broken; what follows is indented as it is, and by
    `hang` more."""
    return "\n".join(_folded_line(line, width, hang) for line in text.split("\n"))


def _folded_line(line: str, width: int, hang: int) -> str:
    if len(line) <= width and (line.isascii() or cells(line) <= width):
        return line
    words = line.lstrip()
    indent = len(line) - len(words)
    places = breaks(words, width - indent, hang)
    ends = zip([0, *places], [*places, len(words)], strict=True)
    first, *others = (words[start:end].rstrip() for start, end in ends)
    return "\n".join([" " * indent + first, *(" " * (indent + hang) + one for one in others)])


def cells(text: str) -> int:
    """The columns that a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # slow: tables of widths

    return cell_len(text)
