# SPDX-License-Identifier: Apache-2.0
"""Files that are written whole or not at all, whatever dies meanwhile."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Gives a name beside `path` to write a file to; at the end the file takes the place of `path`.

    The file is on disk before it is renamed, and the rename when this ends. After an error `path`
    is as it was and the other file is gone. Several of these in one ExitStack take their places
    after all of them are complete.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield temporary
        _sync(temporary)
        temporary.replace(path)
        _sync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole or not at all. Raises OSError; `path` is then as it was."""
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
