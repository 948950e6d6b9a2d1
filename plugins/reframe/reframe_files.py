# SPDX-License-Identifier: Apache-2.0
"""Files that ReFrame leaves behind, told apart by what is in them: performance logs (4.6 and
later), run reports (data versions 4.0 to 4.2), and the database of results (schema 1.0).

A file log begins with a header, names joined by a delimiter; where the columns changed the former
file is NAME.log.h0, .h1, …. The columns of a figure are named after it. Times are local, without a
zone; `job_completion_time_unix` has the true one where it is logged.
"""

import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from datetime import datetime, timedelta, tzinfo
from functools import lru_cache
from hashlib import blake2b, sha256
from operator import itemgetter
from pathlib import Path
from typing import Any

from plugins.reframe.imported import (
    NOTHING,
    ImportedCase,
    ImportedFigure,
    ImportedLaunch,
    without_repeat,
)
from records.errors import AssayError
from records.text.plain_text import plain_data

#: Lines that a field with line breaks may take.
_MOST_LINES = 100
#: What a field raises that is not what ReFrame writes there.
ODD = (ValueError, TypeError, KeyError, AttributeError, IndexError, OverflowError, OSError)
_SUFFIXES = ("_value", "_unit", "_ref", "_lower_thres", "_upper_thres")
#: Former names of results.
_RESULTS = {"success": "pass", "failure": "fail", "aborted": "abort"}


#: Takes what could not be read: file, line, reason.
Refuse = Callable[[Path, int, str], None]
Make = Callable[[list[str]], ImportedLaunch]


@lru_cache(maxsize=100_000)
def _night_of(hour: str) -> str:
    """The night of a local time's day and hour, "2026-11-27T02": nights begin at noon."""
    return (datetime.fromisoformat(f"{hour}:00") - timedelta(hours=12)).date().isoformat()


def moment_of(value: Any) -> float:
    """A time in s since 1970, before the year 10000. Raises ValueError for what is none."""
    moment = float(value)
    if not 0 <= moment < 253_402_300_800:
        raise ValueError(f"{value!s:.40} is no time")
    return moment


def when(text: str, unix: object, zone: tzinfo | None) -> tuple[float, str]:
    """The end of a launch in s since 1970, and its night. Raises ValueError for what is no time.

    `zone` is that of a local time without one; None: this machine's.
    """
    if text in NOTHING:
        moment = moment_of(unix)
        local = datetime.fromtimestamp(moment, zone).isoformat()
        return moment, _night_of(local[:13])
    if unix in NOTHING:
        read = datetime.fromisoformat(text)
        unix = (read if read.tzinfo or zone is None else read.replace(tzinfo=zone)).timestamp()
    return moment_of(unix), _night_of(text[:13])


def file_log(
    file: Path, lines: Iterable[str], zone: tzinfo | None, refuse: Refuse
) -> Iterator[ImportedLaunch]:
    """The launches of a file log."""
    make: Make | None = None
    delimiter, first, width, begun = "|", "", 0, 0
    held: list[str] = []
    for number, whole in enumerate(lines, 1):
        line = whole.rstrip("\r\n")
        fields = line.split(delimiter)
        is_header = line.startswith(first)
        if held and (is_header or len(fields) == width):
            refuse(file, begun, "fewer fields than the header has")
            held = []
        if make is None or is_header:
            found = re.search(r"[^\w$.]", line)
            delimiter = found[0] if found else "|"
            names = line.split(delimiter)
            make = _maker(names, file, zone)
            first, width = delimiter.join(names[:2]), len(names)
            if make is None:
                written = re.search(r"\breframe (\d[^\s|]*)", line)
                reason = "no header with the name and the time of tests"
                if written:
                    reason = f"written by ReFrame {written[1]}; 4.6 and later are read"
                refuse(file, number, reason)
                return
            continue
        if len(fields) != width:
            # A field with line breaks, or a damaged line.
            held, begun = [*held, line], begun if held else number
            fields = "\n".join(held).split(delimiter)
            if len(fields) > width or len(held) > _MOST_LINES:
                refuse(file, begun, "other fields than the header has")
                held = []
            if len(fields) != width:
                continue
            held = []
        try:
            launch = make(fields)
        except (ValueError, OverflowError, OSError) as error:
            refuse(file, number, f"a field has no value of its kind ({error})")
            continue
        yield launch
    if held:
        refuse(file, begun, "fewer fields than the header has")


