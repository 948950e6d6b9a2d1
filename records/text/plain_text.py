# SPDX-License-Identifier: Apache-2.0
"""Text of programs as it may leave: without what a terminal executes or a reader cannot see.

Everything that prints or writes pages passes its text through here. Names with numbers in the order
that people expect.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

#: Characters that a line shows of a program's output.
_SHOWN = 100
#: Replaces a character that is not shown.
SUBSTITUTE = "\ufffd"
_FORBIDDEN = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 but tab and newline, DEL, C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f"  # direction of writing
    "\u2028\u2029"  # separators of lines and paragraphs
    "\ud800-\udfff\ufeff\ufff9-\ufffb\ufffe\uffff"  # no characters at all
    "\U000e0000-\U000e007f"  # tags
    "]"
)
_COLOUR = re.compile("\x1b\\[[0-9;]*m")


def plain(text: str) -> str:
    """`text` with a mark in place of each control character; newlines and tabs stay."""
    return text if text.isprintable() else _FORBIDDEN.sub(SUBSTITUTE, text)


def plain_data(data: Any) -> Any:
    """Plain data, as JSON has it, with each text in it plain."""
    if isinstance(data, dict):
        return {plain(name): plain_data(one) for name, one in data.items()}
    if isinstance(data, list):
        return [*map(plain_data, data)]
    return plain(data) if isinstance(data, str) else data


def one_line(text: str) -> str:
    """`text` as part of a line: plain, and what separates words is a blank."""
    return text if text.isprintable() else " ".join(plain(text.replace("\r", " ")).split())


def end_of_output(lines: Sequence[str]) -> str:
    """The last line of what a program has printed that is not blank; of a long one its end."""
    lines = [_COLOUR.sub("", line) for line in lines]
    line = one_line(next((line for line in reversed(lines) if line.strip()), "no output yet"))
    return line if len(line) <= _SHOWN else f"…{line[1 - _SHOWN :]}"


def natural_order(names: Iterable[str]) -> tuple[str, ...]:
    """Names with n2 before n10."""
    return tuple(sorted(names, key=natural))


def natural(name: str) -> list[tuple[int, str]]:
    """A key that puts n2 before n10."""
    parts = re.findall(r"\d+|\D", name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]
