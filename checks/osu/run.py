# SPDX-License-Identifier: Apache-2.0
"""The OSU micro-benchmarks (versions 5 to 7) where a site has them, our evidence library preloaded.

The site names the suite's folder, or that its programs are on PATH. A test prints a title,
comments, a heading and a line a message size, and nothing at its end: a table counts as whole when
it has exactly the sizes asked for and a last newline. A run that was cut off is failed even then.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from checks.common.answer import Reading, died, longer_than_launch, mean_is_possible, other_program
from checks.common.base import MpiCheck
from checks.common.json_lines import Output, OutputError, measured
from checks.osu import CHECK, COLUMNS, TESTS, WINDOW, OsuParameters
from records.metric import Metric

#: A version may carry a vendor's suffix, as in 7.0-abc2.
_TITLE = re.compile(
    r"^# OSU (?P<test>\S.*) Test v(?P<version>[567]\.\d+(?:\.\d+)?(?:-\w+)?)\s*$", re.ASCII
)
_HEADING = re.compile(r"^# +(?:Size +\S|Avg Latency\(us\))")
_NUMBER = re.compile(r"\d+\.\d\d", re.ASCII)
_COUNT = re.compile(r"\d{1,15}", re.ASCII)
_LIKE_A_ROW = re.compile(r"^\s*\d+(?:\.\d\d)?(?:\s+\d+\.\d\d)*\s*$", re.ASCII)
_INIT = re.compile(
    r"^nprocs: (?P<ranks>\d{1,15}), min: (?P<least>\d+(?:\.\d+)?)(?P<unit>(?: ms)?),"
    r" max: (?P<greatest>\d+(?:\.\d+)?)(?P=unit), avg: (?P<mean>\d+(?:\.\d+)?)(?P=unit)$",
    re.MULTILINE | re.ASCII,
)
_FAILED_VALIDATION = re.compile(r"^DATA VALIDATION ERROR: .*$", re.MULTILINE)
#: Comments of tests of char between hosts' memories, which alone are asked for.
_COMMENTS = re.compile(
    r"# (?:Datatype: MPI_CHAR\.|\[ pairs: ?(?P<pairs>.*)"
    r"|Send Buffer on HOST \(H\) and Receive Buffer on HOST \(H\)"
    r"|Window creation: MPI_Win_\w+|Synchronization: MPI_Win_[\w/]+)",
    re.ASCII,
)
#: Columns that are no metric.
_NO_METRIC = _SIZE, _ITERATIONS, _VALIDATION = "Size", "Iterations", "Validation"
#: Half a unit of the last of two printed decimals, with room for binary fractions.
_ROUNDING = 0.00505


class Run(MpiCheck):
    """Launch of a test of the suite."""

    #: Always the site's.
    foreign = "osu"

    @property
    def program(self) -> Path:
        """The test below the suite's folder, wherever its version keeps it."""
        folder, test = self.foreign_path, self.params.test
        if len(folder.parts) == 1:
            return Path(test)
        paths = sorted(path for path in folder.rglob(test) if path.is_file())
        return paths[0] if paths else folder / test

    def command(self) -> list[str]:
        """The test with the suite's own options."""
        asked, test = self.params, self.params.suite_test
        if test.prints == "start-up":
            return [str(self.program)]
        words = ["-i", str(asked.iterations), "-x", str(asked.warmup)]
        if test.sized and not asked.suite_sizes:
            words += ["-m", f"{asked.least_bytes}:{asked.greatest_bytes}"]
        switches = {"-f": asked.full, "-c": asked.validate_data}
        return [str(self.program), *words, *(name for name, is_on in switches.items() if is_on)]

    def came_to_its_end(self, output: Output, text: str) -> bool:
        """The suite prints no last line; the table must have the sizes asked for."""
        return True

    def wrong_answer(self, text: str) -> str | None:
        """The suite ends a run whose data failed its validation, as any that fails."""
        found = _FAILED_VALIDATION.search(text)
        return f"OSU's own validation failed: {found[0][:200]}" if found else None

    def read(self, output: Output, text: str) -> Reading:
        """Every value of the one test that was asked for. Raises OutputError."""
        asked: OsuParameters = self.params
        if wrong := died(text) or other_program(None, [], output):
            return Reading(wrong=wrong)
        if asked.test == "osu_init":
            values = parse_init(text, asked.ranks)
            return Reading(values, longer_than_launch(max(one.value for one in values), output))
        version, values = parse(text, asked)
        # Versions that choose their own sizes choose their iterations too.
        spent_s = 0.0 if asked.suite_sizes else CHECK.least_duration_s(asked, values)
        return Reading(values, longer_than_launch(spent_s, output), [f"OSU {version}"])