@lru_cache(maxsize=100_000)
def _case_of(fields: tuple[str, ...], folders: tuple[str, ...], nodes: str = "") -> ImportedCase:
    """A case by its fields, in folders of its system and partition; `short` ends with ReFrame's
    hash of the test's name and all its parameters.

    Where the name lacks parameters, as of `reframe -P`, the unique name tells variants apart. It
    also lacks those of repeats and of a distribution over nodes, which are launches of one test.
    """
    system, partition, environ, name, unique, short = fields
    system, partition = system or folders[0], partition or folders[1]
    test = without_repeat(name)
    basis, *params = test.split(" %")
    number = re.fullmatch(rf"{re.escape(basis)}_(\d{{1,4}})", unique)
    code = re.search(r"(?:^|_)([0-9a-f]{8})$", short)
    if number and test == name and (code or not params):
        repeats = [[], *([f".repeat_no={one}"] for one in range(int(number[1]) + 1))]
        spread = [f".nid={nodes}", f".part={system}:{partition}"]
        hashed = (
            sha256("".join([basis, *sorted(params + more)]).encode()).hexdigest()[:8]
            for repeat in repeats
            for more in (repeat, repeat + spread)
        )
        if not code or code[1] not in hashed:
            return ImportedCase(system, partition, environ, f"{test} %unique_name={unique}", unique)
    return ImportedCase(system, partition, environ, test, unique)


def _case_on(nodes: str, *fields: Any) -> ImportedCase:
    """A case on these nodes, which tell whether a variant is a node of a distributed test."""
    case = _case_of(*fields)
    return _case_of(*fields, nodes) if case.test.endswith(f"={case.unique}") else case


@lru_cache(maxsize=10_000)
def _figures_of(names: tuple[str, ...], fields: tuple[str, ...]) -> tuple[ImportedFigure, ...]:
    """Figures by the fields of all, two further ones before them."""
    return tuple(figure_of(one, fields[4 * n + 2 : 4 * n + 6]) for n, one in enumerate(names))


def _maker(names: Sequence[str], file: Path, zone: tzinfo | None) -> Make | None:
    """Makes a launch of the fields below these names, and a blank one for those that are not there;
    None where they name no test or no time."""
    place = {name.removeprefix("check_"): at for at, name in enumerate(names)}

    def column(*wanted: str) -> int:
        return next((place[name] for name in wanted if name in place), -1)

    test, unique = column("name", "display_name"), column("unique_name", "display_name", "name")
    text, unix = column("job_completion_time"), column("job_completion_time_unix")
    if test < 0 or (text < 0 and unix < 0):
        return None
    job, nodes, result = map(column, ("jobid", "job_nodelist", "result"))
    short = column("hashcode", "short_name")
    place_in = map(column, ("system", "partition", "environ"))
    case_in = itemgetter(*place_in, test, unique, short)
    figures = tuple(name[:-6] for name in place if name.endswith("_value"))
    values = [place[f"{name}_value"] for name in figures]
    # Two columns more, as those of a single one are no tuple.
    told = (place.get(name + suffix, -1) for name in figures for suffix in _SUFFIXES[1:])
    figures_in = itemgetter(-1, -1, *told)
    folders = (*file.resolve().parts[-3:-1], "", "")

    def make(fields: list[str]) -> ImportedLaunch:
        fields.append("")
        at, night = when(fields[text], fields[unix], zone)
        return ImportedLaunch(
            _case_on(fields[nodes], case_in(fields), folders),
            fields[job],
            at,
            _RESULTS.get(fields[result], fields[result]) if result >= 0 else "pass",
            fields[nodes],
            _figures_of(figures, figures_in(fields)),
            tuple([number(fields[one]) for one in values]),
            night,
        )

    return make


def launch_of(
    case: dict[str, Any],
    place: tuple[str, str, str],
    figures: Iterable[tuple[str, Sequence[Any]]],
    at: float,
    night: str,
) -> ImportedLaunch:
    """A test case as JSON has it; `place`: system, partition, environment; `figures`: their names
    and fields as `_SUFFIXES`."""
    nodes = case.get("job_nodelist") or ""
    result = case.get("result") or "pass"
    figures, name = [*figures], case["name"]
    nodes = nodes if isinstance(nodes, str) else ",".join(nodes)
    unique = str(case.get("unique_name") or name)
    short = str(case.get("hashcode") or case.get("short_name") or "")
    return ImportedLaunch(
        _case_on(nodes, (*place, name, unique, short), ("", "")),
        str(case.get("jobid") or ""),
        at,
        _RESULTS.get(result, result),
        nodes,
        tuple(figure_of(name, fields) for name, (_, *fields) in figures),
        tuple(number(value) for _, (value, *_) in figures),
        night,
    )


def number(field: Any) -> float | None:
    """A field, a text or as JSON has it, as a number; None where there is none."""
    return None if field in NOTHING else float(field)


def figure_of(name: str, fields: Sequence[Any]) -> ImportedFigure:
    """A figure by its unit, reference and limits, texts or as JSON has them."""
    unit, *limits = fields
    return ImportedFigure(name, "" if unit in NOTHING else str(unit), *map(number, limits))


_SQLITE = b"SQLite format 3\0"
#: Greatest report that is read, bytes.
_MOST_BYTES = 2_000_000_000
#: What tells the test cases of a run apart.
_TOLD_BY = ("unique_name", "name", "system", "partition", "environ")


def files_below(paths: Iterable[Path]) -> Iterator[tuple[Path, bool]]:
    """The regular files below the paths, links left out, in order of name; True for
    one that was named itself. Raises AssayError for a path that is not there."""
    for path in paths:
        if path.is_file():
            yield path, True
        elif path.is_dir():
            below = (one for one in sorted(path.rglob("*")) if not one.name.startswith("."))
            yield from ((one, False) for one in below if one.is_file() and not one.is_symlink())
        else:
            raise AssayError(
                f"{path}: no such file or folder; give performance logs, run reports or a database"
                " of ReFrame, or folders of them"
            )


