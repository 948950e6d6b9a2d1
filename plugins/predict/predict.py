# SPDX-License-Identifier: Apache-2.0
"""Predictions of a run on node counts that it did not measure, and what it lacks for them.

A law of an application over node counts (scaling) rests on α and β of the library: one line for
each protocol segment of the half round trip (point_to_point). Intervals hold together what is not
known: blocks of the run's launches are drawn with replacement, the same blocks for α, β and every
time; the law is fitted anew to each draw, and its exponents and the errors of a node count are
drawn from what the measured counts leave open. Row 0 of each array is what was measured, the others
are resamples. Where no law fits what was measured, nothing is predicted.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np

from plugins.predict import outcome
from plugins.predict.launches import resampled_medians
from plugins.predict.parts import LEAST_POINTS, line_of
from plugins.predict.point_to_point import MOST_SIZES, segmented
from plugins.predict.scaling import Counts, fit_law
from plugins.predict.subjects import CHECKS, subjects
from reports.analysis.run import Analysis
from reports.checks.common import ByBlock, echo_times
from reports.notation.units import count_text, significant
from reports.statistics.descriptive import Matrix, Vector

SEED = 18
#: Fewer lengths give no line.
LEAST_SIZES = 2
#: A global sum of su3_rmd: four values of three 8-byte integers.
SUM_BYTES = 96


@dataclass(frozen=True)
class Resampled:
    """Medians over launches and over resampled blocks; the same blocks in every call."""

    blocks: tuple[int, ...]

    @classmethod
    def of(cls, analysis: Analysis, environment: str) -> Self:
        """Of all blocks in which an environment has a value."""
        mine = (
            row.series for row in analysis.rows if analysis.case(row).environment == environment
        )
        return cls(tuple(sorted({int(block) for one in mine for block in one.blocks})))

    def medians(self, values: Sequence[ByBlock]) -> Matrix:
        """A column for each series: the median over its launches, then those of the resamples."""
        rows = np.array([[one.get(block, np.nan) for block in self.blocks] for one in values])
        return np.vstack([np.nanmedian(rows, axis=1), resampled_medians(rows, SEED)])


@dataclass(frozen=True, eq=False)
class Link:
    """α in s and β in s a byte of each protocol segment, shape (resamples, segments)."""

    last_bytes: Vector
    alpha_s: Matrix
    beta_s_per_byte: Matrix

    def time_s(self, transfer: outcome.Transfer) -> Vector:
        """The transfer in each resample, in the segment of its messages' length."""
        place = int(np.searchsorted(self.last_bytes[:-1], transfer.message_bytes))
        volume = transfer.sharing * transfer.sent_bytes
        return np.asarray(
            transfer.starts * self.alpha_s[:, place] + volume * self.beta_s_per_byte[:, place]
        )


def _link(times: dict[int, ByBlock], resampled: Resampled) -> Link | None:
    """The lines of half round trips by message length; None with too few lengths."""
    sizes = sorted(times)[:MOST_SIZES]
    if len(sizes) < LEAST_SIZES:
        return None
    medians = resampled.medians([times[size] for size in sizes])
    edges = [0, len(sizes)]
    if len(sizes) >= LEAST_POINTS:
        found = segmented(sizes, medians[0].tolist())
        edges = np.cumsum([0, *(line.points for line in found.segments)]).tolist()
    lines = [line_of(np.array(sizes[a:b]), medians[:, a:b]) for a, b in pairwise(edges)]
    alpha, beta = (np.column_stack(part) for part in zip(*lines, strict=True))
    return Link(np.array([float(sizes[high - 1]) for high in edges[1:]]), alpha, beta)


@dataclass(frozen=True, eq=False)
class Library:
    """A library on the run's nodes; `inside` and `between` are None where nothing was measured."""

    resampled: Resampled
    inside: Link | None = None
    between: Link | None = None

    def lacks(self, transfers: Sequence[outcome.Transfer]) -> str | None:
        """The placement whose messages are needed and were not measured."""
        for one in transfers:
            if self._link(one) is None:
                return "between-nodes" if one.between_nodes else "within-node"
        return None

    def messages_s(self, transfers: Sequence[outcome.Transfer]) -> Vector:
        """All transfers, one after the other, in each resample."""
        total = np.zeros(1)
        for one in transfers:
            link = self._link(one)
            assert link is not None
            total = total + link.time_s(one)
        return total

    def _link(self, transfer: outcome.Transfer) -> Link | None:
        return self.between if transfer.between_nodes else self.inside

    def sums_s(self, count: int, ranks: int, nodes: int) -> Vector:
        """So many global sums: ⌈log₂p⌉ messages each, as recursive doubling sends (R. Thakur,
        R. Rabenseifner and W. Gropp, Int. J. High Perform. Comput. Appl. 19, 2005)."""
        starts = count * math.ceil(math.log2(ranks))
        return self.messages_s(
            [outcome.Transfer(starts, starts * SUM_BYTES, nodes > 1)] if starts else []
        )

    def communication_s(self, problem: outcome.Problem) -> Vector:
        """Time by α and β of the problem's messages and sums, in each resample."""
        total = self.messages_s(problem.transfers)
        return total + self.sums_s(problem.sums, problem.ranks, problem.nodes)


