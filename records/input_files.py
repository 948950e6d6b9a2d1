# SPDX-License-Identifier: Apache-2.0
"""Files that somebody else may have made: opened only if regular, decoded with one clear message.

A run directory is input. No link in it is followed, no FIFO waited for, no damage shown as a
traceback; every fault is an AssayError that names file and line.
"""

import errno
import os
import re
import stat
from collections.abc import Callable, Iterator
from io import BufferedReader
from pathlib import Path
from typing import TypeVar

import msgspec

from records.errors import AssayError

#: Open flags: without waiting for a FIFO's writer or for the holder of a lease.
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
#: What is no regular file; other kinds are devices.
KINDS = {
    stat.S_IFREG: "a file",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFLNK: "a symbolic link",
}
_REASONS = {errno.ELOOP: "is a link", errno.ENXIO: "is a socket"}


class RefusedFileError(Exception):
    """A file that is not read. The message continues its name: "is a link"."""


def open_regular(folder: Path, name: str) -> BufferedReader:
    """The regular file `name` below `folder`, open for reading. Raises RefusedFileError for
    anything else, FileNotFoundError when there is nothing."""
    *above, last = name.split("/")
    if {"", ".", ".."} & {*above, last}:
        raise RefusedFileError("is no name below the folder")
    try:
        for part in above:
            folder /= part
            if folder.is_symlink():
                raise RefusedFileError("is behind a link")
        descriptor = os.open(folder / last, FILE)
    except FileNotFoundError:
        raise
    except OSError as error:
        reason = _REASONS.get(error.errno or 0, f"cannot be opened ({error.strerror})")
        raise RefusedFileError(reason) from error
    except ValueError as error:
        raise RefusedFileError("has a name that no file can have") from error
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        raise RefusedFileError(f"is {KINDS.get(stat.S_IFMT(mode), 'a device')}")
    return os.fdopen(descriptor, "rb")


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
        return KINDS.get(stat.S_IFMT(path.lstat().st_mode), "a device")
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
        if os.fstat(file.fileno()).st_size > MOST_BYTES:
            raise AssayError(f"{path}: is larger than {MOST_BYTES} bytes; it is damaged")
        return file.read()


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
    AssayError for a line without an end."""
    while piece := file.read(_BATCH_BYTES):
        if not piece.endswith(_NEWLINE):
            rest = file.readline(MOST_LINE_BYTES + 1)
            if len(rest) > MOST_LINE_BYTES:
                raise AssayError(
                    f"{path}:{first + piece.count(_NEWLINE)}: a line of more than"
                    f" {MOST_LINE_BYTES} bytes; it is damaged"
                )
            piece += rest
        *lines, torn = piece.split(_NEWLINE)
        if lines:
            yield first, piece[: len(piece) - len(torn)], lines
        first += len(lines)


def decoded(decode: Callable[[bytes], _T], content: bytes, where: str, what: str) -> _T:
    """Decode a content. Raises AssayError "<where>: not <what>: <fault>". `where` without a line
    gets the line of the fault."""
    try:
        return decode(content)
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError) as error:
        fault = "nested too deep" if isinstance(error, RecursionError) else str(error)
        if not re.search(r":\d+$", where):
            if offset := re.search(r"\(byte (\d+)\)", fault):
                line = content.count(b"\n", 0, int(offset[1])) + 1
            else:
                named = re.search(r"`\$((?:\.\w+)+)", fault)
                line = line_with(content, *named[1].lstrip(".").split(".")) if named else 1
            where = f"{where}:{line}"
        raise AssayError(f"{where}: not {what}: {fault}") from error


def line_with(content: bytes, *members: str) -> int:
    """The line of a member, each name looked for behind the one before; 1 where one is missing."""
    place = 0
    for member in members:
        place = content.find(msgspec.json.encode(member), place)
        if place < 0:
            return 1
    return content.count(b"\n", 0, place) + 1
