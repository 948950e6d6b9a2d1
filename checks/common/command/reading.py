# SPDX-License-Identifier: Apache-2.0
"""Reads what a command printed by the expressions of a campaign, line by line and within a time.

An expression is matched with one line at a time, of which LINE_CHARACTERS are read. All together
may take LIMIT_S: an expression with nested repetitions can take for ever.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from statistics import fmean, geometric_mean, median

from checks.common.answer import Reading
from checks.common.command.formula import value_of_formula
from checks.common.evidence.marked_lines import marked_lines
from checks.common.json_lines import OutputError, measured
from records.metric import Metric
from records.run.brought import Caught, CommandLine

LINE_CHARACTERS = 4096
LIMIT_S = 10.0
#: By how much a value may differ from its formula: what is printed is rounded.
FORMULA_SHARE, FORMULA_DIGIT = 2e-3, 2e-6


@dataclass(frozen=True)
class Match:
    """A line that an expression matched: number from 1, text, begin and end of the group."""

    number: int
    line: str
    begin: int
    end: int

    @property
    def text(self) -> str:
        """Text that the group caught."""
        return self.line[self.begin : self.end]


def expression_fault(text: str, groups: int | None = None) -> str | None:
    """Fault of an expression, which must have so many groups, or None."""
    try:
        found = re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        at = getattr(error, "pos", None)
        where = "" if at is None else f" at character {at + 1}: {text[:at][-20:]}»{text[at:][:20]}"
        said = getattr(error, "msg", str(error))
        return f"is no regular expression ({said}{where}); allowed are those of Python's re"
    if groups is not None and found.groups != groups:
        return (
            f"has {found.groups} groups; allowed is {groups}, around the number: write (?:…) for"
            " parentheses that catch nothing"
        )
    return None


def own_lines(text: str) -> list[str]:
    """The lines that a launch printed, those of its own empty."""
    ours = set(marked_lines(text))
    lines = (line.rstrip("\r") for line in text.split("\n"))
    return ["" if line in ours else line[:LINE_CHARACTERS] for line in lines]


@contextmanager
def within(limit_s: float, what: str) -> Iterator[None]:
    """Raises OutputError where what is done within takes longer."""

    def late(*_: object) -> None:
        raise OutputError(
            f"{what} took more than {limit_s:g} s; replace nested repetitions such as (a+)+"
        )

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def matches(expression: str, lines: Sequence[str]) -> list[Match]:
    """Every match of an expression; of one without a group, the whole match."""
    compiled = re.compile(expression)
    group = 1 if compiled.groups else 0
    return [
        Match(number, line, *found.span(group))
        for number, line in enumerate(lines, 1)
        for found in compiled.finditer(line)
    ]


def value_of(caught: Caught, found: Sequence[Match], elsewhere: Callable[[], str]) -> Metric:
    """The metric of these matches. Raises OutputError where it is missing or no number; then the
    lines of the other stream, `elsewhere`, are looked at."""
    name = caught.metric.name
    if not found:
        said = f"metric {name} is missing: no line of {caught.stream} matches {caught.find!r:.200}"
        other = "stdout" if caught.stream == "stderr" else "stderr"
        for one in matches(caught.find, own_lines(elsewhere()))[:1]:
            said += f"; line {one.number} of {other} does: write `from: {other}`"
        raise OutputError(said)
    if caught.of == "only" and len(found) > 1:
        places = ", ".join(str(one.number) for one in found[:5])
        raise OutputError(
            f"metric {name}: {len(found)} matches, in lines {places}; say which by `of`, or make"
            " the expression stricter"
        )
    numbers = []
    for one in found:
        try:
            numbers.append(float(one.text) * caught.factor)
        except ValueError:
            said = f"metric {name}: {one.text!r:.80} in line {one.number} is no number"
            raise OutputError(said) from None
    choose = {"first": lambda n: n[0], "last": lambda n: n[-1], "only": lambda n: n[0]}
    choose |= {"min": min, "max": max, "sum": sum, "mean": fmean, "each": median}
    choose["geomean"] = geometric_mean
    samples = numbers if caught.of == "each" else None
    for number in numbers:
        measured(caught.metric, number)
    return measured(caught.metric, choose[caught.of](numbers), None, samples)


def _beyond(
    line: CommandLine, metrics: Sequence[Metric], memory_bytes: float | None
) -> Iterator[str]:
    """Faults of values: too small or great, or other than the formula of others says."""
    pairs = list(zip(line.metrics, metrics, strict=True))
    printed = {one.metric.name: found.value / one.factor for one, found in pairs}
    for one, found in pairs:
        name, unit = found.name, found.unit
        memory = one.memory_share and memory_bytes and one.memory_share * memory_bytes
        least = max(one.at_least or 0.0, memory or 0.0)
        if found.value < least:
            share = f", {one.memory_share:g} of the nodes' memory" if least == memory else ""
            yield f"{name} is {found.value:.6g} {unit}; allowed is at least {least:.6g}{share}"
        if one.at_most is not None and found.value > one.at_most:
            yield f"{name} is {found.value:.6g} {unit}; allowed is at most {one.at_most:.6g}"
        if one.equals:
            right = value_of_formula(one.equals, printed)
            if abs(printed[name] - right) > FORMULA_SHARE * abs(right) + FORMULA_DIGIT:
                yield f"{name} is {printed[name]:.6g}; by {one.equals} it is {right:.6g}"


def read(
    line: CommandLine,
    text: str,
    memory_bytes: float | None = None,
    errors: Callable[[], str] = lambda: "",
) -> Reading:
    """The metrics of what a command printed, or what is wrong with it. `memory_bytes`: of the
    launch's nodes together; None: shares of it are not asked for. `errors` reads its stderr, where
    that is needed. Raises OutputError."""
    lines, said = own_lines(text), cache(errors)
    with within(LIMIT_S, "reading the output by the campaign's expressions"):
        for expression in line.wrong:
            if found := matches(expression, lines):
                shown = f"line {found[0].number} matches {expression!r:.200}, which is wrong"
                return Reading(wrong=f"{shown}: {found[0].line.strip()!r:.200}")
        for expression in line.right:
            if not matches(expression, lines):
                return Reading(wrong=f"no line matches {expression!r:.200}, which must be there")
        metrics = [
            value_of(one, matches(one.find, own_lines(said())), lambda: text)
            if one.stream == "stderr"
            else value_of(one, matches(one.find, lines), said)
            for one in line.metrics
        ]
        wrong = next(_beyond(line, metrics, memory_bytes), None)
        return Reading(wrong=wrong) if wrong else Reading(metrics)