def expected_sizes(least: int, greatest: int) -> list[int]:
    """The sizes of `-m least:greatest`: 0 is followed by 1, then each is doubled."""
    sizes, size = [], least
    while size <= greatest:
        sizes.append(size)
        size = size * 2 if size else 1
    return sizes


def parse(text: str, asked: OsuParameters) -> tuple[str, list[Metric]]:
    """Version and values of the table in `text`, which has the test, the columns and exactly the
    sizes that were asked.

    Raises OutputError: no table, that of another test, a line that is none of it, an impossible
    number, or numbers that do not follow from each other.
    """
    title, names, lines = _table(text, asked)
    sizes: list[int | None] = [None]
    if asked.suite_test.sized:
        sizes = [*expected_sizes(asked.least_bytes, asked.greatest_bytes)]
    rows = [_row(line, names, asked) for line in lines]
    if (measured_sizes := [size for size, _ in rows]) != sizes:
        raise OutputError(f"OSU's table has the sizes {measured_sizes!r:.200}; asked were {sizes}")
    return title["version"], [value for _, values in rows for value in values]


def parse_init(text: str, ranks: int) -> list[Metric]:
    """The times of osu_init over its ranks; version 5.3 prints neither title nor unit.

    Raises OutputError.
    """
    results, titles = list(_INIT.finditer(text)), _titles(text)
    like = len(re.findall(r"^nprocs", text, re.MULTILINE))
    if [len(results), like] != [1, 1] or not text.endswith("\n"):
        raise OutputError(f"osu_init of {ranks} ranks printed {len(results)} results")
    result = results[0]
    if int(result["ranks"]) != ranks or len(titles) != bool(result["unit"]):
        raise OutputError(f"osu_init of {ranks} ranks: {result[0]!r:.120} below {titles!r:.120}")
    for title in titles:
        _check_title(title, "osu_init")
    if any(map(_LIKE_A_ROW.match, text.split("\n"))):
        raise OutputError("osu_init printed a line of a table")
    times = {name: float(result[name]) for name in ("least", "mean", "greatest")}
    # Whole milliseconds; the mean is rounded down.
    if not mean_is_possible(times["least"], times["mean"], times["greatest"], ranks, rounding=1.0):
        raise OutputError(f"osu_init of {ranks} ranks: {result[0]!r} has an impossible mean")
    known = CHECK.metrics_by_name
    return [measured(known[f"osu_init_{name}"], time * 1e-3) for name, time in times.items()]


def _titles(text: str) -> list[str]:
    # str.splitlines would also split at characters that are no newline to the programs.
    return [line for line in text.split("\n") if line.startswith("# OSU ")]


def _check_title(line: str, test: str) -> re.Match[str]:
    title = _TITLE.match(line)
    if title is None or title["test"].casefold() != TESTS[test].title.casefold():
        raise OutputError(f"OSU's title is {line!r:.120}; asked was {test}")
    return title


