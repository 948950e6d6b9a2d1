# SPDX-License-Identifier: Apache-2.0
"""The lines of a text that bear the harness's mark `"assay":`, and the object that each must be.

What no record can hold is refused here: integers beyond 64 bits, numbers that are none, lone
surrogates, members that occur twice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NoReturn

_MARK = re.compile(r'"assay"[ \t]*:')
_GREATEST_INTEGER = 2**63


def marked_lines(text: str) -> Iterator[str]:
    """The lines with our mark. Only these are cut out: foreign text may be long."""
    found = _MARK.search(text)
    while found:
        begin = text.rfind("\n", 0, found.start()) + 1
        end = text.find("\n", found.end())
        end = len(text) if end < 0 else end
        yield text[begin:end].rstrip("\r")
        found = _MARK.search(text, end)


def whole_object(line: str) -> dict[str, Any]:
    """The object that a marked line is. Raises ValueError saying why it is none."""
    try:
        entry = json.loads(
            line, object_pairs_hook=_members, parse_constant=_no_number, parse_int=_integer
        )
        if not isinstance(entry, dict) or "assay" not in entry:
            raise ValueError("the mark of the harness is inside it")
        if "\\u" in line:  # a lone surrogate cannot be written into a record
            json.dumps(entry, ensure_ascii=False).encode()
    except RecursionError as error:
        raise ValueError(str(error)) from None
    return entry


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entry = dict(pairs)
    if len(entry) < len(pairs):
        raise ValueError("a member is in it twice")
    return entry


def _integer(digits: str) -> int:
    value = int(digits)
    if abs(value) >= _GREATEST_INTEGER:
        raise ValueError(f"{digits:.30} is an integer beyond 64 bits")
    return value


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number")
