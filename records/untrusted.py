# SPDX-License-Identifier: Apache-2.0
"""Files that a broken program may have put in another's place, and folders that are in other hands.

A file is opened below a folder, never through a link and without waiting.
"""

from __future__ import annotations

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path

from records.errors import AssayError

#: Open flags: without waiting for a FIFO's writer or for the holder of a lease.
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
#: What is no regular file.
KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
_REASONS = {
    errno.ELOOP: "is a link",
    errno.ENXIO: "is a socket",
    errno.ENOTDIR: "is behind a file",
}


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
        raise RefusedFileError(f"is {KINDS[stat.S_IFMT(mode)]}")
    return os.fdopen(descriptor, "rb")


def refuse_replaceable(path: Path) -> None:
    """Raise AssayError if any user could put something else in the place of `path`. The owner of a
    folder that not everybody could make is trusted."""
    path, remedy = path.resolve(), "choose a folder that only you and root can change"
    for here in (one for one in (path, *path.parents) if one.exists()):
        found = here.stat()
        if here.parent.stat().st_mode & stat.S_IWOTH and found.st_uid not in (0, os.geteuid()):
            raise AssayError(f"{path}: {here} belongs to uid {found.st_uid}; {remedy}")
        if here != path and found.st_mode & stat.S_IWOTH and not found.st_mode & stat.S_ISVTX:
            told = f"everybody may rename what is in {here}; say `chmod +t {here}`"
            raise AssayError(f"{path}: {told}, or {remedy}")
