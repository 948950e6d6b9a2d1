# SPDX-License-Identifier: Apache-2.0
"""What the OSU micro-benchmarks print, versions 5 to 7: accepted only if complete.

A test prints a title, comments, a heading and a line a message size; the programs say nothing at
their end, so a table counts as whole when it has exactly the sizes asked for and a last newline.
Headings name their columns, which differ with version and options; an unknown one is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.common.json_lines import OutputError, check_number
from checks.osu.metrics import METRICS

#: A version may carry a vendor's suffix, as in 7.0-abc2.
_TITLE = re.compile(
    r"^# OSU (?P<test>\S.*) Test v(?P<version>[567]\.\d+(?:\.\d+)?(?:-\w+)?)\s*$", re.ASCII
)
#: Versions before 7.1 leave the # out where a non-blocking test has no sizes.
_HEADING = re.compile(r"^(?:# +(?:Size +\S|Avg Latency\(us\)|Overall\(us\))| +Overall\(us\))")
#: Headings of tails stand a single space apart.
_BETWEEN_NAMES = re.compile(r"\s{2,}|\s(?=P\d\d? Tail)")
_NUMBER = re.compile(r"\d+\.\d\d", re.ASCII)
_COUNT = re.compile(r"\d+", re.ASCII)
_INIT = re.compile(
    r"^nprocs: (?P<ranks>\d+), min: (?P<least>\d+(?:\.\d+)?)(?P<unit>(?: ms)?),"
    r" max: (?P<greatest>\d+(?:\.\d+)?)(?P=unit), avg: (?P<mean>\d+(?:\.\d+)?)(?P=unit)$",
    re.MULTILINE | re.ASCII,
)
#: What osu_hello says from version 5.4 on; before, it says nothing.
GREETING = "This is a test with"
_HELLO = re.compile(r"^This is a test with (?P<ranks>\d+) processes$", re.MULTILINE | re.ASCII)


@dataclass(frozen=True)
class Column:
    """What a column is: the metric, its factor to SI units, the percentile of a tail."""

    metric: str
    factor: float = 1.0
    percentile: int | None = None


_LATENCY, _BANDWIDTH = Column("osu_latency", 1e-6), Column("osu_bandwidth", 1e6)
#: Headings of versions 5, 6 and 7 with full statistics; tails and others by `_column`.
_COLUMNS = {
    "Latency (us)": _LATENCY,
    "Latency(us)": _LATENCY,
    "Avg Latency(us)": _LATENCY,
    "Min Latency(us)": Column("osu_latency_least", 1e-6),
    "Max Latency(us)": Column("osu_latency_greatest", 1e-6),
    "Bandwidth (MB/s)": _BANDWIDTH,
    "MB/s": _BANDWIDTH,
    "Messages/s": Column("osu_message_rate"),
    "Overall(us)": Column("osu_overall_time", 1e-6),
    "Compute(us)": Column("osu_compute_time", 1e-6),
    "Pure Comm.(us)": Column("osu_communication_time", 1e-6),
    "Min Comm.(us)": Column("osu_communication_least", 1e-6),
    "Max Comm.(us)": Column("osu_communication_greatest", 1e-6),
    "Coll. Init(us)": Column("osu_call_time", 1e-6),
    "MPI_Test(us)": Column("osu_test_time", 1e-6),
    "MPI_Wait(us)": Column("osu_wait_time", 1e-6),
    "Overlap(%)": Column("osu_overlap", 1e-2),
}
_METRICS = {metric.name: metric for metric in METRICS}
#: Each ascends in a line that has them.
_ASCENDING = (
    ("osu_latency_least", "osu_latency", "osu_latency_greatest"),
    ("osu_communication_least", "osu_communication_time", "osu_communication_greatest"),
)
_FAILED_VALIDATION = re.compile(r"^DATA VALIDATION ERROR: .*$", re.MULTILINE)
_ITERATIONS, _VALIDATION = "Iterations", "Validation"
_TAIL = re.compile(r"P(?P<percentile>\d\d?) Tail (?:(?P<latency>Lat\(us\))|BW\s?\(MB/s\))")


@dataclass(frozen=True)
class Value:
    """One number in SI units at a message size, None for tests without sizes."""

    metric: str
    value: float
    message_bytes: int | None = None
    percentile: int | None = None


@dataclass(frozen=True)
class Table:
    """A test's title, version and values; `sizes` in printed order, `validated` if it says so."""

    test: str
    version: str
    sizes: list[int | None]
    values: list[Value]
    validated: bool


def expected_sizes(least: int, greatest: int) -> list[int]:
    """The sizes of `-m least:greatest`: 0 is followed by 1, then each is doubled."""
    sizes, size = [], least
    while size <= greatest:
        sizes.append(size)
        size = size * 2 if size else 1
    return sizes


