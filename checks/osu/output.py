# SPDX-License-Identifier: Apache-2.0
"""What the OSU micro-benchmarks print, versions 5 to 7: accepted only if complete.

A test prints a title, comments, a heading and a line a message size; the programs say nothing at
their end, so a table counts as whole when it has exactly the sizes asked for and a last newline.
Headings name their columns, which differ with version and options; an unknown one is refused.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from checks.common.answer import mean_is_possible
from checks.common.json_lines import OutputError, check_number
from checks.osu import UNSIZED_TESTS, OsuParameters
from checks.osu.metrics import METRICS
from checks.osu.tables import (
    ITERATIONS,
    TITLES,
    VALIDATION,
    WINDOW,
    Column,
    check_columns,
    column,
    contradiction,
    least_duration_s,
)

#: A version may carry a vendor's suffix, as in 7.0-abc2.
_TITLE = re.compile(
    r"^# OSU (?P<test>\S.*) Test v(?P<version>[567]\.\d+(?:\.\d+)?(?:-\w+)?)\s*$", re.ASCII
)
#: Versions before 7.1 leave the # out where a non-blocking test has no sizes.
_HEADING = re.compile(r"^(?:# +(?:Size +\S|Avg Latency\(us\)|Overall\(us\))| +Overall\(us\))")
#: Headings of tails are a single space apart.
_BETWEEN_NAMES = re.compile(r"\s{2,}|\s(?=P\d\d? Tail)")
_NUMBER = re.compile(r"\d+\.\d\d", re.ASCII)
_LIKE_A_ROW = re.compile(r"^\s*\d+(?:\.\d\d)?(?:\s+\d+\.\d\d)*\s*$", re.ASCII)
_COUNT = re.compile(r"\d{1,15}", re.ASCII)
_INIT = re.compile(
    r"^nprocs: (?P<ranks>\d{1,15}), min: (?P<least>\d+(?:\.\d+)?)(?P<unit>(?: ms)?),"
    r" max: (?P<greatest>\d+(?:\.\d+)?)(?P=unit), avg: (?P<mean>\d+(?:\.\d+)?)(?P=unit)$",
    re.MULTILINE | re.ASCII,
)
#: What osu_hello says from version 5.4 on; before, it says nothing.
GREETING = "This is a test with"
_HELLO = re.compile(r"^This is a test with (?P<ranks>\d+) processes$", re.MULTILINE | re.ASCII)


_METRICS = {metric.name: metric for metric in METRICS}
_FAILED_VALIDATION = re.compile(r"^DATA VALIDATION ERROR: .*$", re.MULTILINE)
#: Comments that say what was run, and what they must say: we never ask for another type.
_DATATYPE = re.compile(r"^# Datatype(?P<said>.*)$")
#: Other comments of versions 5 to 7 in tests between hosts' memories.
_HARMLESS = re.compile(
    r"# (?:Overall = Coll\. Init \+ Compute \+ MPI_Test \+ MPI_Wait"
    r"|Send Buffer on HOST \(H\) and Receive Buffer on HOST \(H\)"
    r"|Window creation: MPI_Win_\w+|Synchronization: MPI_Win_[\w/]+)",
    re.ASCII,
)
_PAIRS = re.compile(r"^# \[ pairs: ?(?P<said>.*)$")


@dataclass(frozen=True)
class Value:
    """One number in SI units at a message size, None for tests without sizes."""

    metric: str
    value: float
    message_bytes: int | None = None
    percentile: int | None = None


@dataclass(frozen=True)
class Row:
    """One line: its size, its values, a time that its iterations took at least."""

    size: int | None
    values: list[Value]
    least_duration_s: float


@dataclass(frozen=True)
class Table:
    """A test's version and values, and a time that its iterations took at least."""

    version: str
    values: list[Value]
    least_duration_s: float


def expected_sizes(least: int, greatest: int) -> list[int]:
    """The sizes of `-m least:greatest`: 0 is followed by 1, then each is doubled."""
    sizes, size = [], least
    while size <= greatest:
        sizes.append(size)
        size = size * 2 if size else 1
    return sizes


