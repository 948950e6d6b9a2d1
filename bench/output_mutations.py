# SPDX-License-Identifier: Apache-2.0
"""Ways to change a launch's output; each changes lines blindly, whatever they mean."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from random import Random
from typing import Any

#: Changes lines in place; False where there is nothing to change. The last are other outputs.
Mutation = Callable[[list[str], Random, list[str]], bool]

_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.])")
_DIGIT = re.compile(r"\d")
_WORD = re.compile(r"[A-Za-z][\w./()%+-]{1,}")
_NO_NUMBERS = [
    *("nan", "NaN", "-nan", "inf", "-Infinity", "Infinity", "-1", "-3.5", "0", "0.00", "1e400"),
    *("", "null", "true", "[]", "{}", "0x1p3", "1_000", "12,5", "٣", "９" * 3, "1" * 400, '"1"'),
]
_UNITS = {
    "us": ["ms", "s", "ns", "Us"],
    "usec": ["msec", "sec"],
    "MB/s": ["GB/s", "KB/s", "MiB/s", "Mb/s"],
    "Mbps": ["Gbps", "Kbps", "MBps"],
    "bytes": ["bits", "KB"],
    "seconds": ["ms", "minutes"],
    "Gflops": ["Mflops", "Tflops"],
    "bytes/s": ["MB/s", "1/s", "flop/s"],
    "flop/s": ["Gflop/s", "bytes/s"],
    '"s"': ['"ms"', '"us"', '""', "null"],
    '"1"': ['"%"', '"s"'],
}
_WORDS = [
    *("Broadcast", "All-to-All Personalized Exchange", "Latency", "Bandwidth", "Allreduce"),
    *("Non-blocking", "Send/Recv", "Bsend/Recv", "Bsend/Irecv", "gray", "natural", "Column-major"),
    *("Left", "Crout", "2ringM", "half_round_trip", "ring_time", "rate", "bandwidth", "FAILED"),
    *("n7", "Fail", "MPI_FLOAT", "launch_begin", "n1", "n2", "psend", "computing", "gather"),
]
_NOISE = ["\ufeff", "\x00", "\ufffd", "\x1b[31m", "\u2028", "\u202e", "\u00a0", "\r", "\x0b", "é"]
_DIGITS = str.maketrans("0123456789", "０１２３４５６７８９")


def _rewritten(number: str, dice: Random) -> str:
    """The number times or plus something, written with as many decimals."""
    value = float(number)
    scaled = value * dice.choice([0, 0.1, 0.5, 0.85, 0.999, 1.001, 1.15, 2, 8, 10, 1000, 1e-3, -1])
    value = dice.choice([scaled, value + 1, value - 1, value + 7])
    if not math.isfinite(value):
        return "inf"
    if not re.search(r"[.eE]", number):
        return str(int(value))
    mantissa, exponent = re.split("[eE]", number)[0], re.search("[eE]", number)
    decimals = len(mantissa.partition(".")[2])
    return f"{value:.{decimals}{'e' if exponent else 'f'}}"


def _replace_at(lines: list[str], place: int, match: re.Match[str], text: str) -> bool:
    line = lines[place]
    lines[place] = line[: match.start()] + text + line[match.end() :]
    return lines[place] != line


def _some(
    pattern: re.Pattern[str], lines: list[str], dice: Random
) -> tuple[int, re.Match[str]] | None:
    """A random line that has the pattern, and a random place of it there."""
    for _ in range(10):
        place = dice.randrange(len(lines))
        found = list(pattern.finditer(lines[place]))
        if found:
            return place, dice.choice(found)
    return None


def _replace_some(
    pattern: re.Pattern[str], lines: list[str], dice: Random, text: Callable[[str], str]
) -> bool:
    found = _some(pattern, lines, dice)
    return found is not None and _replace_at(lines, *found, text(found[1][0]))


def value(lines: list[str], dice: Random, others: list[str]) -> bool:
    """A number becomes another one."""
    return _replace_some(_NUMBER, lines, dice, lambda number: _rewritten(number, dice))


def digit(lines: list[str], dice: Random, others: list[str]) -> bool:
    """A digit becomes another one."""
    return _replace_some(_DIGIT, lines, dice, lambda _: dice.choice("0123456789"))


def no_number(lines: list[str], dice: Random, others: list[str]) -> bool:
    """A number becomes what is none, or is impossible."""
    return _replace_some(_NUMBER, lines, dice, lambda _: dice.choice(_NO_NUMBERS))


def unit(lines: list[str], dice: Random, others: list[str]) -> bool:
    """A unit becomes another one, in one line or in all."""
    known = [word for word in _UNITS if any(word in line for line in lines)]
    if not known:
        return False
    word = dice.choice(known)
    other, everywhere = dice.choice(_UNITS[word]), dice.random() < 0.3
    places = [place for place, line in enumerate(lines) if word in line]
    for place in places if everywhere else [dice.choice(places)]:
        lines[place] = lines[place].replace(word, other, -1 if everywhere else 1)
    return True


def word(lines: list[str], dice: Random, others: list[str]) -> bool:
    """A word of a title, a name or a heading becomes another one."""
    other = _some(_WORD, lines, dice)
    words = [*_WORDS, other[1][0]] if other else _WORDS
    return _replace_some(_WORD, lines, dice, lambda _: dice.choice(words))


def word_everywhere(lines: list[str], dice: Random, others: list[str]) -> bool:
    """A word becomes another one wherever it stands: a construct renamed."""
    found = _some(_WORD, lines, dice)
    if not found:
        return False
    name, other = str(found[1][0]), dice.choice(_WORDS)
    lines[:] = [line.replace(name, other) for line in lines]
    return name != other


def columns(lines: list[str], dice: Random, others: list[str]) -> bool:
    """Two columns swap, in one line, or in all lines that have as many."""
    place = dice.randrange(len(lines))
    count = len(lines[place].split())
    if count < 2:
        return False
    one, other = dice.sample(range(count), 2)
    alike = [i for i, line in enumerate(lines) if len(line.split()) == count]
    before = list(lines)
    for i in alike if dice.random() < 0.5 else [place]:
        parts = re.split(r"(\s+)", lines[i].strip())
        parts[2 * one], parts[2 * other] = parts[2 * other], parts[2 * one]
        lines[i] = "".join(parts)
    return lines != before


def sizes(lines: list[str], dice: Random, others: list[str]) -> bool:
    """One size, or every size, becomes 7 or its double."""
    pattern = re.compile(r'(?<="message_bytes":)\d+|^ *\d+(?= )|(?<=: ) +\d+(?= bytes)')
    places = [i for i, line in enumerate(lines) if pattern.search(line)]
    if not places:
        return False
    everywhere, double = dice.random() < 0.5, dice.random() < 0.5
    for i in places if everywhere else [dice.choice(places)]:
        lines[i] = pattern.sub(lambda m: str(2 * int(m[0])) if double else "7", lines[i])
    return True


def dropped(lines: list[str], dice: Random, others: list[str]) -> bool:
    """One line, or a few that follow each other, are missing."""
    place = dice.randrange(len(lines))
    del lines[place : place + dice.choice([1, 1, 1, 2, 5])]
    return True


def kind_dropped(lines: list[str], dice: Random, others: list[str]) -> bool:
    """All lines that begin or are named alike are missing."""
    line = dice.choice(lines)
    name = re.search(r'"(?:name|key)":"\w+"', line)
    begin = name[0] if name else line.split(" ")[0]
    if not begin:
        return False
    lines[:] = [other for other in lines if begin not in other]
    return True


def doubled(lines: list[str], dice: Random, others: list[str]) -> bool:
    """A line is there twice, or all of the output."""
    if dice.random() < 0.1:
        lines += lines
        return True
    line = dice.choice(lines)
    lines.insert(dice.choice([lines.index(line), dice.randrange(len(lines))]), line)
    return True


def doubled_with_another_value(lines: list[str], dice: Random, others: list[str]) -> bool:
    """A line is there again with another number."""
    found = _some(_NUMBER, lines, dice)
    if not found:
        return False
    lines.append(lines[found[0]])
    return _replace_at(lines, len(lines) - 1, found[1], _rewritten(found[1][0], dice))


def reordered(lines: list[str], dice: Random, others: list[str]) -> bool:
    """Two lines swap, or all are in another order."""
    if dice.random() < 0.1:
        dice.shuffle(lines)
        return True
    one, other = dice.randrange(len(lines)), dice.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return lines[one] != lines[other]


def merged(lines: list[str], dice: Random, others: list[str]) -> bool:
    """A newline is missing, or a line stands inside another."""
    if len(lines) < 2:
        return False
    place = dice.randrange(len(lines) - 1)
    if dice.random() < 0.5:
        lines[place : place + 2] = [lines[place] + lines[place + 1]]
        return bool(lines[place].strip())
    line, inside = lines[place], dice.choice(lines)
    at = dice.randrange(len(line) + 1)
    lines[place : place + 1] = (line[:at] + inside + line[at:]).split("\n")
    return bool(inside.strip())


def split(lines: list[str], dice: Random, others: list[str]) -> bool:
    """A line is broken in two."""
    place = dice.randrange(len(lines))
    line = lines[place]
    if len(line.strip()) < 2:
        return False
    at = dice.randrange(1, len(line))
    lines[place : place + 1] = [line[:at], line[at:]]
    return True


def interleaved(lines: list[str], dice: Random, others: list[str]) -> bool:
    """Two ranks printed all of it, each a line when it was its turn."""
    first, second, mixed = list(lines), list(lines), []
    while first or second:
        mixed.append((first or second if dice.random() < 0.5 else second or first).pop(0))
    lines[:] = mixed
    return True


def truncated(lines: list[str], dice: Random, others: list[str]) -> bool:
    """The output stops, or begins, in the middle."""
    text = "\n".join(lines)
    at = dice.randrange(max(1, len(text)))
    lines[:] = (text[:at] if dice.random() < 0.7 else text[at:]).split("\n")
    return True


def encoding(lines: list[str], dice: Random, others: list[str]) -> bool:
    """A byte that no program prints, other digits, a decimal comma, another end of line."""
    place, kind = dice.randrange(len(lines)), dice.randrange(5)
    line = lines[place]
    if kind == 0:
        lines[place] = line.translate(_DIGITS)
    elif kind == 1:
        lines[place] = re.sub(r"(\d)\.(\d)", r"\1,\2", line)
    elif kind == 2:
        lines[:] = [f"{one}\r" for one in lines]
    else:
        at = dice.randrange(len(line) + 1)
        lines[place] = line[:at] + dice.choice(_NOISE) + line[at:]
    return lines[place] != line


def of_another_output(lines: list[str], dice: Random, others: list[str]) -> bool:
    """A line of another check's output is among them, or in the place of one."""
    stranger = dice.choice(dice.choice(others).split("\n"))
    if not stranger.strip():
        return False
    place = dice.randrange(len(lines))
    lines[place : place + dice.randrange(2)] = [stranger]
    return True


