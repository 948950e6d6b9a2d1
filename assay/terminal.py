# SPDX-License-Identifier: Apache-2.0
"""Output of commands: no text of a program moves the cursor or hides what is there, and lines for
people fit."""

from __future__ import annotations

import codecs
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from errno import EIO, EPIPE
from io import TextIOWrapper
from threading import Event, Thread
from typing import Any, TextIO, cast

from assay.folding import HANG, folded, width_of
from records.errors import AssayError
from records.text.plain_text import plain

#: Says a line of progress to the user.
Say = Callable[[str], object]


class _Wrapped:
    """A stream; what a subclass does not change is that of `stream`."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class PatientStream(_Wrapped):
    """A stream that drops output without a reader, as behind `| head` or on a terminal that is
    closed, so that a command comes to its own exit status."""

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


class PlainStream(_Wrapped):
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


@contextmanager
def said_meanwhile(say: Say, told: Callable[[], str], every_s: float) -> Iterator[None]:
    """Within this, say what is being done every `every_s` seconds."""
    ended = Event()

    def tell() -> None:
        while not ended.wait(every_s):
            with suppress(OSError, AssayError):  # the terminal, or what it tells of, is gone
                say(told())

    teller = Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        ended.set()
        teller.join()


def own_stdout() -> TextIO:
    """Standard output for what sets colours itself and prints plain text only."""
    return cast(TextIO, getattr(sys.stdout, "stream", sys.stdout))


def own_stderr() -> TextIO:
    """Standard error for a display that moves the cursor itself and prints plain text only."""
    return cast(TextIO, getattr(sys.stderr, "stream", sys.stderr))


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """Characters that an encoding lacks, as JSON writes them."""
    assert isinstance(error, UnicodeEncodeError)
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


_ESCAPED = "assay-escaped"
codecs.register_error(_ESCAPED, _escaped)