def parse(text: str, asked: OsuParameters) -> Table:
    """The whole table in `text`, of the test, the columns and exactly the sizes that were asked.

    Raises OutputError: no table, that of another test, a line that is none of it, an impossible
    number, or numbers that do not follow from each other.
    """
    title, comments, names, lines = _sections(text)
    _check_title(title, asked.test)
    _check_comments(comments, asked)
    with_size = asked.test not in UNSIZED_TESTS
    if (names[0] == "Size") != with_size:
        raise OutputError(f"OSU's heading begins with {names[0]!r}, for {asked.test}")
    check_columns(names[1:] if with_size else names, asked)
    rows = [_row(line, names, asked) for line in lines]
    sizes: list[int | None] = [None]
    if with_size:
        sizes = [*expected_sizes(asked.least_bytes, asked.greatest_bytes)]
    found = [row.size for row in rows]
    if found != sizes:
        raise OutputError(f"OSU's table has {_named(found)}; asked were {_named(sizes)}")
    values = [value for row in rows for value in row.values]
    # Versions that choose their own sizes choose their iterations too.
    spent_s = 0.0 if asked.suite_sizes else sum(row.least_duration_s for row in rows)
    return Table(title["version"], values, spent_s)


def parse_partial(text: str) -> list[Value]:
    """The values of all lines before the first that cannot be read, of a run that was cut off."""
    try:
        _, _, names, lines = _sections(text, cut=True)
    except OutputError:
        return []
    values: list[Value] = []
    for line in lines:
        try:
            values += _row(line, names).values
        except OutputError:
            break
    return values


def parse_init(text: str, ranks: int) -> list[Value]:
    """The times of osu_init over its ranks; version 5.3 prints neither title nor unit.

    Raises OutputError.
    """
    _check_no_table(text)
    found = list(_INIT.finditer(text))
    like = len(re.findall(r"^nprocs", text, re.MULTILINE))
    if len(found) != 1 or like != 1 or int(found[0]["ranks"]) != ranks or not text.endswith("\n"):
        raise OutputError(f"osu_init of {ranks} ranks printed {len(found)} results")
    if found[0]["unit"] or "# OSU " in text:
        _check_title(_single_title(text), "osu_init")
        if not found[0]["unit"] or found[0].start() < text.index("# OSU "):
            raise OutputError("osu_init printed a title without a result and its unit below")
    times = {name: float(found[0][name]) for name in ("least", "mean", "greatest")}
    values = [
        Value(f"osu_init_{name}", check_number(time * 1e-3, "s", "osu_init"))
        for name, time in times.items()
    ]
    # Whole milliseconds; the mean is rounded down.
    if not mean_is_possible(times["least"], times["mean"], times["greatest"], ranks, rounding=1.0):
        raise OutputError(f"osu_init of {ranks} ranks: {found[0][0]!r} has an impossible mean")
    return values


def failed_validation(text: str) -> str | None:
    """What the suite says when data that arrived were not those sent, or None."""
    found = _FAILED_VALIDATION.search(text)
    return f"OSU's own validation failed: {found[0][:200]}" if found else None


def check_hello(text: str, ranks: int, *, silent: bool = False) -> None:
    """Raise OutputError unless osu_hello greeted from `ranks` ranks.

    `silent`: the program is of a version that says nothing, and must not have.
    """
    if silent:
        said = [line for line in text.splitlines() if line.strip() and not line.startswith("{")]
        if said:
            raise OutputError(f"a version of osu_hello without a greeting said {said[0][:80]!r}")
        return
    _check_title(_single_title(text), "osu_hello")
    _check_no_table(text)
    found = _HELLO.findall(text)
    below = text.rpartition("# OSU ")[2]
    if found != [str(ranks)] or below.count(GREETING) != 1 or text.count(GREETING) != 1:
        raise OutputError(f"osu_hello of {ranks} ranks printed {found}")


def _check_no_table(text: str) -> None:
    """Raise OutputError where a start-up test printed comments besides its title, or numbers."""
    for line in text.split("\n"):
        comment = line.startswith("#") and not _TITLE.match(line)
        if comment or _HEADING.match(line) or _LIKE_A_ROW.match(line):
            raise OutputError(f"a start-up test of OSU's printed {line[:80]!r}")


def _single_title(text: str) -> re.Match[str]:
    # str.splitlines would also split at characters that are no newline to the programs.
    found = [match for line in text.split("\n") if (match := _TITLE.match(line))]
    if len(found) != 1:
        raise OutputError(f"one OSU title expected, {len(found)} found")
    return found[0]


def _check_title(title: re.Match[str], test: str) -> None:
    if title["test"].casefold() != TITLES[test].casefold():
        raise OutputError(f"OSU's title is {title[0]!r:.120}; asked was {test}")