def library_of(analysis: Analysis, environment: str) -> Library:
    """The library as the run measured it."""
    resampled = Resampled.of(analysis, environment)
    inside, between = (
        _link(echo_times(analysis, environment, placement=place), resampled)
        for place in ("within-node", "between-nodes")
    )
    return Library(resampled, inside, between)


#: What is left to do where α and β are missing.
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


class ApplicationLaw:
    """su3_rmd or HPL: computing and messages over node counts (scaling)."""

    def __init__(self, library: Library, used: Sequence[outcome.Measured]) -> None:
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
        self.first_s = time_s[:, 0] / problems[0].work

    def expected(self, problem: outcome.Problem) -> ExpectedTime | Gap:
        """The time by the law, its errors drawn; a gap where α and β were not measured."""
        if place := self.library.lacks(problem.transfers):
            return Gap(f"α and β {place} were not measured", ADD_ECHO.format(place=place))
        at = problem.nodes, problem.work, self.library.communication_s(problem)
        compute, messages = (float(part[0]) for part in self.law.parts_s(*at))
        drawn = np.add(*self.law.drawn_s(*at, np.random.default_rng(SEED)))
        return ExpectedTime(compute + messages, drawn, messages / (compute + messages))


#: Fewer node counts give no law; one of them must have messages between nodes.
LEAST_COUNTS = 2
#: A greatest count so many times off what the smaller ones predict is said.
BEND = 1.25
#: What adds what is missing.
_ADD_COUNTS = {
    "su3_rmd": "run the campaign su3-scaling, or add `ranks` to the check su3_rmd",
    "hpl": "add grids p × q of further node counts to the check hpl, of one N or one memory a rank",
}


def predict(
    analysis: Analysis,
    nodes: Sequence[int],
    left_out: Sequence[int] = (),
    *,
    environments: Collection[str] = (),
    checks: Sequence[str] = CHECKS,
) -> outcome.PredictionForm:
    """Predict every subject on these node counts; the counts `left_out` are not learnt from."""
    run = analysis.run
    found = outcome.PredictionForm(
        run_id=run.run_id,
        campaign=run.plan.campaign,
        site=run.plan.site,
        nodes=[*nodes],
        left_out=[*left_out],
        held_out=0,
        inside=0,
        subjects=[],
        missing=[],
    )
    present = [check for check in checks if analysis.rows_of(check)]
    for environment in (environments or analysis.looks) if present else ():
        library = library_of(analysis, environment)
        mine = _Environment(analysis, environment, library, found)
        for check in present:
            mine.add_application(check)
    planned = {case.check for case in analysis.run.plan.cases}
    failed = [check for check in checks if check in planned]
    if not present and failed:
        why = f"no launch of {', '.join(failed)} gave a time; assay status says why"
        missing = outcome.MissingPart(", ".join(failed), "", "anything", why, "run it again")
        found.missing.append(missing)
    elif not present:
        why, add = f"the run has none of {', '.join(checks)}", _ADD_COUNTS[checks[0]]
        found.missing.append(outcome.MissingPart(", ".join(checks), "", "anything", why, add))
    elif not found.subjects and not found.missing:
        why, add = "no launch on full nodes with a time", _ADD_COUNTS[present[0]]
        found.missing.append(outcome.MissingPart(", ".join(present), "", "any", why, add))
    points = (one.measured for item in found.subjects for one in item.points)
    held_out = [one for one in points if one and one.left_out]
    found.held_out, found.inside = len(held_out), sum(one.inside for one in held_out)
    return found


