# SPDX-License-Identifier: Apache-2.0
"""Files that ReFrame leaves behind, told apart by what is in them: performance logs, run reports
(data versions 4.0 to 4.2), and the database of results (schema 1.0)."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from datetime import tzinfo
from hashlib import blake2b
from pathlib import Path
from typing import Any

from plugins.reframe.imported import ImportedLaunch
from plugins.reframe.reframe_logs import ODD, Refuse, file_log, launch_of, moment_of
from records.errors import AssayError
from records.text.plain_text import plain_data

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