def another_output(lines: list[str], dice: Random, others: list[str]) -> bool:
    """The whole output is that of another launch."""
    text = dice.choice(others)
    if text.split("\n") == lines:
        return False
    lines[:] = text.split("\n")
    return True


def member(lines: list[str], dice: Random, others: list[str]) -> bool:
    """A member of one of our lines is missing, renamed, doubled, or of another type."""
    places = [i for i, line in enumerate(lines) if line.startswith('{"assay"')]
    if not places:
        return False
    place = dice.choice(places)
    try:
        entry = json.loads(lines[place])
    except (ValueError, RecursionError):
        return False
    _change_member(entry, dice)
    lines[place] = json.dumps(entry, separators=(",", ":"), ensure_ascii=dice.random() < 0.5)
    return True


def _change_member(entry: Any, dice: Random) -> None:
    """Descend to a random member, and change it."""
    keys = list(entry) if isinstance(entry, dict) else list(range(len(entry)))
    if not keys:
        return
    key = dice.choice(keys)
    inner = entry[key]
    if isinstance(inner, dict | list) and inner and dice.random() < 0.7:
        _change_member(inner, dice)
        return
    what = dice.randrange(6)
    if what == 0:
        del entry[key]
    elif what == 1 and isinstance(entry, dict):
        entry[f"{key}'"] = entry.pop(key)
    elif what == 2 and isinstance(entry, list):
        entry.append(inner)
    elif what == 3:
        entry[key] = dice.choice([None, True, False, [], {}, [inner], {"a": inner}, str(inner)])
    elif what == 4:
        entry[key] = dice.choice(["", "\ud800", "x" * 1000, 10**400, -1, 0, 1e308, float("nan")])
    elif isinstance(inner, int | float) and not isinstance(inner, bool):
        entry[key] = dice.choice([inner + 1, inner * 2, inner * 1.001, -inner, inner * 1e-3])
    else:
        entry[key] = dice.choice(_WORDS)


MUTATIONS: list[Mutation] = [
    *(value, digit, no_number, unit, word, word_everywhere, columns, sizes, dropped, kind_dropped),
    *(doubled, doubled_with_another_value, reordered, merged, split, interleaved, truncated),
    *(encoding, of_another_output, another_output, member),
]
