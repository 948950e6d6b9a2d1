# SPDX-License-Identifier: Apache-2.0
"""Files that somebody else may have made: opened only if regular, decoded with one clear message.

A run directory is input. No link in it is followed, no FIFO waited for, no damage shown as a
traceback; every fault is an AssayError that names file and line.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import TypeVar

import msgspec

from records.errors import AssayError
from records.untrusted import KINDS, RefusedFileError, open_regular

#: Bytes of a file that is read as a whole, and of a line.
MOST_BYTES = 1 << 30
MOST_LINE_BYTES = 1 << 28
#: Bytes read and decoded together: few, so that their objects stay in the cache.
_BATCH_BYTES = 1 << 16
_NEWLINE = b"\n"

_T = TypeVar("_T")


def kind_at(path: Path) -> str | None:
    """Kind of what is there, "a file" or "a FIFO", links not followed; None where nothing is."""
    try:
        return KINDS.get(stat.S_IFMT(path.lstat().st_mode), "a file")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise AssayError(f"{path}: cannot be read ({error.strerror})") from error


def opened(path: Path) -> BufferedReader:
    """The file, open for reading; the folders before its name may be links, its name may not.
    Raises AssayError for what cannot be opened or is no regular file."""
    return opened_below(path.parent, path.name)


def opened_below(folder: Path, name: str) -> BufferedReader:
    """The file `name` ("raw/x.out") below a folder, open for reading; nothing below it is a link.
    Raises AssayError for a name that leads out of the folder, and as `opened` does."""
    try:
        return open_regular(folder, name)
    except RefusedFileError as refused:
        raise AssayError(f"{folder / name}: {refused}") from refused
    except FileNotFoundError as error:
        raise AssayError(f"{folder / name}: cannot be read ({error.strerror})") from error


def read_whole(path: Path) -> bytes:
    """The content of a regular file. Raises AssayError as `opened` does, and for a huge one."""
    with opened(path) as file:
        large = os.fstat(file.fileno()).st_size > MOST_BYTES
        content = b"" if large else file.read(MOST_BYTES + 1)
    if large or len(content) > MOST_BYTES:
        raise AssayError(f"{path}: is larger than {MOST_BYTES} bytes; it is damaged")
    return content


def whole_lines(path: Path) -> Iterator[tuple[str, bytes]]:
    """File and number of each line of a file, and the line without its newline."""
    with opened(path) as file:
        for first, _, lines in line_batches(file, path):
            for number, line in enumerate(lines, start=first):
                yield f"{path}:{number}", line


def line_batches(
    file: BufferedReader, path: Path, first: int = 1
) -> Iterator[tuple[int, bytes, list[bytes]]]:
    """An open file in pieces of whole lines: the number of its first line, here `first`, the piece,
    and its lines without their newlines. What follows the last newline is left out. Raises
    AssayError for a line without an end, and for lines that end in CR only."""
    while piece := file.read(_BATCH_BYTES):
        if not piece.endswith(_NEWLINE):
            rest = file.readline(MOST_LINE_BYTES + 1)
            if len(rest) > MOST_LINE_BYTES:
                where = f"{path}:{first + piece.count(_NEWLINE)}"
                raise AssayError(
                    f"{where}: a line of more than {MOST_LINE_BYTES} bytes; it is damaged"
                )
            piece += rest
        *lines, torn = piece.split(_NEWLINE)
        if lines:
            yield first, piece[: len(piece) - len(torn)], lines
        first += len(lines)
        if b"\r" in torn:
            raise AssayError(f"{path}:{first}: lines end in CR; allowed are lines that end in LF")


def decoded(decode: Callable[[bytes], _T], content: bytes, where: str, what: str) -> _T:
    """Decode a content. Raises AssayError "<where>: not <what>: <fault>". `where` without a line
    gets the line of the fault."""
    try:
        return decode(content)
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError) as error:
        place = where if re.search(r":\d+$", where) else f"{where}:{_line_of(content, error)}"
        fault = "nested too deep" if isinstance(error, RecursionError) else str(error)
        raise AssayError(f"{place}: not {what}: {fault}") from error


def decoded_once(decode: Callable[[bytes], _T], content: bytes, where: str, what: str) -> _T:
    """As `decoded`; a member that an object has twice is a fault, too: readers would differ."""
    found = decoded(decode, content, where, what)
    refuse_twice(content, where, what)
    return found


def refuse_twice(content: bytes, where: str, what: str) -> None:
    """Raise AssayError for JSON with a member twice in one object; our own encoder's is quick."""

    def once(members: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(members)
        if len(found) < len(members):
            name = next(name for name, count in Counter(n for n, _ in members).items() if count > 1)
            raise ValueError(f"the member {name!r} appears twice in one object")
        return found

    def again(content: bytes) -> bytes:
        return msgspec.json.encode(msgspec.json.decode(content))

    if decoded(again, content, where, what) != content.rstrip(b"\n"):
        decoded(partial(json.loads, object_pairs_hook=once), content, where, what)


def line_with(content: bytes, *members: str) -> int:
    """The line of a member, each name looked for behind the one before; 1 where one is missing."""
    place = 0
    for member in members:
        place = content.find(msgspec.json.encode(member), place)
        if place < 0:
            return 1
    return content.count(b"\n", 0, place) + 1


def _line_of(content: bytes, error: Exception) -> int:
    """The line of a fault that a decoder found: by its offset, or by the member that it names."""
    if offset := re.search(r"\(byte (\d+)\)", str(error)):
        return content.count(b"\n", 0, int(offset[1])) + 1
    if "truncated" in str(error):
        return content.count(b"\n") + 1
    if isinstance(error, UnicodeDecodeError):
        return content.count(b"\n", 0, error.start) + 1
    named = re.search(r"`\$((?:\.\w+)+)", str(error))
    return line_with(content, *named[1].lstrip(".").split(".")) if named else 1
