# SPDX-License-Identifier: Apache-2.0
"""Output of the OSU micro-benchmarks, versions 5 to 7: accepted only if complete.

A test prints a title, comments, a heading and a line a message size; the programs say nothing at
their end, so a table counts as whole when it has exactly the sizes asked for and a last newline.
Headings name their columns, which differ with version and options; an unknown one is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from checks.common.answer import mean_is_possible
from checks.common.json_lines import OutputError, measured
from checks.osu import CHECK, OsuParameters
from checks.osu.tables import TESTS, WINDOW, OsuColumn, column_of
from records.metric import Metric

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
#: What osu_hello says from version 5.4 on.
_GREETING = "This is a test with"
_HELLO = re.compile(r"^This is a test with (?P<ranks>\d+) processes$", re.MULTILINE | re.ASCII)
_FAILED_VALIDATION = re.compile(r"^DATA VALIDATION ERROR: .*$", re.MULTILINE)
#: Comments that say what was run, and what they must say: we never ask for another type.
_DATATYPE = re.compile(r"^# Datatype(?P<said>.*)$")
_PAIRS = re.compile(r"^# \[ pairs: ?(?P<said>.*)$")
#: Other comments of versions 5 to 7 in tests between hosts' memories.
_HARMLESS = re.compile(
    r"# (?:Overall = Coll\. Init \+ Compute \+ MPI_Test \+ MPI_Wait"
    r"|Send Buffer on HOST \(H\) and Receive Buffer on HOST \(H\)"
    r"|Window creation: MPI_Win_\w+|Synchronization: MPI_Win_[\w/]+)",
    re.ASCII,
)
#: Columns that are no metric, and the tails that option -z prints.
_ITERATIONS, _VALIDATION, _PERCENTILES = "Iterations", "Validation", (50, 90, 99)
#: Half a unit of the last of two printed decimals, with room for binary fractions; of µs in s.
_ROUNDING, _ROUNDING_S = 0.00505, 0.00505e-6


@dataclass(frozen=True)
class OsuTable:
    """A test's version and values, and a time that its iterations took at least."""

    version: str
    values: list[Metric]
    least_duration_s: float


def expected_sizes(least: int, greatest: int) -> list[int]:
    """The sizes of `-m least:greatest`: 0 is followed by 1, then each is doubled."""
    sizes, size = [], least
    while size <= greatest:
        sizes.append(size)
        size = size * 2 if size else 1
    return sizes


def parse(text: str, asked: OsuParameters) -> OsuTable:
    """The whole table in `text`, of the test, the columns and exactly the sizes that were asked.

    Raises OutputError: no table, that of another test, a line that is none of it, an impossible
    number, or numbers that do not follow from each other.
    """
    title, comments, names, lines = _sections(text)
    _check_title(title, asked.test)
    _check_comments(comments, asked)
    sizes: list[int | None] = [None]
    if asked.suite_test.sized:
        sizes = [*expected_sizes(asked.least_bytes, asked.greatest_bytes)]
    if (names[0] == "Size") != asked.suite_test.sized:
        raise OutputError(f"OSU's heading begins with {names[0]!r}, for {asked.test}")
    _check_columns(names, asked)
    found: list[int | None] = []
    values: list[Metric] = []
    spent_s = 0.0
    for line in lines:
        size, of_line = _row(line, names, asked)
        by_name = {one.name.removeprefix("osu_"): one.value for one in of_line}
        wrong = _contradiction(by_name, size, asked) or _long_tail(of_line, by_name)
        if wrong:
            raise OutputError(f"OSU's line has {wrong}: {line[:120]!r}")
        spent_s += _least_duration_s(by_name, size, asked)
        found.append(size)
        values += of_line
    if found != sizes:
        raise OutputError(f"OSU's table has {_named(found)}; asked were {_named(sizes)}")
    # Versions that choose their own sizes choose their iterations too.
    return OsuTable(title["version"], values, 0.0 if asked.suite_sizes else spent_s)


def parse_init(text: str, ranks: int) -> list[Metric]:
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
    # Whole milliseconds; the mean is rounded down.
    if not mean_is_possible(times["least"], times["mean"], times["greatest"], ranks, rounding=1.0):
        raise OutputError(f"osu_init of {ranks} ranks: {found[0][0]!r} has an impossible mean")
    known = CHECK.metrics_by_name
    return [measured(known[f"osu_init_{name}"], time * 1e-3) for name, time in times.items()]


def failed_validation(text: str) -> str | None:
    """Message of the suite when data that arrived were not those sent, or None."""
    found = _FAILED_VALIDATION.search(text)
    return f"OSU's own validation failed: {found[0][:200]}" if found else None


