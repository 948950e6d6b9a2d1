# SPDX-License-Identifier: Apache-2.0
"""Names that another user may have made, or may change at any moment.

A file is opened relative to a folder that is held open, component by component, and never through
a link; its kind and owner are read from the descriptor. A folder is used by its path only where
nobody else can put another in its place.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection
from pathlib import Path, PurePosixPath

from records.errors import AssayError

#: Open flags for a folder that is no link.
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
#: Without waiting for a FIFO's writer or for the holder of a lease.
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
    errno.ENXIO: "is a socket, or a FIFO",
    errno.EAGAIN: "is held by a lease",
}
_MOST_LINKS = 40


class RefusedFileError(Exception):
    """A file that is not read. The message continues its name: "is a link"."""


def open_regular(folder: int, name: str, owner: int | None = None) -> int:
    """Descriptor of the regular file `name` below the open `folder`. With an `owner` it must belong
    to that uid and have no other name. Raises RefusedFileError for anything else, FileNotFoundError
    when there is nothing."""
    *above, last = parts = name.split("/")
    if {"", ".", ".."} & set(parts):
        raise RefusedFileError("is no name below the folder")
    held = os.dup(folder)
    try:
        for part in above:
            inner = _opened(part, FOLDER, held)
            os.close(held)
            held = inner
        descriptor = _opened(last, FILE, held)
    finally:
        os.close(held)
    found, refused = os.fstat(descriptor), None
    if not stat.S_ISREG(found.st_mode):
        refused = f"is {KINDS[stat.S_IFMT(found.st_mode)]}"
    elif owner is not None and found.st_uid != owner:
        refused = f"belongs to uid {found.st_uid}, not to uid {owner}"
    elif owner is not None and found.st_nlink > 1:
        refused = f"has {found.st_nlink} hard links"
    if refused is not None:
        os.close(descriptor)
        raise RefusedFileError(refused)
    return descriptor


def _opened(part: str, flags: int, folder: int) -> int:
    try:
        return os.open(part, flags, dir_fd=folder)
    except FileNotFoundError:
        raise
    except NotADirectoryError as error:
        raise RefusedFileError("lies behind a link or a file") from error
    except OSError as error:
        reason = _REASONS.get(error.errno or 0, f"cannot be opened ({error.strerror})")
        raise RefusedFileError(reason) from error
    except ValueError as error:
        raise RefusedFileError("has a name that no file can have") from error


def refuse_replaceable(path: Path, users: Collection[int] = ()) -> None:
    """Raise AssayError if another user can put something else in the place of `path`.

    Looked at is every component that is there, and every link on the way. Root and the caller are
    trusted, and so is the owner of a folder that only root or its group could make; `users` are
    uids that are not, wherever their folders lie.
    """
    steps = list(path.absolute().parts[1:])
    at, above, links = Path("/"), Path("/").stat(), 0
    while steps:
        step = steps.pop(0)
        here = Path(os.path.normpath(at / step)) if step == ".." else at / step
        try:
            found = os.lstat(here)
        except FileNotFoundError:
            return
        trusted = {0, os.geteuid()} - set(users)
        open_to_all = bool(above.st_mode & stat.S_IWOTH)
        if found.st_uid in users or (open_to_all and found.st_uid not in trusted):
            raise AssayError(
                f"{path}: {here} belongs to uid {found.st_uid}, who could put anything in its"
                " place; choose a folder that only you and root can change"
            )
        if stat.S_ISLNK(found.st_mode):
            target, links = here.readlink(), links + 1
            if links > _MOST_LINKS:
                raise AssayError(f"{path}: more than {_MOST_LINKS} links on the way")
            steps = [*PurePosixPath(target).parts[target.is_absolute() :], *steps]
            at = Path("/") if target.is_absolute() else at
            above = at.stat()
            continue
        if found.st_mode & stat.S_IWOTH and not found.st_mode & stat.S_ISVTX:
            raise AssayError(
                f"{path}: everybody may rename what is in {here}; say `chmod +t {here}`, or choose"
                " a folder that only you and root can change"
            )
        at, above = here, found
