# SPDX-License-Identifier: Apache-2.0
"""Files of what renderers made; machine forms with a list of any length, in pieces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from records.errors import InfrastructureError
from records.files import write_whole
from records.forms import Form, Part, as_bytes
from records.text.plain_text import plain

#: Bytes of a form from which on it is not indented; parts in a piece of it.
_MOST_INDENTED, _TOGETHER = 2_000_000, 2000


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


def json_pieces(form: Form, last: Iterable[Part]) -> Iterator[str]:
    """A form as JSON; `last` fills the empty list that it ends with. A short one is indented."""
    whole = as_bytes(form)
    head, end = whole[: whole.rindex(b"]")], whole[whole.rindex(b"]") :]
    parts = [as_bytes(part) for part in last]
    if len(head) + sum(map(len, parts)) + len(parts) < _MOST_INDENTED:
        text = msgspec.json.format(b"".join((head, b",".join(parts), end)), indent=2)
        yield f"{plain(text.decode())}\n"
        return
    yield plain(head.decode())
    for start in range(0, len(parts), _TOGETHER):
        yield "," * bool(start) + plain(b",".join(parts[start : start + _TOGETHER]).decode())
    yield f"{end.decode()}\n"
