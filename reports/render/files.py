# SPDX-License-Identifier: Apache-2.0
"""What renderers made, written to files."""

from __future__ import annotations

from pathlib import Path

from records.errors import InfrastructureError
from records.files import write_whole


def write_file(content: str | bytes, path: Path) -> None:
    """Write a file whole or not at all. Raises InfrastructureError when it cannot be written."""
    made = content if isinstance(content, bytes) else content.encode("utf-8", "replace")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, made)
    except OSError as error:
        raise InfrastructureError(f"{path}: cannot be written ({error.strerror}).") from error
