# SPDX-License-Identifier: Apache-2.0
"""Parser of what our own programs and the session print: JSON lines among foreign text.

A line with the mark `"assay":` is ours: it is a whole JSON object and carries the token of the
launch, or the launch is wrong. All other lines belong to the library, the launcher or a foreign
program and are left alone. Output may be cut off, lines of two ranks may be mixed, a value may not
be a number. Every OutputError makes the launch wrong.
"""

import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from checks.common.evidence import Evidence
from records.input_files import RefusedFileError, open_regular
from records.metric import Metric, MetricDefinition
from records.text.plain_text import speaking
from records.units import unit_of

#: Environment variable with the token of a launch, by which its lines differ from other text.
TOKEN = "ASSAY_TOKEN"  # noqa: S105  a variable's name

#: Characters of a line that a message shows.
_SHOWN = 80
#: How session.sh begins its stamps, its allocation and its exit status.
_OF_SESSION = tuple(f'{{"assay":"{kind}' for kind in ("stamp", "allocation", "exit"))

#: Its stamps; those of daemons only where it has some.
_STAMPS = (
    *("session_begin", "boot_begin", "boot_end", "launch_begin"),
    *("launch_end", "halt_begin", "halt_end", "session_end"),
)
#: Members of a rank's line of the MPI profile that a record keeps.
PROFILE = ("rank", "elapsed_s", "mpi_s", "calls")
#: Seconds that the clocks of two hosts may differ; munge refuses a job's credential beyond them.
CLOCKS_APART_S = 300.0


class OutputError(Exception):
    """The program's output contradicts itself or is not a measurement; the message says where."""


@dataclass
class Output:
    """Output of a launch, sorted by kind of line."""

    program: dict[str, Any] | None = None
    metrics: list[Metric] = field(default_factory=list)
    notes: dict[str, Any] = field(default_factory=dict)
    all_notes: list[tuple[str, Any]] = field(default_factory=list)
    stamps: dict[str, float] = field(default_factory=dict)
    evidence: Evidence | None = None
    allocation: dict[str, Any] | None = None
    exit_status: int | None = None
    errors: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    ended_programs: list[Any] = field(default_factory=list)
    profile: list[dict[str, Any]] = field(default_factory=list)

    @property
    def ended(self) -> bool:
        """True if a program said that it reached its end."""
        return bool(self.ended_programs)

    def notes_of(self, key: str) -> list[Any]:
        """The values of all notes of this key, in the order they were printed."""
        return [value for name, value in self.all_notes if name == key]

    def phase_s(self, begin: str, end: str) -> float | None:
        """Seconds between two stamps, or None when one of them is missing."""
        if begin in self.stamps and end in self.stamps:
            return self.stamps[end] - self.stamps[begin]
        return None

    def session_interval(self) -> tuple[float, float] | None:
        """Begin and end of the session in seconds since 1970, or None when one is missing."""
        begin, end = self.stamps.get("session_begin"), self.stamps.get("session_end")
        return None if begin is None or end is None else (begin, max(begin, end))

    def other_session(self, daemons: str) -> str | None:
        """Fault of the session's lines, against a whole one's with these daemons, or None."""
        left_out = ("boot", "halt") if daemons == "none" else ()
        for name in _STAMPS:
            if name not in self.stamps and not name.startswith(left_out):
                return f"the session's stamp {name} is missing"
        return None if self.allocation else "the session's line of its allocation is missing"

    def runs_backwards(self) -> bool:
        """True if the session's stamps, all of one clock, do not ascend."""
        stamps = [self.stamps[name] for name in _STAMPS if name in self.stamps]
        return stamps != sorted(stamps)

    def hosts(self) -> list[str]:
        """The short name of each rank's host. Raises OutputError without evidence."""
        if self.evidence is None:
            raise OutputError("the launch gave no evidence of where its ranks ran")
        return self.evidence.hosts()


