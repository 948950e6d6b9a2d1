# SPDX-License-Identifier: Apache-2.0
"""ReFrame's performance logs, as its file logger (4.x) and its httpjson logger write them.

A file log begins with a header, names joined by a delimiter; where the columns changed the former
file is NAME.log.h0, .h1, …. The columns of a figure are named after it. Times are local, without a
zone; `job_completion_time_unix` has the true one where it is logged.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta, tzinfo
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from records.history.imported import ImportedFigure, ImportedLaunch, without_repeat
from records.text.plain_text import plain_data

#: Lines that a field with line breaks may take.
_MOST_LINES = 100
_NO_FIGURE = {"", "null", "None", None}
#: What a field raises that is not what ReFrame writes there.
ODD = (ValueError, TypeError, KeyError, AttributeError, IndexError, OverflowError, OSError)
_SUFFIXES = ("_value", "_unit", "_ref", "_lower_thres", "_upper_thres")
#: Former names of results.
_RESULTS = {"success": "pass", "failure": "fail", "aborted": "abort"}


class Unread(NamedTuple):
    """What could not be read, where, and why."""

    file: Path
    line: int
    reason: str


Read = ImportedLaunch | Unread
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
    if text in _NO_FIGURE:
        moment = moment_of(unix)
        local = datetime.fromtimestamp(moment, zone).isoformat()
        return moment, _night_of(local[:13])
    if unix in _NO_FIGURE:
        read = datetime.fromisoformat(text)
        unix = (read if read.tzinfo or zone is None else read.replace(tzinfo=zone)).timestamp()
    return moment_of(unix), _night_of(text[:13])


def file_log(file: Path, lines: Iterable[str], zone: tzinfo | None) -> Iterator[Read]:
    """The launches of a file log, and the lines that are none."""
    make: Make | None = None
    delimiter, first, width, begun = "|", "", 0, 0
    held: list[str] = []
    for number, whole in enumerate(lines, 1):
        line = whole.rstrip("\r\n")
        fields = line.split(delimiter)
        is_header = line.startswith(first)
        if held and (is_header or len(fields) == width):
            yield Unread(file, begun, "fewer fields than the header has")
            held = []
        if make is None or is_header:
            found = re.search(r"[^\w$.]", line)
            delimiter = found[0] if found else "|"
            names = line.split(delimiter)
            make = _maker(names, file, zone)
            first, width = delimiter.join(names[:2]), len(names)
            if make is None:
                yield Unread(file, number, "no header with the name and the time of tests")
                return
            continue
        if len(fields) != width:
            # A field with line breaks, or a damaged line.
            held, begun = [*held, line], begun if held else number
            fields = "\n".join(held).split(delimiter)
            if len(fields) > width or len(held) > _MOST_LINES:
                yield Unread(file, begun, "other fields than the header has")
                held = []
            if len(fields) != width:
                continue
            held = []
        try:
            launch = make(fields)
        except (ValueError, OverflowError, OSError) as error:
            yield Unread(file, number, f"a field has no value of its kind ({error})")
            continue
        yield launch
    if held:
        yield Unread(file, begun, "fewer fields than the header has")


def copies_counted(found: Iterable[Read]) -> Iterator[Read]:
    """The same, where launches of a file that name no job and are alike are counted."""
    copies: Counter[tuple[object, ...]] = Counter()
    for one in found:
        if isinstance(one, Unread) or one.job not in _NO_FIGURE:
            yield one
            continue
        same = one.system, one.partition, one.environ, one.unique, int(one.at)
        yield one._replace(copy=copies[same])
        copies[same] += 1


def _maker(names: Sequence[str], file: Path, zone: tzinfo | None) -> Make | None:
    """Makes a launch of the fields below these names; None where they name no test or no time."""
    place = {name.removeprefix("check_"): at for at, name in enumerate(names)}

    def column(*wanted: str) -> int:
        return next((place[name] for name in wanted if name in place), -1)

    test, unique = column("name", "display_name"), column("unique_name", "display_name", "name")
    text, unix = column("job_completion_time"), column("job_completion_time_unix")
    if test < 0 or (text < 0 and unix < 0):
        return None
    system, partition, environ, job, nodes, result = map(
        column, ("system", "partition", "environ", "jobid", "job_nodelist", "result")
    )
    folders = (*file.resolve().parts[-3:-1], "", "")
    figures = [
        (name[:-6], itemgetter(*(place.get(name[:-6] + suffix, -1) for suffix in _SUFFIXES)))
        for name in place
        if name.endswith("_value")
    ]

    def make(fields: list[str]) -> ImportedLaunch:
        fields.append("")  # of the columns that are not there
        at, night = when(fields[text], fields[unix], zone)
        return ImportedLaunch(
            fields[system] if system >= 0 else folders[0],
            fields[partition] if partition >= 0 else folders[1],
            fields[environ],
            without_repeat(fields[test]),
            fields[unique],
            fields[job],
            at,
            _RESULTS.get(fields[result], fields[result]) if result >= 0 else "pass",
            fields[nodes],
            tuple([figure_of(name, those_of(fields)) for name, those_of in figures]),
            night,
        )

    return make


def http_json(file: Path, lines: Iterable[str], zone: tzinfo | None) -> Iterator[Read]:
    """The launches of httpjson records, one a line; NaN and Infinity are read as such."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield _record(plain_data(json.loads(line)), zone)
        except ODD as error:
            yield Unread(file, number, f"no httpjson record ({type(error).__name__}: {error})")


def _record(record: dict[str, Any], zone: tzinfo | None) -> ImportedLaunch:
    if isinstance(record.get("_source"), dict):  # as an index of Elasticsearch is exported
        record = record["_source"]
    known = {name.removeprefix("check_"): value for name, value in record.items()}
    at, night = when(
        known.get("job_completion_time") or "", known["job_completion_time_unix"], zone
    )
    figures = [
        figure_of(name[5:-6], [known.get(name[:-6] + suffix) for suffix in _SUFFIXES])
        for name in known
        if re.fullmatch(r"perf_.+_value", name)
    ]
    place = known["system"], known["partition"], known["environ"]
    return launch_of(known, place, figures, at, night)


def launch_of(
    case: dict[str, Any],
    place: tuple[str, str, str],
    figures: Iterable[ImportedFigure],
    at: float,
    night: str,
    *,
    since: float | None = None,
) -> ImportedLaunch:
    """A test case as JSON has it; `place`: system, partition, environment."""
    nodes = case.get("job_nodelist") or case.get("nodelist") or ""
    result = case.get("result") or "pass"
    return ImportedLaunch(
        *place,
        without_repeat(case["name"]),
        str(case.get("unique_name") or case["name"]),
        str(case.get("jobid") or ""),
        at,
        _RESULTS.get(result, result),
        nodes if isinstance(nodes, str) else ",".join(nodes),
        tuple(figures),
        night,
        since,
    )


def figure_of(name: str, fields: Sequence[Any]) -> ImportedFigure:
    """A figure of the fields of `_SUFFIXES`, texts or as JSON has them."""
    value, unit, *limits = fields
    number = None if value in _NO_FIGURE else float(value)
    return ImportedFigure(name, number, "" if unit in _NO_FIGURE else str(unit), *_limits(*limits))


@lru_cache(maxsize=10_000)
def _limits(*fields: Any) -> tuple[float | None, ...]:
    return tuple(None if one in _NO_FIGURE else float(one) for one in fields)