def _sections(
    text: str, *, cut: bool = False
) -> tuple[re.Match[str], list[str], list[str], list[str]]:
    """Title, comments, column names and lines of the table, without lines of ours and blank ones.

    A table that is not `cut` ends with a newline.
    """
    title = _single_title(text)
    lines = text.split("\n")
    last = lines.pop()
    if last.strip() and not cut:
        raise OutputError(f"OSU's output stops within a line: {last[:80]!r}")
    headings = [place for place, line in enumerate(lines) if _HEADING.match(line)]
    if len(headings) != 1 or title.string not in lines[: headings[0]]:
        raise OutputError(f"one heading below OSU's title expected, {len(headings)} found")
    stray = next(filter(_LIKE_A_ROW.match, lines[: headings[0]]), None)
    if stray is not None:
        raise OutputError(f"a line of OSU's table is above its heading: {stray[:80]!r}")
    comments = [line.rstrip() for line in lines[: headings[0]] if line.startswith("#")]
    if not _TITLE.match(comments.pop(0)):
        raise OutputError(f"a comment is above OSU's title: {comments!r:.80}")
    names = _BETWEEN_NAMES.split(lines[headings[0]].removeprefix("# ").strip())
    body = [line for line in lines[headings[0] + 1 :] if line.strip() and not line.startswith("{")]
    return title, comments, names, body


def _check_comments(comments: list[str], asked: OsuParameters) -> None:
    """Raise OutputError where a comment says that something else was run."""
    for line in comments:
        if not (_HARMLESS.fullmatch(line) or _DATATYPE.match(line) or _PAIRS.match(line)):
            raise OutputError(f"OSU's test does not print the comment {line[:80]!r}")
    pairs = f"{asked.ranks // 2} ] [ window size: {WINDOW} ]"
    for pattern, wanted, versions in (
        # Versions before 7.1 have no other type, and name none.
        (_DATATYPE, ": MPI_CHAR.", ([], [": MPI_CHAR."])),
        (_PAIRS, pairs, ([pairs] if asked.test == "osu_mbw_mr" else [],)),
    ):
        said = [match["said"] for line in comments if (match := pattern.match(line))]
        if said not in versions:
            raise OutputError(f"OSU's comment says {said!r:.100}; right is {wanted!r}")


def _row(line: str, names: list[str], asked: OsuParameters | None = None) -> Row:
    """One line of the table, held against what was asked unless the run was cut off."""
    words = line.split()
    if len(words) != len(names):
        raise OutputError(f"a line does not fit OSU's heading: {line[:80]!r}")
    size = None
    if names[0] == "Size":
        size, words, names = _integer(words[0], line), words[1:], names[1:]
    values = []
    for name, word in zip(names, words, strict=True):
        if name == VALIDATION:
            if word != "Pass":
                raise OutputError(f"OSU's own validation says {word!r}: {line[:80]!r}")
        elif name == ITERATIONS:
            count = _integer(word, line)
            if asked and not asked.suite_sizes and count != asked.iterations:
                raise OutputError(f"OSU made {count} iterations; asked were {asked.iterations}")
        else:
            values.append(_value(column(name), word, size, line))
    # Tails ascend with their percentile, those of bandwidths too.
    tails = [v.value for v in sorted(values, key=lambda v: v.percentile or 0) if v.percentile]
    if tails != sorted(tails):
        raise OutputError(f"OSU's tails are in disorder: {line[:80]!r}")
    if asked is None:
        return Row(size, values, 0.0)
    by_name = {value.metric: value.value for value in values}
    wrong = contradiction(by_name, size, asked)
    wrong = wrong or _long_tail(values, by_name.get("osu_latency", math.inf))
    if wrong:
        raise OutputError(f"OSU's line has {wrong}: {line[:120]!r}")
    return Row(size, values, least_duration_s(by_name, size, asked))


def _long_tail(values: list[Value], mean_s: float) -> str | None:
    """What is wrong where the iterations of a tail took longer than all together, or None.

    Twice as long is let pass: a mean may be over ranks, of which one has the tail.
    """
    for value in values:
        left = 1 - (value.percentile or 0) / 100
        if value.metric == "osu_tail_latency" and value.value * left > 2 * mean_s + 1e-8:
            return f"a tail of {value.percentile} % that its mean does not allow"
    return None


def _integer(word: str, line: str) -> int:
    if not _COUNT.fullmatch(word):
        raise OutputError(f"{word!r} is not a count: {line[:80]!r}")
    return int(word)


def _value(column: Column, word: str, size: int | None, line: str) -> Value:
    if not _NUMBER.fullmatch(word):
        raise OutputError(f"{word!r} is not a number with two decimals: {line[:80]!r}")
    number = float(word) * column.factor
    metric = _METRICS[column.metric]
    if number != 0 or not metric.may_be_zero:
        check_number(number, metric.unit, f"OSU's line {line[:60]!r}")
    return Value(column.metric, number, size, column.percentile)


def _named(sizes: list[int | None]) -> str:
    if sizes and sizes[0] is None:
        return f"{len(sizes)} lines without a size"
    return f"{len(sizes)} sizes" + (f" from {sizes[0]} to {sizes[-1]}" if sizes else "")