def _table(text: str, asked: OsuParameters) -> tuple[re.Match[str], list[str], list[str]]:
    """Title, column names and lines of the table, without lines of ours and blank ones."""
    *lines, last = text.split("\n")
    if last.strip():
        raise OutputError(f"OSU's output stops within a line: {last[:80]!r}")
    headings = [number for number, line in enumerate(lines) if _HEADING.match(line)]
    if len(headings) != 1 or len(_titles(text)) != 1:
        raise OutputError(f"OSU printed {len(headings)} headings and {len(_titles(text))} titles")
    above = [line.rstrip() for line in lines[: headings[0]]]
    first, *comments = [line for line in above if line.startswith("#")] or [""]
    title = _check_title(first, asked.test)
    said = {line: _COMMENTS.fullmatch(line) for line in comments}
    for line in (*(line for line in said if said[line] is None), *filter(_LIKE_A_ROW.match, above)):
        raise OutputError(f"OSU's {asked.test} does not print {line[:80]!r} above its heading")
    pairs = [match["pairs"] for match in map(said.get, comments) if match and match["pairs"]]
    wanted = f"{asked.ranks // 2} ] [ window size: {WINDOW} ]"
    if pairs != ([wanted] if asked.suite_test.prints == "rate" else []):
        raise OutputError(f"OSU's comment has the pairs {pairs!r:.100}; right is {wanted!r}")
    names = re.split(r"\s{2,}", lines[headings[0]].removeprefix("# ").strip())
    columns = [name if name in _NO_METRIC else COLUMNS.get(name, ("", 0))[0] for name in names]
    if columns != _columns(asked):
        raise OutputError(f"OSU's columns are {', '.join(names)!r:.200}; {asked.test} has others")
    below = lines[headings[0] + 1 :]
    return title, names, [line for line in below if line.strip() and not line.startswith("{")]


def _columns(asked: OsuParameters) -> list[str]:
    """The columns that a test prints."""
    columns = [_SIZE] if asked.suite_test.sized else []
    columns += {"bandwidth": ["bandwidth"], "rate": ["bandwidth", "message_rate"]}.get(
        asked.suite_test.prints, ["latency"]
    )
    columns += ["latency_least", "latency_greatest", _ITERATIONS] if asked.full else []
    return columns + ([_VALIDATION] if asked.validate_data else [])


def _row(line: str, names: list[str], asked: OsuParameters) -> tuple[int | None, list[Metric]]:
    """Size and values of a line."""
    words = line.split()
    if len(words) != len(names):
        raise OutputError(f"a line does not fit OSU's heading: {line[:80]!r}")
    cells = dict(zip(names, words, strict=True))
    for name in (_SIZE, _ITERATIONS):
        if not _COUNT.fullmatch(cells.get(name, "0")):
            raise OutputError(f"{cells[name]!r} is not a count: {line[:80]!r}")
    if cells.pop(_VALIDATION, "Pass") != "Pass":
        raise OutputError(f"OSU's own validation does not say Pass: {line[:80]!r}")
    count = int(cells.pop(_ITERATIONS, asked.iterations))
    if not asked.suite_sizes and count != asked.iterations:
        raise OutputError(f"OSU made {count} iterations; asked were {asked.iterations}")
    size = int(cells.pop(_SIZE)) if _SIZE in cells else None
    values = []
    for heading, word in cells.items():
        if not _NUMBER.fullmatch(word):
            raise OutputError(f"{word!r} is not a number with two decimals: {line[:80]!r}")
        name, factor = COLUMNS[heading]
        definition = CHECK.metrics_by_name[f"osu_{name}"]
        at = None if size is None else {"message_bytes": size}
        values.append(measured(definition, float(word) * factor, at))
    by_name = {one.name.removeprefix("osu_"): one.value for one in values}
    if wrong := _contradiction(by_name, size or 1, asked.ranks):
        raise OutputError(f"OSU's line has {wrong}: {line[:120]!r}")
    return size, values


def _contradiction(values: Mapping[str, float], size: int, ranks: int) -> str | None:
    """Part of one line that does not follow from the rest of it, or None; `values` in SI units."""
    if "latency_least" in values:
        least, mean, most = (values[f"latency{of}"] for of in ("_least", "", "_greatest"))
        if not mean_is_possible(least, mean, most, ranks, 2e-6 * _ROUNDING):
            return f"a mean of {ranks} ranks that its least and greatest do not allow"
    if "message_rate" in values:
        apart = abs(values["message_rate"] - values["bandwidth"] / size)
        if apart > _ROUNDING * (1e6 / size + 1):
            return "a message rate that is not bandwidth over size"
    return None
