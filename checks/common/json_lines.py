# SPDX-License-Identifier: Apache-2.0
"""Parser of what our own programs and the session print: JSON lines among foreign text.

A line with the mark `"assay":` is ours: it is a whole JSON object and carries the token of the
launch, or the launch is wrong. All other lines belong to the library, the launcher or a foreign
program and are left alone. Output may be cut off, lines of two ranks may be mixed, a value may not
be a number. Every OutputError makes the launch wrong.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeVar

from checks.common.evidence.clocks import Stamp, set_by
from checks.common.evidence.marked_lines import marked_lines, whole_object
from checks.common.evidence.ranks import Evidence, read_evidence
from records.metric import Metric, MetricDefinition
from records.site.limits import LINK_MOST_BYTES_PER_S
from records.units import unit_of

#: Environment variable with the token of a launch, by which its lines differ from other text.
TOKEN = "ASSAY_TOKEN"  # noqa: S105  a variable's name

_Read = TypeVar("_Read")

#: Characters of a line that a message shows.
_SHOWN = 80
#: How session.sh begins its stamps, its allocation and its exit status.
_OF_SESSION = tuple(f'{{"assay":"{kind}' for kind in ("stamp", "allocation", "exit"))

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
    uptimes: dict[str, tuple[float, float]] = field(default_factory=dict)
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
        """Begin and end of the session in seconds since 1970, or None when one is missing.

        The end is by the clock that was right at the begin, regardless of how it was set meanwhile.
        """
        begin, end = self.stamps.get("session_begin"), self.stamps.get("session_end")
        if begin is None or end is None:
            return None
        return begin, max(begin, end - sum(self.clock_set()))

    def clock_told(self) -> str | None:
        """Sentence on a clock that was set during the launch; None: none was."""
        if not (steps := self.clock_set()):
            return None
        host = f"{(self.allocation or {}).get('host', 'its first node')}"
        by = ", ".join(f"{step:+.6g} s" for step in steps)
        return (
            f"the clock of {host:.80} was set during the launch, by {by}, as stamps of the session"
            " and the host's uptime tell"
        )

    def clock_set(self) -> list[float]:
        """By how many seconds the session's host set its clock, each time between two stamps."""
        stamps = [Stamp(at, self.uptimes.get(name)) for name, at in self.stamps.items()]
        return set_by(stamps)

    def other_session(self, daemons: str) -> str | None:
        """Fault of the session's lines, against those of a whole one with these daemons, or None.

        Its stamps are of one clock, so they ascend; those of ranks may be of other clocks.
        """
        return next(self._session_faults(daemons), None)

    def _session_faults(self, daemons: str) -> Iterator[str]:
        phases = ["launch"] if daemons == "none" else ["boot", "launch", "halt"]
        edges = [f"{phase}_{edge}" for phase in phases for edge in ("begin", "end")]
        named = ["session_begin", *edges, "session_end"]
        if missing := [name for name in named if name not in self.stamps]:
            yield f"the session's stamp {missing[0]} is missing"
            return
        if told := self.clock_told():
            yield told
        for one, following in pairwise(named):
            if self.stamps[one] > self.stamps[following]:
                yield f"the session's stamp {one} is later than the next: was the clock set back?"
        if not self.allocation:
            yield "the session's line of its allocation is missing"
        begin, end = self.stamps["launch_begin"], self.stamps["launch_end"]
        if self.evidence is None:
            return
        for facts in self.evidence.ranks:
            start = begin if facts.start is None else facts.start
            if not begin - CLOCKS_APART_S <= start <= end + CLOCKS_APART_S:
                yield (
                    f"rank {facts.rank} began at {start:.3f}, the launch at {begin:.3f}: are the"
                    f" clocks of {facts.host:.80} and of the launch's first node right?"
                )
        probe_s = self.evidence.probe_s or 0.0
        sent = max((link.sent_bytes for link in self.evidence.links), default=0)
        if not sent / LINK_MOST_BYTES_PER_S <= probe_s <= CLOCKS_APART_S + end - begin:
            yield f"the probe of the links took {probe_s:.6g} s"

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
        entry = _whole(line)
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
            if line.startswith(_OF_SESSION) and (entry := _whole(line)).get("token") == token:
                _take(entry, output, {})
    return output


def _whole(line: str) -> dict[str, Any]:
    try:
        return whole_object(line)
    except ValueError as error:
        raise OutputError(
            f"a line was cut or mixed with another ({str(error)[:100]}): {line[:_SHOWN]!r}"
        ) from None


def _take(entry: dict[str, Any], output: Output, metrics: Mapping[str, MetricDefinition]) -> None:
    match entry:
        case {"assay": "metric"}:
            output.metrics.append(_metric(entry, metrics))
        case {"assay": "stamp", "name": str(name), "at": at} if _is_time(at):
            _once(name not in output.stamps, f"the stamp {name:.40}")
            output.stamps[name] = float(at)
            if (up := entry.get("up")) not in (None, [None, None]):
                output.uptimes[name] = _uptimes(up, name)
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
            output.evidence = _read(read_evidence, entry)
        case {"assay": "program" | "allocation" as kind}:
            _once(getattr(output, kind) is None, f"the {kind} line")
            setattr(output, kind, entry)
        case _:
            raise OutputError(f"a line of unknown form: {str(entry)[:_SHOWN]}")


def _read(reader: Callable[[object], _Read], entry: dict[str, Any]) -> _Read:
    try:
        return reader(entry)
    except ValueError as error:
        raise OutputError(str(error)) from error


def _once(first: bool, what: str) -> None:
    if not first:
        raise OutputError(f"{what} was printed twice")


def _is_time(value: Any) -> bool:
    """True of seconds since 1970."""
    return type(value) in (int, float) and 0 <= value < 1e11


def _uptimes(found: Any, name: str) -> tuple[float, float]:
    """The uptimes before and after a stamp. Raises OutputError for what is none."""
    match found:
        case [before, after] if _is_time(before) and _is_time(after) and before <= after:
            return float(before), float(after)
    raise OutputError(f"the stamp {name:.40} has the uptimes {found!s:.80}")


def _metric(entry: dict[str, Any], metrics: Mapping[str, MetricDefinition]) -> Metric:
    name, at = entry.get("name"), entry.get("at")
    definition = metrics.get(name) if isinstance(name, str) else None
    if definition is None or entry.get("unit") != definition.unit:
        raise OutputError(f"this check reports no metric {name!r:.80} in {entry.get('unit')!r:.80}")
    # A point of a sweep is at a word, or at a number from 0 on.
    if at is not None and not (
        isinstance(at, dict)
        and all(
            isinstance(one, str) or (type(one) in (int, float) and 0 <= one < math.inf)
            for one in at.values()
        )
    ):
        raise OutputError(f"metric {name}: {at!r:.80} is not a point")
    strange = entry.keys() - {"assay", "token", "name", "unit", "value", "at", "samples"}
    if strange:
        raise OutputError(f"metric {name}: unknown members {sorted(strange)!r:.80}")
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
