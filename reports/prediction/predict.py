# SPDX-License-Identifier: Apache-2.0
"""Predictions of a run on node counts that it did not measure, and what it lacks for them.

Intervals hold together what is not known: blocks of the run's launches are drawn with replacement,
the same blocks for α, β and every time; the law is fitted anew to each draw, and its exponents and
the errors of a node count are drawn from what the measured counts leave open (models.scaling).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from reports.analysis import Analysis
from reports.checks.collectives.measured import CHECK as COLLECTIVES
from reports.models.scaling import Counts, Law, fit_law, unseen_serial
from reports.notation.units import count_text, three_digits
from reports.prediction.machine import Machine, machine_of
from reports.prediction.operations import ADD_OPERATIONS, predicted_operations
from reports.prediction.outcome import (
    Missing,
    Outcome,
    Predicted,
    Prediction,
    doubled,
    estimate_of,
    not_measured,
    seen_of,
)
from reports.prediction.resampled import SEED
from reports.prediction.subjects import (
    APPLICATIONS,
    Measured,
    Problem,
    Subject,
    not_learnt_from,
    subjects,
)
from reports.statistics.descriptive import Vector

#: What can be predicted.
CHECKS = (*APPLICATIONS, COLLECTIVES)
#: Fewer node counts give no law; one of them must have messages between nodes.
LEAST_COUNTS = 2
#: A greatest count so many times off what the smaller ones predict is said.
BEND = 1.25
#: What adds what is missing.
_ADD_COUNTS = {
    "su3_rmd": "run the campaign su3-scaling, or add `ranks` to the check su3_rmd",
    "hpl": "add grids p × q of further node counts to the check hpl, of one N or one memory a rank",
    COLLECTIVES: ADD_OPERATIONS,
}
_ADD_ECHO = "add the check pt2pt or echo with placement {place} and at least four sizes"


def predict(
    analysis: Analysis,
    nodes: Collection[int],
    left_out: Collection[int] = (),
    *,
    environments: Collection[str] = (),
    checks: Sequence[str] = CHECKS,
) -> Outcome:
    """Predict every subject on these node counts; the counts `left_out` are not learnt from."""
    predicted: list[Predicted] = []
    missing: list[Missing] = []
    present = [check for check in checks if analysis.rows_of(check)]
    for environment in environments or analysis.looks:
        found, gaps = _applications(analysis, environment, present, nodes, left_out)
        predicted += found
        missing += gaps
        if COLLECTIVES in present:
            found, gaps = predicted_operations(analysis, environment, nodes, left_out)
            predicted += found
            missing += gaps
    planned = {case.check for case in analysis.run.plan.cases}
    if not present and (failed := [check for check in checks if check in planned]):
        why = f"no launch of {', '.join(failed)} gave a time; assay status says why"
        missing.append(Missing(", ".join(failed), "", "anything", why, "run it again"))
    elif not present:
        why = f"the run has none of {', '.join(checks)}"
        missing.append(Missing(", ".join(checks), "", "anything", why, _ADD_COUNTS[checks[0]]))
    elif not predicted and not missing:
        why = "no launch on full nodes with a time"
        missing.append(Missing(", ".join(present), "", "any", why, _ADD_COUNTS[present[0]]))
    return Outcome(tuple(predicted), tuple(missing))


def _applications(
    analysis: Analysis,
    environment: str,
    checks: Collection[str],
    nodes: Collection[int],
    left_out: Collection[int],
) -> tuple[list[Predicted], list[Missing]]:
    """Those of an environment."""
    predicted: list[Predicted] = []
    missing: list[Missing] = []
    machine = None
    for check in APPLICATIONS:
        mine = subjects(analysis, environment, check) if check in checks else []
        if not mine:
            continue
        machine = machine or machine_of(analysis, environment, left_out)
        known = [one for one in mine if _why_not(one, machine, left_out) is None]
        for subject in known:
            found, gaps = _predicted(subject, machine, nodes, left_out)
            missing += gaps
            if found.predictions:
                predicted.append(found)
        if not known:
            # The subject with the most counts is nearest to what is needed.
            best = max(mine, key=lambda one: len(one.measured))
            why, add = _why_not(best, machine, left_out) or ("", "")
            missing.append(Missing(check, environment, best.title, why, add))
        there = {at.problem.nodes for subject in mine for at in subject.measured}
        for count in sorted(set(left_out) - there - set(nodes)) if known else ():
            missing.append(not_measured(check, environment, f"{check} on {count} nodes"))
    return predicted, missing


def _used(subject: Subject, left_out: Collection[int]) -> list[Measured]:
    return [
        one
        for one in subject.measured
        if one.problem.nodes not in left_out and not one.shares_cores
    ]


def _not_learnt_from(subject: Subject, left_out: Collection[int]) -> list[str]:
    return not_learnt_from({m.problem.nodes: m.shares_cores for m in subject.measured}, left_out)


def _why_not(
    subject: Subject, machine: Machine, left_out: Collection[int]
) -> tuple[str, str] | None:
    """Why there is no law of a subject and what to add; None where there is one."""
    used = _used(subject, left_out)
    counts = [one.problem.nodes for one in used]
    if len(counts) < LEAST_COUNTS or max(counts) < 2:
        told = f"{count_text(counts[0], 'node')} alone" if counts else "no node count"
        why = f"{told} to learn from; {LEAST_COUNTS} counts are needed, one of them above 1"
        if unlearnt := _not_learnt_from(subject, left_out):
            why += f" ({'; '.join(unlearnt)})"
        return why, _ADD_COUNTS[subject.check]
    for one in used:
        if place := machine.lacks(one.problem.transfers):
            return f"α and β {place} were not measured", _ADD_ECHO.format(place=place)
    return None


def _predicted(
    subject: Subject, machine: Machine, nodes: Collection[int], left_out: Collection[int]
) -> tuple[Predicted, list[Missing]]:
    used = _used(subject, left_out)
    model = _Model(subject, machine, used)
    seen = {one.problem.nodes: one for one in subject.measured}
    found, gaps = [], []
    for count in sorted({*nodes, *(set(left_out) & seen.keys())}):
        problem = seen[count].problem if count in seen else subject.at(count)
        place = None if isinstance(problem, str) else machine.lacks(problem.transfers)
        if isinstance(problem, str) or place:
            why = problem if isinstance(problem, str) else f"α and β {place} were not measured"
            add = _ADD_ECHO.format(place=place) if place else "ask for another node count"
            what = f"{subject.title} on {count} nodes"
            gaps.append(Missing(subject.check, subject.environment, what, why, add))
            continue
        assert not isinstance(problem, str)
        found.append(model.prediction(problem, seen.get(count), left_out))
    counts = tuple(one.problem.nodes for one in used)
    problems = [*(one.problem for one in used), *(one.problem for one in found)]
    notes = [*_not_learnt_from(subject, left_out), *_sums_taken(problems, machine)]
    notes += [*model.serial_note(found), *_bends(subject, machine, used)]
    curve = tuple(model.curve(max([*nodes, *seen], default=1)) if found else ())
    return Predicted(subject, counts, tuple(found), curve, model.law.scales, tuple(notes)), gaps


def _bends(subject: Subject, machine: Machine, used: Sequence[Measured]) -> Iterator[str]:
    """Where the greatest count is far from what the smaller ones lead to expect."""
    if len(used) <= LEAST_COUNTS:
        return
    last = _Model(subject, machine, used[:-1]).prediction(used[-1].problem, used[-1], ())
    assert last.seen is not None
    ratio = last.seen.value / last.time_s.value
    if not 1 / BEND <= ratio <= BEND:
        yield (
            f"{last.problem.nodes} nodes take {three_digits(ratio)} times what the smaller counts"
            " lead to expect: what changes there, as a link that fills up, may change again;"
            " measure greater counts before you believe this"
        )


def _sums_taken(problems: Sequence[Problem], machine: Machine) -> Iterator[str]:
    """On which node counts global sums have no law of their own."""
    without = sorted(
        {
            one.nodes
            for one in problems
            if one.sums and one.ranks > 1 and machine.law_of_sums(one.ranks, one.nodes) is None
        }
    )
    if without:
        yield (
            f"global sums as ⌈log₂p⌉ messages on {', '.join(map(str, without))}"
            f" node{'s' * (without != [1])}: no law of allreduce, with so many ranks a node, there"
        )


class _Model:
    """A subject's law with all it is compared with."""

    def __init__(self, subject: Subject, machine: Machine, used: Sequence[Measured]) -> None:
        self.subject, self.machine = subject, machine
        medians = machine.resampled.medians
        self.time_s = medians([one.time_s for one in used])
        told = [one.communication_s for one in used]
        parts = medians([one or {} for one in told]) if all(told) else None
        self.first = used[0].problem
        counts = Counts(
            np.array([float(one.problem.nodes) for one in used]),
            np.array([one.problem.work for one in used]),
            np.column_stack([self._messages_s(one.problem) for one in used]),
            self.time_s,
            parts,
        )
        self.law: Law = fit_law(counts)
        ranks = np.array([float(one.problem.ranks) for one in used])
        self.serial = unseen_serial(counts, ranks, self.law)

    def _messages_s(self, problem: Problem) -> Vector:
        """What α and β say of the problem's messages, in each resample."""
        total = self.machine.messages_s(problem.transfers)
        total = total + self.machine.sums_s(problem.sums, problem.ranks, problem.nodes)
        return np.broadcast_to(total, (len(self.time_s),)).copy()

    def prediction(
        self, problem: Problem, seen: Measured | None, left_out: Collection[int]
    ) -> Prediction:
        """Time and efficiency of a problem, beside what was measured of it."""
        messages_s = self._messages_s(problem)
        compute, messages = self.law.parts_s(problem.nodes, problem.work, messages_s)
        drawn = sum(
            self.law.drawn_s(problem.nodes, problem.work, messages_s, np.random.default_rng(SEED))
        )
        time_s = float(compute[0] + messages[0])
        first = self.time_s[:, 0] / self.first.work
        efficiency = first * problem.work
        return Prediction(
            problem,
            estimate_of(time_s, np.asarray(drawn)),
            estimate_of(float(efficiency[0]) / time_s, efficiency / drawn),
            float(messages[0]) / time_s,
            None if seen is None else seen_of(seen, left_out),
        )

    def serial_note(self, predictions: Sequence[Prediction]) -> Iterator[str]:
        """What serial work that the launches cannot show would do beyond an interval."""
        for one in sorted(predictions, key=lambda item: -item.problem.nodes):
            problem = one.problem
            messages_s = self._messages_s(problem)
            factor = self.serial.factor(
                self.law, problem.nodes, problem.ranks, problem.work, messages_s
            )
            if factor * one.time_s.value > one.time_s.high:
                most, times = three_digits(100 * self.serial.share), three_digits(factor)
                yield (
                    f"work that one rank does alone, up to {most} % of all work, cannot be ruled"
                    f" out by these launches; so much would make the time on {problem.nodes} nodes"
                    f" {times} times what is predicted, beyond the interval: measure greater counts"
                )
                return

    def curve(self, greatest: int) -> Iterator[Prediction]:
        """Predictions on 1, 2, 4, … nodes to the greatest, as far as the problem fits them."""
        seen = {one.problem.nodes: one.problem for one in self.subject.measured}
        for count in doubled(greatest):
            problem = seen.get(count) or self.subject.at(count)
            if not isinstance(problem, str) and self.machine.lacks(problem.transfers) is None:
                yield self.prediction(problem, None, ())