def read_file(
    file: Path, zone: tzinfo | None, refuse: Refuse, *, named: bool
) -> Iterator[ImportedLaunch]:
    """The launches of a file of ReFrame; `refuse` gets what in it could not be read. A file of
    another kind has none; only if it was `named` that is refused. `zone` is that of local times;
    None: this machine's."""
    try:
        with file.open("rb") as opened:
            head = opened.read(4096)
        text = head.lstrip()
        if head.startswith(_SQLITE):
            yield from _database(file, refuse)
        elif text.startswith(b"{") and (b'"session_info"' in head or b"check_" not in head):
            yield from _report_file(file, refuse)
        elif b"|" in head.partition(b"\n")[0] or file.suffix == ".log" or ".log.h" in file.name:
            with file.open(encoding="utf-8", errors="replace") as lines:
                yield from file_log(file, lines, zone, refuse)
        elif named:
            refuse(file, 1, "no log, report or database of ReFrame")
    except OSError as error:
        refuse(file, 0, f"cannot be read ({error.strerror})")


def _report_file(file: Path, refuse: Refuse) -> Iterator[ImportedLaunch]:
    """The launches of a report, which is one object with a session."""
    if file.stat().st_size > _MOST_BYTES:
        refuse(file, 1, f"larger than {_MOST_BYTES} bytes")
        return
    try:
        report = plain_data(json.loads(file.read_bytes()))
        if "session_info" not in report:
            raise ValueError("it has no `session_info`")
    except (ValueError, TypeError, RecursionError) as error:
        refuse(file, getattr(error, "lineno", 1), f"no report of ReFrame ({error})")
        return
    yield from _report(file, report, 1, refuse)


def _database(file: Path, refuse: Refuse) -> Iterator[ImportedLaunch]:
    """The sessions of ReFrame's database; only their reports have values."""
    try:
        uri = f"{file.resolve().as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True)) as database:
            query = "SELECT json_blob FROM sessions ORDER BY session_start_unix"
            for number, (blob,) in enumerate(database.execute(query), 1):
                try:
                    report = plain_data(json.loads(blob))
                except (ValueError, TypeError, RecursionError) as error:
                    refuse(file, number, f"session {number}: {error}")
                    continue
                yield from _report(file, report, number, refuse)
    except sqlite3.Error as error:
        refuse(file, 0, f"no database of results of ReFrame ({error})")


def _report(
    file: Path, report: dict[str, Any], line: int, refuse: Refuse
) -> Iterator[ImportedLaunch]:
    """The test cases of a session's report."""
    try:
        info, runs = report["session_info"], report["runs"]
        if float(version := info.get("data_version") or 4) < 4:
            raise ValueError(f"data version {version}; 4.0 and later are read")
        ends = [moment_of(info[f"time_{name}_unix"]) for name in ("start", "end")]
        told = "\0".join(str(info.get(name, "")) for name in ("hostname", "user", "cmdline"))
        named = blake2b(f"{told}\0{ends}".encode(), digest_size=8).hexdigest()
        session = str(info.get("uuid") or info.get("session_uuid") or named)
        cases = [*_numbered(runs)]
    except ODD as error:
        refuse(file, line, f"no report of ReFrame ({type(error).__name__}: {error})")
        return
    for number, (case, retry) in enumerate(cases, 1):
        try:
            launch = _case(case, session, ends[1])._replace(retry=retry)
        except ODD as error:
            refuse(file, line, f"test case {number}: {type(error).__name__}: {error}")
            continue
        yield launch


def _numbered(runs: Iterable[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], int]]:
    """The test cases of a session's runs, each with the index of its retry; that is 0 in a run with
    a case that passed in the run before, as `--reruns` makes them."""
    passed = set[str]()
    for index, run in enumerate(runs):
        cases = run["testcases"]
        retry = index if passed.isdisjoint(_names(cases)) else 0
        passed = _names(cases, "pass")
        yield from ((case, retry) for case in cases)


def _names(cases: Iterable[Any], result: str | None = None) -> set[str]:
    """Keys that tell test cases apart, of those with this result; without one, of all."""
    known = [case for case in cases if isinstance(case, dict)]
    told = [case for case in known if result in (None, case.get("result"))]
    return {"\0".join(str(case.get(name)) for name in _TOLD_BY) for case in told}


def _case(case: dict[str, Any], session: str, ended: float) -> ImportedLaunch:
    """A test case; one without a job has the end of its session."""
    figures = [
        (name.rpartition(":")[2], [value, unit, reference, lower, upper])
        for name, (value, reference, lower, upper, unit, *_) in (
            case.get("perfvalues") or {}
        ).items()
    ]
    place = str(case["system"]), str(case.get("partition") or ""), str(case.get("environ") or "")
    at = case.get("job_completion_time_unix")
    return launch_of(case, place, figures, ended if at is None else moment_of(at), session)
