# SPDX-License-Identifier: Apache-2.0
"""Lists of nodes and of numbers as Slurm and Linux shorten them. Anybody may have written them: a
short text does not become millions of names."""

from __future__ import annotations

import re

#: Names that a list may stand for.
MOST_NAMES = 100_000


def names_in(listed: str) -> list[str]:
    """The names in a list such as n[1-3,08],m2, each once, in its order; none where an item is no
    name, or stands for too many."""
    names: list[str] = []
    for item in re.findall(r"(?:[^,\[\]\s]|\[[^\[\]]*\])+", listed):
        made = [""]
        for part in re.split(r"(\[[^\]]*\])", item):
            choices = numbers_in(part[1:-1]) if part.startswith("[") else [part]
            if len(made) * len(choices) + len(names) > MOST_NAMES:
                return []
            made = [begin + choice for begin in made for choice in choices]
        names += made
    return list(dict.fromkeys(names))


def numbers_in(ranges: str) -> list[str]:
    """The numbers in ranges such as 0-3,08, as wide as the first of each; none where one is no
    range."""
    found: list[str] = []
    for one in ranges.split(","):
        first, _, last = one.partition("-")
        last = last or first
        if not re.fullmatch(r"[0-9]{1,9},[0-9]{1,9}", f"{first},{last}"):
            return []
        numbers = range(int(first), int(last) + 1)[:MOST_NAMES]
        found += [f"{number:0{len(first)}d}" for number in numbers]
    return found
