# SPDX-License-Identifier: Apache-2.0
"""What commands print: no text of a program moves the cursor or hides what stands there."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

from records.plain_text import plain


class PlainStream:
    """A stream whose text is plain; everything else is that of `stream`."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write a text without its control characters."""
        return self.stream.write(plain(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextmanager
def plain_output() -> Iterator[None]:
    """Within this, what is printed to standard output and standard error is plain."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast(TextIO, PlainStream(stream)) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def own_stdout() -> TextIO:
    """Standard output for what sets colours itself and prints plain text only."""
    return cast(TextIO, getattr(sys.stdout, "stream", sys.stdout))


def own_stderr() -> TextIO:
    """Standard error for a display that moves the cursor itself and prints plain text only."""
    return cast(TextIO, getattr(sys.stderr, "stream", sys.stderr))