def check_hello(text: str, ranks: int) -> None:
    """Raise OutputError unless osu_hello greeted from `ranks` ranks."""
    _check_title(_single_title(text), "osu_hello")
    _check_no_table(text)
    found = _HELLO.findall(text)
    below = text.rpartition("# OSU ")[2]
    if found != [str(ranks)] or below.count(_GREETING) != 1 or text.count(_GREETING) != 1:
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
    if title["test"].casefold() != TESTS[test].title.casefold():
        raise OutputError(f"OSU's title is {title[0]!r:.120}; asked was {test}")


def _sections(text: str) -> tuple[re.Match[str], list[str], list[str], list[str]]:
    """Title, comments, column names and lines of the table, without lines of ours and blank ones.

    A table ends with a newline.
    """
    title = _single_title(text)
    *lines, last = text.split("\n")
    if last.strip():
        raise OutputError(f"OSU's output stops within a line: {last[:80]!r}")
    headings = [place for place, line in enumerate(lines) if _HEADING.match(line)]
    if len(headings) != 1 or title.string not in lines[: headings[0]]:
        raise OutputError(f"one heading below OSU's title expected, {len(headings)} found")
    above, below = lines[: headings[0]], lines[headings[0] + 1 :]
    stray = next(filter(_LIKE_A_ROW.match, above), None)
    if stray is not None:
        raise OutputError(f"a line of OSU's table is above its heading: {stray[:80]!r}")
    first, *comments = [line.rstrip() for line in above if line.startswith("#")]
    if not _TITLE.match(first):
        raise OutputError(f"a comment is above OSU's title: {first!r:.80}")
    names = _BETWEEN_NAMES.split(lines[headings[0]].removeprefix("# ").strip())
    body = [line for line in below if line.strip() and not line.startswith("{")]
    return title, comments, names, body


def _check_comments(comments: list[str], asked: OsuParameters) -> None:
    """Raise OutputError where a comment says that something else was run."""
    for line in comments:
        if not (_HARMLESS.fullmatch(line) or _DATATYPE.match(line) or _PAIRS.match(line)):
            raise OutputError(f"OSU's test does not print the comment {line[:80]!r}")
    pairs = f"{asked.ranks // 2} ] [ window size: {WINDOW} ]"
    for pattern, wanted, allowed in (
        # Versions before 7.1 have no other type, and name none.
        (_DATATYPE, ": MPI_CHAR.", ([], [": MPI_CHAR."])),
        (_PAIRS, pairs, ([pairs] if asked.suite_test.prints == "rate" else [],)),
    ):
        said = [match["said"] for line in comments if (match := pattern.match(line))]
        if said not in allowed:
            raise OutputError(f"OSU's comment says {said!r:.100}; right is {wanted!r}")


def _check_columns(names: list[str], asked: OsuParameters) -> None:
    """Raise OutputError unless the headings are those of what was asked."""
    found: list[object] = []
    for name in names[asked.suite_test.sized :]:
        if name in (_ITERATIONS, _VALIDATION):
            found.append(name)
        else:
            column = _column(name)
            found.append((column.metric, column.percentile))
    validation = [_VALIDATION] if asked.validate_data else []
    kind = "bandwidth" if asked.suite_test.prints in ("bandwidth", "rate") else "latency"
    tails = [(f"tail_{kind}", one) for one in _PERCENTILES] if asked.tails else []
    for form in _forms(asked):
        first = [one if one == _ITERATIONS else (one, None) for one in form]
        if found in ([*first, *validation, *tails], [*first, *tails, *validation]):
            return
    raise OutputError(f"OSU's columns are {', '.join(names)!r:.200}; {asked.test} has others")


def _forms(asked: OsuParameters) -> list[list[str]]:
    """The columns before validation and tails; versions before 6 lack two of them."""
    full = ["latency_least", "latency_greatest", _ITERATIONS] if asked.full else []
    parts = ["overall_time", "compute_time", "call_time", "test_time", "wait_time"]
    bounds = ["communication_least", "communication_greatest"]
    forms = {
        "latency": [["latency"]],
        "collective": [["latency", *full]],
        "bandwidth": [["bandwidth"]],
        "rate": [["bandwidth", "message_rate"]],
        "overlap": [[*parts, "communication_time", *more, "overlap"] for more in (bounds, [])]
        if asked.full
        else [["overall_time", "compute_time", "communication_time", "overlap"]],
    }
    return forms[asked.suite_test.prints]


