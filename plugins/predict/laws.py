# SPDX-License-Identifier: Apache-2.0
"""Laws that give the times of a subject on node counts that were not measured: an application's law
over nodes, or that of a collective operation over ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from plugins.predict.library import SEED, Library
from plugins.predict.models.collectives_ahead import Ahead
from plugins.predict.models.scaling import Counts, fit_law, unseen_serial
from plugins.predict.outcome import EstimatePart, Measured, Problem
from reports.notation.units import count_text, significant
from reports.statistics.descriptive import Vector

#: What is left to do where no law serves.
ADD_COUNT = "measure it on that node count"
ADD_ECHO = "add the check pt2pt or echo with placement {place} and at least four sizes"


@dataclass(frozen=True, slots=True)
class Gap:
    """Why there is no law or no time, and what adds it."""

    why: str
    add: str


@dataclass(frozen=True, slots=True)
class ExpectedTime:
    """The time in s, draws of it with all that is not known, and the share of communication."""

    value: float
    drawn: Vector
    communication_share: float


class SubjectLaw(Protocol):
    """`errors` of a node count by what they are of; `first_s` are resamples of the time of a unit
    of work on the fewest nodes."""

    errors: dict[str, float]
    first_s: Vector

    def expected(self, problem: Problem) -> ExpectedTime | Gap:
        """The time of a problem."""


class OperationLaw:
    """A collective operation with messages of one length."""

    def __init__(self, ahead: Ahead, message_bytes: int, first_s: Vector) -> None:
        self.ahead, self.message_bytes, self.first_s = ahead, message_bytes, first_s
        self.errors = {"time": ahead.error}

    def expected(self, problem: Problem) -> ExpectedTime | Gap:
        """The time by the best law, drawn from all that the measured counts leave open."""
        time_s = self.ahead.model.best.time_s(self.message_bytes, problem.ranks)
        if time_s <= 0:
            return Gap("the law gives no time above 0 there", ADD_COUNT)
        generator = np.random.default_rng(SEED)
        drawn = self.ahead.drawn_s(self.message_bytes, problem.ranks, generator)
        return ExpectedTime(time_s, drawn, 1.0)


class ApplicationLaw:
    """su3_rmd or HPL: computing and messages over node counts (models.scaling)."""

    def __init__(self, library: Library, used: Sequence[Measured]) -> None:
        self.library = library
        problems = [one.problem for one in used]
        time_s = library.resampled.medians([one.time_s for one in used])
        known = [one.communication_s for one in used if one.communication_s]
        messages = [np.broadcast_to(library.communication_s(one), len(time_s)) for one in problems]
        counts = Counts(
            np.array([float(one.nodes) for one in problems]),
            np.array([one.work for one in problems]),
            np.column_stack(messages),
            time_s,
            library.resampled.medians(known) if len(known) == len(used) else None,
        )
        self.law = fit_law(counts)
        self.errors = self.law.scales
        ranks = np.array([float(one.ranks) for one in problems])
        self.serial = unseen_serial(counts, ranks, self.law)
        self.first_s = time_s[:, 0] / problems[0].work

    def expected(self, problem: Problem) -> ExpectedTime | Gap:
        """The time by the law, its errors drawn; a gap where α and β were not measured."""
        if place := self.library.lacks(problem.transfers):
            return Gap(f"α and β {place} were not measured", ADD_ECHO.format(place=place))
        at = problem.nodes, problem.work, self.library.communication_s(problem)
        compute, messages = (float(part[0]) for part in self.law.parts_s(*at))
        drawn = np.add(*self.law.drawn_s(*at, np.random.default_rng(SEED)))
        return ExpectedTime(compute + messages, drawn, messages / (compute + messages))

    def serial_note(self, times: Sequence[tuple[Problem, EstimatePart]]) -> list[str]:
        """Note of what serial work that the launches cannot show would do beyond an interval."""
        for problem, time_s in sorted(times, key=lambda item: -item[0].nodes):
            at = problem.nodes, problem.ranks, problem.work, self.library.communication_s(problem)
            factor = self.serial.factor(self.law, *at)
            if factor * time_s.value > time_s.high:
                most, longer = significant(100 * self.serial.share), significant(factor)
                return [
                    f"work that one rank does alone, up to {most} % of all work, cannot be ruled"
                    f" out by these launches; so much would make the time on"
                    f" {count_text(problem.nodes, 'node')}"
                    f" {longer} times what is predicted, beyond the interval: measure greater"
                    " counts"
                ]
        return []
