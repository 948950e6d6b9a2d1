# SPDX-License-Identifier: Apache-2.0
"""Output of commands: no text of a program moves the cursor or hides what is there, and lines for
people fit."""

import codecs
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from errno import EIO, EPIPE
from io import TextIOWrapper
from typing import Any, TextIO, cast

from records.text.plain_text import plain, unbroken

WIDTH = 80
#: Longer lines are hard to read, even where a terminal is wide.
MOST = 120
#: By how much further lines of a text are indented.
HANG = 2
#: Columns that texts get however narrow the terminal.
_LEAST = 20
#: Says a line of progress to the user.
Say = Callable[[str], object]

_ARGUMENT = r"(?:-[^\s;,]+(?: [^\s;,-][^\s;,]*)?|[A-Z0-9'\"/.][^\s;,]*|[^\s;,]*/[^\s;,]*)"
#: A command in a text: in backticks, or `assay` with its subcommand and what looks like arguments.
_COMMAND = rf"`[^`'\n]+`|\bassay [a-z]+(?: [a-z][\w-]*)?(?: {_ARGUMENT})*"
_WORD = re.compile(rf"(?:{_COMMAND}|\S)+\s*")


class PatientStream:
    """A stream that drops output without a reader, as behind `| head` or on a terminal that is
    closed, so that a command comes to its own exit status."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        """Write a text."""
        with self._unread():
            self.stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Write what is buffered."""
        with self._unread():
            self.stream.flush()

    @contextmanager
    def _unread(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno not in (EPIPE, EIO):
                raise
            leave_pipe(self.stream)


class PlainStream(PatientStream):
    """A stream whose text is plain. `messages`: what it has is for people, so that on a terminal
    lines that are too long are broken; in a file or a pipe a message stays a line, which is
    searched for."""

    def __init__(self, stream: TextIO, *, messages: bool) -> None:
        super().__init__(stream)
        self._folds = messages and stream.isatty()

    def write(self, text: str) -> int:
        """Write a text without its control characters."""
        text = plain(text)
        return self.stream.write(folded(text, width_of(self.stream)) if self._folds else text)


@contextmanager
def plain_output() -> Iterator[None]:
    """Within this, what is printed to standard output and standard error is plain."""
    before = sys.stdout, sys.stderr
    for stream in before:
        # A locale that lacks a character, such as "–", makes no error of it.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=_ESCAPED)
    out, err = (cast(TextIO, PatientStream(stream)) for stream in before)
    sys.stdout = cast(TextIO, PlainStream(out, messages=False))
    sys.stderr = cast(TextIO, PlainStream(err, messages=True))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def leave_pipe(stream: TextIO) -> None:
    """A stream lost its reader: what is still written there fails no more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def say(text: str, *, hang: int = HANG) -> None:
    """Print a text for people: lines that are too long are broken, and go on indented by `hang`."""
    print(folded(text, width_of(sys.stdout), hang), flush=True)


def own(stream: TextIO) -> TextIO:
    """Standard output or error for what sets colours, or moves the cursor, itself and prints plain
    text only."""
    return cast(TextIO, getattr(stream, "stream", stream))


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """Characters that an encoding lacks, as JSON writes them."""
    assert isinstance(error, UnicodeEncodeError)
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


_ESCAPED = "assay-escaped"
codecs.register_error(_ESCAPED, _escaped)


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
    """Offsets at which lines of a text begin, the first left out, so that each is of this width at
    most; all but the first are indented by `hang`. A number and its unit stay together. A word for
    which no line has room, such as a path, stays where it is."""
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