def parse(text: str, metrics: Mapping[str, MetricDefinition], token: str | None = None) -> Output:
    """Sort the JSON lines of `text`; `metrics` are those that the program may print.

    Without a `token`, as of a program run by hand, no line needs one. Raises OutputError on a line
    of ours that is not whole or not of this launch, on a value that is not a measurement, and on a
    metric of another check.
    """
    output = Output()
    for line in marked_lines(text):
        entry = whole_object(line)
        if token is not None and entry.get("token") != token:
            raise OutputError(f"a line does not carry the token of its launch: {line[:_SHOWN]!r}")
        _take(entry, output, metrics)
    return output


def session_lines(text: str, token: str) -> Output:
    """The stamps, allocation and exit status of the session in `text`, of its lines that are whole;
    of two alike the first."""
    output = Output()
    for line in marked_lines(text):
        with suppress(OutputError):
            if line.startswith(_OF_SESSION) and (entry := whole_object(line)).get("token") == token:
                _take(entry, output, {})
    return output


def _take(entry: dict[str, Any], output: Output, metrics: Mapping[str, MetricDefinition]) -> None:
    match entry:
        case {"assay": "metric"}:
            output.metrics.append(_metric(entry, metrics))
        case {"assay": "stamp", "name": str(name), "at": int() | float() as at} if (
            0 <= at < 1e11 and not isinstance(at, bool)
        ):
            _once(name not in output.stamps, f"the stamp {name:.40}")
            output.stamps[name] = float(at)
        case {"assay": "stamps"}:
            pass  # of runs before: the session said its stamps again at its end
        case {"assay": "note", "key": str(key), "value": value}:
            output.notes[key] = value
            output.all_notes.append((key, value))
        case {"assay": "error", "message": message}:
            kind = output.wrong if entry.get("wrong") is True else output.errors
            kind.append(f"{entry.get('where', 'program')}: {message}"[:500])
        case {"assay": "exit", "status": int(status)} if type(status) is int:
            _once(output.exit_status is None, "the exit status")
            output.exit_status = status
        case {"assay": "end", "ok": True}:
            output.ended_programs.append(entry.get("program"))
        case {"assay": "profile"}:
            output.profile.append({name: entry.get(name) for name in PROFILE})
        case {"assay": "evidence"}:
            _once(output.evidence is None, "the evidence")
            output.evidence = read_evidence(entry)
        case {"assay": "program" | "allocation" as kind}:
            _once(getattr(output, kind) is None, f"the {kind} line")
            setattr(output, kind, entry)
        case _:
            raise OutputError(f"a line of unknown form: {str(entry)[:_SHOWN]}")


def _once(first: bool, what: str) -> None:
    if not first:
        raise OutputError(f"{what} was printed twice")


def _metric(entry: dict[str, Any], metrics: Mapping[str, MetricDefinition]) -> Metric:
    name, at = entry.get("name"), entry.get("at")
    definition = metrics.get(name) if isinstance(name, str) else None
    if definition is None or entry.get("unit") != definition.unit:
        raise OutputError(f"this check reports no metric {name!r:.80} in {entry.get('unit')!r:.80}")
    if not (at is None or isinstance(at, dict)):
        raise OutputError(f"metric {name}: {at!r:.80} is not a point")
    samples = entry.get("samples")
    if not (samples is None or isinstance(samples, list)):
        raise OutputError(f"metric {name}: its samples are {samples!r:.80}")
    return measured(definition, entry.get("value"), at, samples)


def check_number(value: Any, unit: str, where: str) -> float:
    """`value` as a float if it can be a measurement in `unit`; else OutputError naming `where`."""
    if type(value) not in (int, float):
        raise OutputError(f"{where:.200}: {value!r:.80} is not a number")
    if not sys.float_info.min <= value < min(unit_of(unit).greatest, sys.float_info.max):
        raise OutputError(f"{where:.200}: {value!r:.80} {unit} is not a possible measurement")
    return float(value)


