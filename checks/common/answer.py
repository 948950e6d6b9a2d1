# SPDX-License-Identifier: Apache-2.0
"""Compares what one of our programs printed with what it was asked.

Every value that was asked for must be there once, with as many samples as were asked for, and no
other value. A redundant value must follow from its samples or from other values. The settings that
the program prints must be those it was given.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from checks.common.json_lines import Output
from records.metric import Metric, MetricDefinition
from records.site.limits import Launched, window

#: Points that a message about missing values names.
PLACES_SHOWN = 3
#: Significant digits that our programs print.
DIGITS = 9


@dataclass(frozen=True)
class Asked:
    """A value that a program must print: the metric, its point, the number of its samples."""

    metric: str
    at: Mapping[str, Any] = field(default_factory=dict)
    samples: int = 0


@dataclass(frozen=True)
class Reading:
    """Result of reading: metrics, what is wrong with the answer (None: nothing), flags, and the
    file with the values of a scan that is kept with the record."""

    metrics: list[Metric] = field(default_factory=list)
    wrong: str | None = None
    flags: list[str] = field(default_factory=list)
    table: str | None = None


class PointValues:
    """The values of an answer at one point, for a relation to compute with."""

    def __init__(self, answer: Mapping[str, Metric], at: Mapping[str, Any], params: Any) -> None:
        self.at, self.params = at, params
        self._answer = answer

    def __call__(self, metric: str, **at: Any) -> float:
        """A metric's value at this point, or where `at` says otherwise."""
        return self._answer[_key(metric, {**self.at, **at})].value

    def samples(self, metric: str) -> Sequence[float]:
        """A metric's samples at this point."""
        return self._answer[_key(metric, self.at)].samples or []


#: Computes a redundant value from the others.
Relation = Callable[[PointValues], float]


def of_samples(statistic: Callable[[Sequence[float]], float], metric: str) -> Relation:
    """A statistic of a metric's samples, such as `min`."""
    return lambda here: statistic(here.samples(metric))


def length_over(time: str) -> Relation:
    """The message length of the point over a time."""
    return lambda here: here.at["message_bytes"] / here(time)


def mean_is_possible(
    least: float, mean: float, greatest: float, count: int, rounding: float = 0.0
) -> bool:
    """True if `count` values of this least and greatest can have this mean.

    All but one may be the least, or the greatest. `rounding`: of the three together.
    """
    slack = rounding + 1e-8 * abs(greatest)
    low = least + (greatest - least) / count
    high = greatest - (greatest - least) / count
    return least <= greatest and low - slack <= mean <= high + slack


def longer_than_launch(spent_s: float, output: Output) -> str | None:
    """Fault of printed times that do not fit into the launch, or None.

    The launch is stamped by another clock, which may have been set meanwhile: 2 % are let pass. A
    program that was run by hand has no stamps.
    """
    launch_s = output.phase_s("launch_begin", "launch_end")
    if launch_s is None or spent_s <= 1.02 * launch_s + 0.1:
        return None
    return f"what was timed took {spent_s:.6g} s at least; the whole launch took {launch_s:.6g} s"


def beyond_window(
    metrics: Iterable[Metric],
    known: Mapping[str, MetricDefinition],
    output: Output,
    asked_ranks: int,
    *,
    devices: bool = False,
) -> str | None:
    """The first value or sample that no launch can measure on any machine, or None; metrics without
    a definition in `known` are passed over. A program run by hand has no time."""
    interval, ranks = output.session_interval(), output.evidence.ranks if output.evidence else ()
    if interval is None:
        return None
    cores = {(rank.boot_id, cpu) for rank in ranks for cpu in rank.cpus}
    launched = Launched(
        ranks=len(ranks) or asked_ranks,
        cores=len(cores) or _CORES_A_RANK * asked_ranks,
        seconds=interval[1] - interval[0],
        devices=devices,
    )
    for metric in metrics:
        definition = known.get(metric.name)
        if definition is None:
            continue
        low, high = window(definition, metric.at or {}, launched)
        for value in (metric.value, *(metric.samples or ())):
            zero = value == 0 and definition.may_be_zero
            if not (zero or low * _ROUNDED <= value <= high / _ROUNDED):
                place = _place(metric.name, metric.at)
                return (
                    f"{place} is {value:.6g} {metric.unit}; in this launch it can be"
                    f" {low:.3g} to {high:.3g}"
                )
    return None


#: Of nine digits.
_ROUNDED = 1 - 1e-8
#: More cores than a rank runs on, where no evidence tells how many.
_CORES_A_RANK = 1024

#: What MPI libraries print when they end a program, and HPL and the C library at faults.
_DEATH = re.compile(
    r"^(?:Abort\(-?\d+\) on node|Fatal error in |.*\*\*\* An error occurred in MPI_"
    r"|.*MPI_ABORT was invoked|application called MPI_Abort|HPL (?:ERROR|WARNING)\b"
    r"|.*(?:Segmentation fault|Bus error|Out of memory: Killed)).*$",
    re.MULTILINE,
)