@dataclass(eq=False)
class _Environment:
    """Request for one environment; `found` takes what there is."""

    analysis: Analysis
    environment: str
    library: Library
    found: outcome.PredictionForm

    def add_application(self, check: str) -> None:
        """Predict all subjects of an application."""
        mine = subjects(self.analysis, self.environment, check)
        gaps = [(subject, self._gap(subject)) for subject in mine]
        known = [subject for subject, gap in gaps if gap is None]
        for subject in known:
            self._add_subject(subject)
        if mine and not known:
            # The subject with the most counts is nearest to what is needed.
            best, gap = max(gaps, key=lambda one: len(one[0].measured))
            assert gap is not None
            self._miss(check, best.title, gap)
        there = {nodes for subject in mine for nodes in subject.by_nodes}
        for count in sorted({*self.found.left_out} - there - {*self.found.nodes}) if known else ():
            why = "left out, but not measured on so many full nodes"
            gap = Gap(why, "measure it on that node count")
            self._miss(check, f"{check} on {count_text(count, 'node')}", gap)

    def _miss(self, check: str, what: str, gap: Gap) -> None:
        part = outcome.MissingPart(check, self.environment, what, gap.why, gap.add)
        self.found.missing.append(part)

    def _used(self, subject: outcome.Subject) -> list[outcome.Measured]:
        return [
            one
            for one in subject.measured
            if one.problem.nodes not in self.found.left_out and not one.shares_cores
        ]

    def _unlearnt(self, subject: outcome.Subject) -> list[str]:
        """Measured node counts that no law rests on, and why."""
        shared = {nodes: one.shares_cores for nodes, one in subject.by_nodes.items()}
        reasons = {
            "as ranks shared cores": [str(nodes) for nodes in shared if shared[nodes]],
            "as left out": [str(k) for k in shared if k in self.found.left_out and not shared[k]],
        }
        return [
            f"not learnt from, {why}: {', '.join(counts)} node{'s' * (counts != ['1'])}"
            for why, counts in reasons.items()
            if counts
        ]

    def _gap(self, subject: outcome.Subject) -> Gap | None:
        """Why there is no law of a subject and what to add; None where there is one."""
        used = self._used(subject)
        counts = [one.problem.nodes for one in used]
        if len(counts) < LEAST_COUNTS or max(counts) < 2:
            have = f"{count_text(counts[0], 'node')} alone" if counts else "no node count"
            why = f"{have} to learn from; {LEAST_COUNTS} counts are needed, one of them above 1"
            if unlearnt := self._unlearnt(subject):
                why += f" ({'; '.join(unlearnt)})"
            return Gap(why, _ADD_COUNTS[subject.check])
        for one in used:
            if place := self.library.lacks(one.problem.transfers):
                return Gap(f"α and β {place} were not measured", ADD_ECHO.format(place=place))
        return None

    def _bend(self, used: Sequence[outcome.Measured]) -> list[str]:
        """Where the greatest count is far from what the smaller ones lead to expect."""
        if len(used) <= LEAST_COUNTS:
            return []
        expected = ApplicationLaw(self.library, used[:-1]).expected(used[-1].problem)
        assert isinstance(expected, ExpectedTime)
        ratio = used[-1].median_s / expected.value
        return [
            f"{used[-1].problem.nodes} nodes take {significant(ratio)} times what the smaller"
            " counts lead to expect: what changes there, as a link that fills up, may change again;"
            " measure greater counts before you believe this"
        ] * (not 1 / BEND <= ratio <= BEND)

    def _add_subject(self, subject: outcome.Subject) -> None:
        """Predict a subject on the counts asked for and on those left out; what has none is
        noted."""
        used, seen = self._used(subject), subject.by_nodes
        law, found = ApplicationLaw(self.library, used), []
        for count in sorted({*self.found.nodes, *({*self.found.left_out} & seen.keys())}):
            one = self._point(subject, law, count)
            if isinstance(one, Gap):
                self._miss(subject.check, f"{subject.title} on {count_text(count, 'node')}", one)
            else:
                found.append(one)
        if not found:
            return
        part = outcome.SubjectPart.filled(
            subject,
            learnt_from=[one.problem.nodes for one in used],
            errors=law.errors,
            notes=[*self._unlearnt(subject), *self._bend(used)],
            points=found,
        )
        self.found.subjects.append(part)

    def _point(
        self, subject: outcome.Subject, law: ApplicationLaw, nodes: int
    ) -> outcome.PointPart | Gap:
        """Time and efficiency on so many nodes, or why there are none."""
        seen = subject.by_nodes.get(nodes)
        problem = seen.problem if seen else subject.at(nodes)
        if isinstance(problem, str):
            return Gap(problem, "ask for another node count")
        expected = law.expected(problem)
        if isinstance(expected, Gap):
            return expected
        time_s, measured = outcome.EstimatePart.of(expected.value, expected.drawn), None
        if seen:
            inside, is_left_out = time_s.holds(seen.median_s), nodes in self.found.left_out
            launches, flags = len(seen.time_s), list(seen.flags)
            measured = outcome.MeasuredPart(seen.median_s, launches, is_left_out, inside, flags)
        ideal_s = law.first_s * problem.work
        drawn, share = ideal_s / expected.drawn, expected.communication_share
        efficiency = outcome.EstimatePart.of(float(ideal_s[0]) / expected.value, drawn)
        at = nodes, problem.ranks, problem.text
        return outcome.PointPart(*at, time_s, efficiency, share, measured)
