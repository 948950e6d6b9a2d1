# SPDX-License-Identifier: Apache-2.0
"""Files that are written whole or not at all, whatever dies meanwhile."""

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from records.errors import AssayError


@contextmanager
def replacing(path: Path, mode: int = 0o666) -> Iterator[Path]:
    """Gives an empty file beside `path` to write to; at the end it takes the place of `path`.

    The file is made new, with `mode` less the umask: no link that is there is written through. It
    is on disk before it is renamed, and the rename when this ends. After an error `path`
    is as it was and the other file is gone. Several of these in one ExitStack take their places
    after all of them are complete.
    """
    temporary = path.parent / f".{path.name}.{secrets.token_hex(8)}.part"  # "." has no name
    os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
    try:
        yield temporary
        force_to_disk(temporary)
        temporary.replace(path)
        force_to_disk(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def write_whole(path: Path, content: bytes, mode: int = 0o666) -> None:
    """Write a file whole or not at all. Raises OSError; `path` is then as it was."""
    with replacing(path, mode) as temporary:
        temporary.write_bytes(content)


def append_whole(descriptor: int, content: bytes | bytearray) -> None:
    """Append to an open file and force that to disk; after an OSError the file is as it was."""
    size = os.fstat(descriptor).st_size
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fsync(descriptor)
    except OSError:
        os.ftruncate(descriptor, size)
        raise


def taken(lock: Path, busy: str | None = None) -> int:
    """A lock file, held until its descriptor is closed. Where another process holds it AssayError
    says `busy`; without `busy` this waits."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(lock, flags, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (fcntl.LOCK_NB if busy else 0))
    except OSError as error:
        os.close(descriptor)
        if isinstance(error, BlockingIOError) and busy:
            raise AssayError(busy) from error
        raise
    return descriptor


@contextmanager
def held(lock: Path, busy: str | None = None) -> Iterator[None]:
    """Hold a lock file until this ends, however it ends; as `taken`."""
    descriptor = taken(lock, busy)
    try:
        yield
    finally:
        os.close(descriptor)


def force_to_disk(path: Path) -> None:
    """Force a file, or the names in a folder, to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