def died(text: str) -> str | None:
    """Words of a foreign program on a fault, though it came to a good end, or None."""
    found = _DEATH.search(text)
    return f"the program said {found[0].strip()!r:.200}" if found else None


def option_words(options: Mapping[str, object]) -> list[str]:
    """Options as words: `--name=value`; lists joined by commas; a switch that is on: `--name`."""
    return [
        f"--{name}" if value is True else f"--{name}={_text(value)}"
        for name, value in options.items()
        if value is not False
    ]


def _text(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def other_program(name: str | None, ends: Sequence[str], output: Output) -> str | None:
    """Fault of lines of ours that another program than `name`, or another library, printed.

    `ends` are the programs that must have said that they reached their end; a program whose name is
    None prints no other line.
    """
    if list(ends) != output.ended_programs:
        return f"the end was reached by {output.ended_programs!r:.100}, not by {list(ends)}"
    found = (output.program or {}).get("name")
    if found != name:
        return f"the program calls itself {found!r:.100}; asked was {name}"
    if name is None:
        noted = bool(output.all_notes) and not ends
        return "a program of others printed a note of ours" if noted else None
    said, evidence = str((output.program or {}).get("mpi")), output.evidence
    # The program prints the beginning of what the evidence gives in full.
    known = re.split("[,;]", evidence.library, maxsplit=1)[0] if evidence else None
    if said == known or said.startswith(("none: sockets of ", "none: TCP of ")):
        return None
    return f"the program names the library {said!r:.100}, not {known!r:.100}"


def other_settings(options: Mapping[str, object], program: Mapping[str, Any] | None) -> str | None:
    """The first setting that the program printed and that was not asked; None if there is none.

    Our programs print real numbers with six digits after the point, a choice of words as a list,
    a list of numbers as text. A fault that they can inject is never asked for.
    """
    printed = (program or {}).get("settings")
    if not isinstance(printed, dict):
        return "the program did not print the settings that it ran with"
    for name, asked in options.items():
        found = printed.get(name)
        if isinstance(asked, float):
            real = isinstance(found, int | float) and not isinstance(found, bool)
            same = real and abs((found or 0) - asked) <= max(5.1e-7, 1e-12 * abs(asked))
        elif isinstance(asked, str | list):
            same = found in (asked, [asked], _text(asked))
        else:
            same = type(found) is type(asked) and found == asked
        if not same:
            return f"the program ran with {name} = {found!r:.100}; asked was {_text(asked):.100}"
    fault = printed.get("inject-fault")
    return f"the program ran with the fault {fault!r:.100}" if fault else None


def other_notes(wanted: Mapping[str, Any], output: Output) -> str | None:
    """The first note that is missing, doubled, or says something else than `wanted`; or None.

    A note wanted as `str` may be any text. Only notes with members may come more than once.
    """
    keys = [key for key, value in output.all_notes if key in wanted or not isinstance(value, dict)]
    doubled = next((key for key in keys if keys.count(key) > 1), None)
    if doubled is not None:
        return f"the program said {doubled:.100} twice"
    for key, value in wanted.items():
        found = output.notes.get(key)
        if value is str:
            if not (isinstance(found, str) and found):
                return f"the program did not say {key}"
        elif type(found) is not type(value) or found != value:
            return f"the program said {key} = {found!r:.100}; right is {value!r:.100}"
    return None


def difference(
    asked: Iterable[Asked],
    found: Sequence[Metric],
    relations: Mapping[str, Relation],
    params: Any,
) -> str | None:
    """First difference between the values found and those asked for, with its point, or None."""
    wanted = {_key(one.metric, one.at): one for one in asked}
    answer = {_key(metric.name, metric.at): metric for metric in found}
    missing = [one for key, one in wanted.items() if key not in answer]
    if missing:
        named = "; ".join(_place(one.metric, one.at) for one in missing[:PLACES_SHOWN])
        return f"{len(missing)} of {len(wanted)} values are missing: {named}"
    if len(answer) != len(found):
        return "a value was printed twice"
    for key, metric in answer.items():
        place = _place(metric.name, metric.at)
        if key not in wanted:
            return f"{place} was not asked for"
        samples = metric.samples or []
        if len(samples) != wanted[key].samples:
            return f"{place} has {len(samples)} samples; asked were {wanted[key].samples}"
        relation = relations.get(metric.name)
        if relation is None and not samples:
            continue
        right = (
            relation(PointValues(answer, metric.at or {}, params)) if relation else median(samples)
        )
        if not math.isclose(metric.value, right, rel_tol=2 * 10.0 ** (1 - DIGITS)):
            source = "the other values" if relation else "its samples"
            return (
                f"{place} is {metric.value:.{DIGITS}g}; by {source} it must be {right:.{DIGITS}g}"
            )
    return None


def _key(metric: str, at: Mapping[str, Any] | None) -> str:
    return json.dumps([metric, at or {}], sort_keys=True)


def _place(metric: str, at: Mapping[str, Any] | None) -> str:
    """ "bandwidth at construct=Send/Recv message_bytes=64"."""
    point = " ".join(f"{name}={value}" for name, value in (at or {}).items())
    return f"{metric} at {point}" if point else metric
