# SPDX-License-Identifier: Apache-2.0
"""Output of a launch, read up to a limit, and only from an ordinary file.

A broken program may put a link or a pipe in the place of a file.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from records.input_files import RefusedFileError, open_regular
from records.text.reasons import speaking

#: Of longer output only the beginning, up to this, and the last TAIL_BYTES are read.
LIMIT_BYTES = 64 * 2**20
TAIL_BYTES = 2**16


@dataclass(frozen=True)
class Printed:
    """Output of one stream: all of it, or whole lines of its beginning and of its end.

    `problem` says why not all of it was read.
    """

    text: str = ""
    problem: str | None = None


def read_printed(path: Path, limit_bytes: int = LIMIT_BYTES) -> Printed:
    """Content of `path`; undecodable bytes are replaced. A file that is missing holds nothing."""
    try:
        with open_regular(path.parent, path.name) as file:
            head, size = file.read(limit_bytes), os.fstat(file.fileno()).st_size
            if size <= limit_bytes:
                return Printed(_decoded(head))
            file.seek(-TAIL_BYTES, os.SEEK_END)
            tail = file.read(TAIL_BYTES)
    except FileNotFoundError:
        return Printed()
    except (OSError, RefusedFileError) as error:
        return Printed(problem=f"{path.name} {error}")
    lines = head[: head.rfind(b"\n") + 1] + tail[tail.find(b"\n") + 1 :]
    said = f"{path.name} has {size} bytes; at most {limit_bytes} are read"
    return Printed(_decoded(lines), said)


def last_line(stderr: str, stdout: str = "") -> str | None:
    """The last line of `stderr`, without one of a program's `stdout`, that is no epitaph of a
    launcher; of epitaphs alone the one that tells most; None if there is none."""
    lines = [line for line in stdout[-TAIL_BYTES:].split("\n") if '"assay"' not in line]
    said = speaking([*lines, *stderr.splitlines()])
    return said[-1] if said else None


def _decoded(text: bytes) -> str:
    return text.decode("utf-8", errors="replace")