def _row(line: str, names: list[str], asked: OsuParameters) -> tuple[int | None, list[Metric]]:
    """Size and values of a line."""
    words = line.split()
    if len(words) != len(names):
        raise OutputError(f"a line does not fit OSU's heading: {line[:80]!r}")
    size = _integer(words[0], line) if names[0] == "Size" else None
    values: list[Metric] = []
    tails: list[tuple[int, float]] = []
    for name, word in zip(names, words, strict=True):
        if name == _VALIDATION:
            if word != "Pass":
                raise OutputError(f"OSU's own validation says {word!r}: {line[:80]!r}")
        elif name == _ITERATIONS:
            count = _integer(word, line)
            if not asked.suite_sizes and count != asked.iterations:
                raise OutputError(f"OSU made {count} iterations; asked were {asked.iterations}")
        elif name != "Size":
            column = _column(name)
            values.append(_value(column, word, size, line))
            if column.percentile:
                tails.append((column.percentile, values[-1].value))
    # Tails ascend with their percentile, those of bandwidths too.
    by_percentile = [value for _, value in sorted(tails, key=lambda one: one[0])]
    if by_percentile != sorted(by_percentile):
        raise OutputError(f"OSU's tails are in disorder: {line[:80]!r}")
    return size, values


def _column(name: str) -> OsuColumn:
    column = column_of(name)
    if column is None:
        raise OutputError(f"OSU's column {name!r} is not known")
    return column


def _integer(word: str, line: str) -> int:
    if not _COUNT.fullmatch(word):
        raise OutputError(f"{word!r} is not a count: {line[:80]!r}")
    return int(word)


def _value(column: OsuColumn, word: str, size: int | None, line: str) -> Metric:
    if not _NUMBER.fullmatch(word):
        raise OutputError(f"{word!r} is not a number with two decimals: {line[:80]!r}")
    at = {"message_bytes": size, "percentile": column.percentile}
    known = {key: number for key, number in at.items() if number is not None}
    definition = CHECK.metrics_by_name[f"osu_{column.metric}"]
    return measured(definition, float(word) * column.factor, known or None)


def _long_tail(values: list[Metric], by_name: Mapping[str, float]) -> str | None:
    """Fault where the iterations of a tail took longer than all together, or None.

    Twice as long is let pass: a mean may be over ranks, of which one has the tail.
    """
    for value in values:
        percentile = (value.at or {}).get("percentile", 0)
        least_s = value.value * (1 - percentile / 100)
        if value.name == "osu_tail_latency" and least_s > 2 * by_name["latency"] + 1e-8:
            return f"a tail of {percentile} % that its mean does not allow"
    return None


def _contradiction(
    values: Mapping[str, float], size: int | None, asked: OsuParameters
) -> str | None:
    """Part of one line that does not follow from the rest of it, or None; `values` in SI units.

    By the suite's own formulas; all numbers are printed with two decimals.
    """
    for mean, bounds in (("latency", "latency"), ("communication_time", "communication")):
        extremes = [values.get(f"{bounds}_{which}") for which in ("least", "greatest")]
        if (
            extremes[0] is not None
            and extremes[1] is not None
            and not mean_is_possible(
                extremes[0], values[mean], extremes[1], asked.ranks, 2 * _ROUNDING_S
            )
        ):
            return f"a mean of {asked.ranks} ranks that its least and greatest do not allow"
    if "message_rate" in values:
        rate = values["bandwidth"] / (size or 1)
        if abs(values["message_rate"] - rate) > _ROUNDING * (1e6 / (size or 1) + 1):
            return "a message rate that is not bandwidth over size"
    if "overlap" not in values:
        return None
    overall, compute, alone = (
        values[f"{what}_time"] for what in ("overall", "compute", "communication")
    )
    parts = [values.get(f"{part}_time", 0.0) for part in ("call", "test", "wait")]
    if compute + sum(parts) > overall + 5 * _ROUNDING_S:
        return "parts that are longer than the whole"
    exposed = (overall - compute) / alone
    error = _ROUNDING * 1e-2 + (2 + abs(exposed)) * _ROUNDING_S / alone
    if abs(values["overlap"] - max(0.0, 1 - exposed)) > error * (1 + _ROUNDING):
        return "an overlap that does not follow from its times"
    return None


def _least_duration_s(values: Mapping[str, float], size: int | None, asked: OsuParameters) -> float:
    """A time that the iterations of one line took at least."""
    if "bandwidth" in values:
        ways = {"osu_bw": 1, "osu_bibw": 2, "osu_mbw_mr": asked.ranks // 2}.get(asked.test)
        sent = (size or 0) * (ways * WINDOW if ways else 1)
        return asked.iterations * sent / values["bandwidth"]
    if "overall_time" in values:
        return asked.iterations * (values["overall_time"] + values["communication_time"])
    return asked.iterations * asked.suite_test.messages * values["latency"]


def _named(sizes: list[int | None]) -> str:
    if sizes and sizes[0] is None:
        return f"{len(sizes)} lines without a size"
    return f"{len(sizes)} sizes" + (f" from {sizes[0]} to {sizes[-1]}" if sizes else "")
