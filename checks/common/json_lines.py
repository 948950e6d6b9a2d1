# SPDX-License-Identifier: Apache-2.0
"""The one parser of what our own programs print: JSON lines among foreign text.

Every line that is a JSON object with the key "assay" is ours; all others belong to the library or
the launcher and are left alone. The output is not trusted: it may be cut off,
lines of two ranks may be mixed, a value may not be a number.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from records.metric import Metric, MetricDefinition
from records.mpi_profile import RankProfile, rank_profile
from records.units import unit_of


class OutputError(Exception):
    """The program's output contradicts itself or is not a measurement; the message says where."""


@dataclass
class Output:
    """One launch's output, sorted by kind of line."""

    program: dict[str, Any] | None = None
    metrics: list[Metric] = field(default_factory=list)
    notes: dict[str, Any] = field(default_factory=dict)
    all_notes: list[tuple[str, Any]] = field(default_factory=list)
    stamps: dict[str, float] = field(default_factory=dict)
    evidence: dict[str, Any] | None = None
    allocation: dict[str, Any] | None = None
    exit_status: int | None = None
    errors: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    ended_programs: list[Any] = field(default_factory=list)
    profile: list[RankProfile] = field(default_factory=list)

    @property
    def ended(self) -> bool:
        """Whether a program said that it reached its end."""
        return bool(self.ended_programs)

    def notes_of(self, key: str) -> list[Any]:
        """The values of all notes of this key, in the order they were printed."""
        return [value for name, value in self.all_notes if name == key]

    def phase_s(self, begin: str, end: str) -> float | None:
        """Seconds between two stamps, or None when one of them is missing."""
        if begin in self.stamps and end in self.stamps:
            return self.stamps[end] - self.stamps[begin]
        return None

    def profile_by_rank(self, ranks: int) -> list[RankProfile]:
        """The MPI profile of each rank. Raises OutputError unless each came once."""
        profile = sorted(self.profile, key=lambda rank: rank.rank)
        found = [rank.rank for rank in profile]
        if found != list(range(ranks)):
            raise OutputError(f"MPI profiles came of ranks {found}; there are {ranks} ranks")
        return profile


def parse(text: str, metrics: Mapping[str, MetricDefinition]) -> Output:
    """Sort the JSON lines of `text`; `metrics` are those that the program may print.

    Raises OutputError on a value that is not a measurement, or of another metric.
    """
    output = Output()
    seen: set[str] = set()
    for line in text.splitlines():
        if not line.startswith("{"):
            continue
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            if line.startswith('{"assay":'):
                raise OutputError(f"a line was cut or mixed with another: {line[:80]!r}") from None
            continue
        if isinstance(entry, dict) and "assay" in entry:
            _take(entry, output, metrics, seen)
    return output


_SESSION_STAMP = re.compile(
    r'^\{"assay":"stamp","name":"session_(?P<edge>begin|end)","at":(?P<at>\d+\.\d+)\}$',
    re.MULTILINE,
)


def session_interval(text: str) -> tuple[float, float] | None:
    """Begin and end of the session in seconds since 1970, whatever else `text` holds."""
    at = {match["edge"]: float(match["at"]) for match in _SESSION_STAMP.finditer(text)}
    return (at["begin"], at["end"]) if {"begin", "end"} <= at.keys() else None


def _take(
    entry: dict[str, Any], output: Output, metrics: Mapping[str, MetricDefinition], seen: set[str]
) -> None:
    match entry:
        case {"assay": "metric"}:
            output.metrics.append(_metric(entry, metrics, seen))
        case {"assay": "stamp", "name": str(name), "at": int() | float() as at}:
            output.stamps[name] = float(at)
        case {"assay": "note", "key": str(key), "value": value}:
            output.notes[key] = value
            output.all_notes.append((key, value))
        case {"assay": "error", "message": message}:
            kind = output.wrong if entry.get("wrong") is True else output.errors
            kind.append(f"{entry.get('where', 'program')}: {message}"[:500])
        case {"assay": "exit", "status": int(status)}:
            output.exit_status = status
        case {"assay": "end", "ok": True}:
            output.ended_programs.append(entry.get("program"))
        case {"assay": "profile"}:
            try:
                output.profile.append(rank_profile(entry))
            except ValueError as error:
                raise OutputError(str(error)) from error
        case {"assay": "program" | "evidence" | "allocation" as kind}:
            if getattr(output, kind) is not None:
                raise OutputError(f"two {kind} lines in one launch")
            setattr(output, kind, entry)
        case _:
            raise OutputError(f"a line of unknown form: {str(entry)[:80]}")


def _metric(
    entry: dict[str, Any], metrics: Mapping[str, MetricDefinition], seen: set[str]
) -> Metric:
    name, at = entry.get("name"), entry.get("at")
    definition = metrics.get(name) if isinstance(name, str) else None
    if definition is None or entry.get("unit") != definition.unit:
        raise OutputError(f"this check reports no metric {name!r:.80} in {entry.get('unit')!r:.80}")
    if at is not None and not (isinstance(at, dict) and all(map(_is_position, at.values()))):
        raise OutputError(f"metric {name}: {at!r:.80} is not a point")
    strange = entry.keys() - {"assay", "name", "unit", "value", "at", "samples"}
    if strange:
        raise OutputError(f"metric {name}: unknown members {sorted(strange)!r:.80}")
    key = json.dumps([name, at], sort_keys=True)
    if key in seen:
        raise OutputError(f"metric {name} at {at} is printed twice")
    seen.add(key)
    samples = entry.get("samples")
    if not (samples is None or isinstance(samples, list)):
        raise OutputError(f"metric {name}: its samples are {samples!r:.80}")
    return measured(definition, entry.get("value"), at, samples)


def _is_position(value: Any) -> bool:
    """Whether a point of a sweep can stand at `value`: a word, or a number from 0 on."""
    if isinstance(value, str):
        return True
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and math.isfinite(value) and value >= 0


def check_number(value: Any, unit: str, where: str) -> float:
    """`value` as a float if it can be a measurement in `unit`; else OutputError naming `where`."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise OutputError(f"{where}: {value!r} is not a number")
    if not 0 < value < unit_of(unit).greatest:
        raise OutputError(f"{where}: {value!r} {unit} is not a possible measurement")
    return float(value)


def measured(
    definition: MetricDefinition,
    value: Any,
    at: dict[str, Any] | None = None,
    samples: list[Any] | None = None,
) -> Metric:
    """A value of a metric, with its samples, each checked. Raises OutputError."""
    where = f"{definition.name} at {at}" if at else definition.name
    numbers = (
        None if samples is None else [check_number(s, definition.unit, where) for s in samples]
    )
    zero = definition.may_be_zero and value == 0 and not isinstance(value, bool)
    number = 0.0 if zero else check_number(value, definition.unit, where)
    return Metric(definition.name, definition.unit, definition.better, number, at, numbers)