def measured(
    definition: MetricDefinition,
    value: Any,
    at: dict[str, Any] | None = None,
    samples: list[Any] | None = None,
) -> Metric:
    """A value of a metric, with its samples, each checked. Raises OutputError."""
    where = f"{definition.name} at {at}" if at else definition.name
    unit = definition.unit
    numbers = None if samples is None else [check_number(one, unit, where) for one in samples]
    zero = definition.may_be_zero and value == 0 and not isinstance(value, bool)
    number = 0.0 if zero else check_number(value, unit, where)
    return Metric(definition.name, unit, definition.better, number, at, numbers)


_MARK = re.compile(r'"assay"[ \t]*:')


def marked_lines(text: str) -> Iterator[str]:
    """The lines with our mark. Only these are cut out: foreign text may be long."""
    found = _MARK.search(text)
    while found:
        begin = text.rfind("\n", 0, found.start()) + 1
        end = text.find("\n", found.end())
        end = len(text) if end < 0 else end
        yield text[begin:end].rstrip("\r")
        found = _MARK.search(text, end)


def whole_object(line: str) -> dict[str, Any]:
    """The object that a marked line is. Raises OutputError where it is none."""
    try:
        entry = msgspec.json.decode(line, type=dict[str, Any])
        fault = "" if "assay" in entry else "the mark of the harness is inside it"
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError) as error:
        fault = str(error)
    if fault:
        raise OutputError(f"a line was cut or mixed with another ({fault:.100}): {line[:_SHOWN]!r}")
    return entry


def read_evidence(entry: Mapping[str, Any]) -> Evidence:
    """The evidence in a parsed line. Raises OutputError saying what is wrong with it."""
    facts = {name: value for name, value in entry.items() if name not in ("assay", "token")}
    try:
        evidence = msgspec.convert(facts, Evidence)
    except msgspec.ValidationError as error:
        raise OutputError(f"evidence that cannot be read: {error}") from error
    ranks = sorted(evidence.ranks, key=lambda facts: facts.rank)
    if not ranks or [facts.rank for facts in ranks] != list(range(len(ranks))):
        named = str([facts.rank for facts in ranks])
        raise OutputError(f"evidence came of ranks {named:.100}; each must come once, from 0 on")
    return msgspec.structs.replace(evidence, ranks=ranks)


#: Of longer output only the beginning, up to this, and the last TAIL_BYTES are read.
LIMIT_BYTES = 64 * 2**20
TAIL_BYTES = 2**16


@dataclass(frozen=True)
class Printed:
    """Output of one stream: all of it, or whole lines of its beginning and of its end.

    `problem` says why not all of it was read.
    """

    text: str = ""
    problem: str | None = None


def read_printed(path: Path, limit_bytes: int = LIMIT_BYTES) -> Printed:
    """Content of `path`; undecodable bytes are replaced. A file that is missing holds nothing."""
    try:
        with open_regular(path.parent, path.name) as file:
            head, size = file.read(limit_bytes), os.fstat(file.fileno()).st_size
            if size <= limit_bytes:
                return Printed(_decoded(head))
            file.seek(-TAIL_BYTES, os.SEEK_END)
            tail = file.read(TAIL_BYTES)
    except FileNotFoundError:
        return Printed()
    except (OSError, RefusedFileError) as error:
        return Printed(problem=f"{path.name} {error}")
    lines = head[: head.rfind(b"\n") + 1] + tail[tail.find(b"\n") + 1 :]
    said = f"{path.name} has {size} bytes; at most {limit_bytes} are read"
    return Printed(_decoded(lines), said)


def last_line(stderr: str, stdout: str = "") -> str | None:
    """The last line of `stderr`, without one of a program's `stdout`, that is no epitaph of a
    launcher; of epitaphs alone the one that tells most; None if there is none."""
    lines = [line for line in stdout[-TAIL_BYTES:].split("\n") if '"assay"' not in line]
    said = speaking([*lines, *stderr.splitlines()])
    return said[-1] if said else None


def _decoded(text: bytes) -> str:
    return text.decode("utf-8", errors="replace")