def parse(text: str, sizes: list[int] | None) -> Table:
    """The whole table in `text`, of exactly `sizes`; None for a test without sizes.

    Raises OutputError: no table, a line that is none of it, other sizes, an impossible number.
    """
    title, names, lines = _sections(text)
    rows = [_row(line, names, with_size=sizes is not None) for line in lines]
    asked: list[int | None] = [None] if sizes is None else list(sizes)
    found = [size for size, _ in rows]
    if found != asked:
        raise OutputError(f"OSU's table has {_named(found)}; asked were {_named(asked)}")
    values = [value for _, of_row in rows for value in of_row]
    return Table(title["test"], title["version"], found, values, _VALIDATION in names)


def parse_partial(text: str) -> list[Value]:
    """The values of all lines before the first that cannot be read, of a run that was cut off."""
    try:
        _, names, lines = _sections(text, cut=True)
    except OutputError:
        return []
    values: list[Value] = []
    for line in lines:
        try:
            values += _row(line, names, with_size=not line.startswith(" "))[1]
        except OutputError:
            break
    return values


def parse_init(text: str, ranks: int) -> list[Value]:
    """The times of osu_init over its ranks; version 5.3 prints neither title nor unit.

    Raises OutputError.
    """
    if "# OSU " in text:
        _single_title(text)
    found = list(_INIT.finditer(text))
    if len(found) != 1 or int(found[0]["ranks"]) != ranks or not text.endswith("\n"):
        raise OutputError(f"osu_init of {ranks} ranks printed {len(found)} results")
    names = {"osu_init_least": "least", "osu_init_mean": "mean", "osu_init_greatest": "greatest"}
    values = [
        Value(metric, check_number(float(found[0][group]) * 1e-3, "s", "osu_init"))
        for metric, group in names.items()
    ]
    if not values[0].value <= values[1].value <= values[2].value:
        raise OutputError("osu_init's mean is not between its least and greatest")
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
    _single_title(text)
    found = _HELLO.findall(text)
    if found != [str(ranks)]:
        raise OutputError(f"osu_hello of {ranks} ranks printed {found}")


def _single_title(text: str) -> re.Match[str]:
    found = [match for line in text.splitlines() if (match := _TITLE.match(line))]
    if len(found) != 1:
        raise OutputError(f"one OSU title expected, {len(found)} found")
    return found[0]


def _sections(text: str, *, cut: bool = False) -> tuple[re.Match[str], list[str], list[str]]:
    """Title, column names and lines of the table; lines of ours and blank ones are left out."""
    title = _single_title(text)
    # str.splitlines would also split at characters that are no newline to the programs.
    lines = text.split("\n")
    last = lines.pop()
    if last.strip() and not cut:
        raise OutputError(f"OSU's output stops within a line: {last[:80]!r}")
    headings = [place for place, line in enumerate(lines) if _HEADING.match(line)]
    if len(headings) != 1:
        raise OutputError(f"one heading of OSU's table expected, {len(headings)} found")
    names = _BETWEEN_NAMES.split(lines[headings[0]].removeprefix("# ").strip())
    body = [line for line in lines[headings[0] + 1 :] if line.strip() and not line.startswith("{")]
    return title, names, body


def _column(name: str) -> Column:
    if name in _COLUMNS:
        return _COLUMNS[name]
    tail = _TAIL.fullmatch(name)
    if tail is None:
        raise OutputError(f"OSU's column {name!r} is not known")
    percentile = int(tail["percentile"])
    if tail["latency"]:
        return Column("osu_tail_latency", 1e-6, percentile)
    return Column("osu_tail_bandwidth", 1e6, percentile)


def _row(line: str, names: list[str], *, with_size: bool) -> tuple[int | None, list[Value]]:
    words = line.split()
    if len(words) != len(names) or (names[0] == "Size") != with_size:
        raise OutputError(f"a line does not fit OSU's heading: {line[:80]!r}")
    size = None
    if with_size:
        size, words, names = _integer(words[0], line), words[1:], names[1:]
    values = []
    for name, word in zip(names, words, strict=True):
        if name == _VALIDATION:
            if word != "Pass":
                raise OutputError(f"OSU's own validation says {word!r}: {line[:80]!r}")
        elif name == _ITERATIONS:
            _integer(word, line)
        else:
            values.append(_value(_column(name), word, size, line))
    # Least ≤ mean ≤ greatest; tails ascend with their percentile, those of bandwidths too.
    by_name = {value.metric: value.value for value in values}
    orders = [[by_name[name] for name in names if name in by_name] for names in _ASCENDING]
    tails = [v.value for v in sorted(values, key=lambda v: v.percentile or 0) if v.percentile]
    if any(order != sorted(order) for order in [*orders, tails]):
        raise OutputError(f"OSU's least, mean, greatest or tails are in disorder: {line[:80]!r}")
    return size, values


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
