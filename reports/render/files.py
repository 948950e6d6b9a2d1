# SPDX-License-Identifier: Apache-2.0
"""Files of what renderers made."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from records.errors import InfrastructureError
from records.files import write_whole
from records.text.plain_text import plain


def write_file(content: str | bytes, path: Path) -> None:
    """Write a file whole or not at all. Raises InfrastructureError when it cannot be written."""
    made = content if isinstance(content, bytes) else content.encode("utf-8", "replace")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, made)
    except OSError as error:
        raise InfrastructureError(f"{path}: cannot be written ({error.strerror}).") from error


def write_folder(folder: Path, files: Mapping[str, str]) -> None:
    """Write texts by name into a folder, each whole or not at all."""
    for name, content in files.items():
        write_file(plain(content), folder / name)
