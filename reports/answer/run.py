# SPDX-License-Identifier: Apache-2.0
"""A run's answer: nothing has run, everything failed, which environment is best, what was found."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from records.flags import INVALID_ON_PURPOSE
from records.run.record import Status
from records.text.reasons import grouped
from reports.analysis import Analysis
from reports.answer import commands
from reports.answer.choice import choice
from reports.answer.found import found
from reports.answer.phrases import listed, short_reason
from reports.answer.unknown import not_known
from reports.answers import Answer, State, fitting
from reports.notation.units import count_text

#: Statuses of launches that ended without a value.
_BAD: tuple[Status, ...] = ("failed", "wrong", "lost")
#: Answers that rest on launches that are missing are not final.
_FINAL = (State.DECIDED, State.OPEN, State.MEASURED)


def answer_of(analysis: Analysis) -> Answer:
    """What a run says, in one sentence."""
    good = analysis.counts["ok"]
    bad = sum(analysis.counts[status] for status in _BAD) - analysis.on_purpose
    if not good and not bad:
        return _nothing(analysis)
    if good < bad:
        return _failed(analysis, good, bad)
    answer = choice(analysis) or found(analysis)
    told = not_known(analysis)
    answer = replace(answer, unknown="; ".join(filter(None, (answer.unknown, *told[:1]))))
    return answer if analysis.complete else _so_far(analysis, answer, good + bad)


def _nothing(analysis: Analysis) -> Answer:
    """No launch has a record, or every case is skipped."""
    run = analysis.run
    skipped = grouped(("skipped", case.skipped) for case in run.plan.cases if case.skipped)
    if skipped and all(case.skipped for case in run.plan.cases):
        reason, count = skipped[0].reason, len(skipped[0].places)
        cases = count_text(len(run.plan.cases), "case")
        return Answer(
            State.FAILED,
            fitting(
                f"None of the {cases} can run on {run.plan.site}; {count} for this reason:"
                f" {short_reason(reason)}",
                f"None of the {cases} can run on {run.plan.site}.",
            ),
            f"Anything of {run.plan.campaign}: no launch was made.",
            commands.plan(run),
        )
    launches = sum(hole.block > 0 for hole in analysis.holes)
    planned = count_text(launches, "launch is", "launches are")
    return Answer(
        State.EMPTY,
        f"{planned} planned on {run.plan.site}; none has run.",
        "Everything: no launch has a record.",
        commands.resume(commands.name_of(run)),
    )


def _failed(analysis: Analysis, good: int, bad: int) -> Answer:
    """More launches went wrong than right: the commonest reason decides what is next."""
    run = analysis.run
    recorded = run.launches
    wrong = recorded.of_status(*_BAD) & ~recorded.flagged(INVALID_ON_PURPOSE)
    launches = [*recorded.where(recorded.counted & wrong)]
    group = grouped((item.status, item.reason) for item in launches)[0]
    reason, count = group.reason, len(group.places)
    many = f"All {bad}" if not good else f"{bad} of {good + bad}"
    every = " for one reason" if count == bad else f", {count} of them for this reason"
    text = (
        f"{many} launches failed{every}: {short_reason(reason)}",
        f"{many} launches failed, most for one reason: {short_reason(reason)}",
        f"{many} launches failed.",
    )
    hint = [f"{commands.TIME_LIMIT_HINT}."] if commands.time_is_up(reason) else []
    by_name = Counter(run.case(item).environment for item in launches)
    names = [f"{name} {number}" for name, number in by_name.most_common()]
    return Answer(
        State.FAILED,
        fitting(*text),
        "Which environment is best: too few launches have a value."
        if len(run.plan.environments) > 1
        else "How fast the machine is: too few launches have a value.",
        commands.mending(run, reason),
        (*hint, f"Failed by environment: {listed(names, 8)}."),
    )


def _so_far(analysis: Analysis, answer: Answer, done: int) -> Answer:
    """The answer of a run that is not finished."""
    left = len(analysis.holes)
    state = State.UNFINISHED if answer.state in _FINAL else answer.state
    sentence = fitting(
        f"So far, {done} of {done + left} launches: {answer.sentence}", answer.sentence
    )
    missing = f"{count_text(left, 'launch has', 'launches have')} not run yet"
    return replace(
        answer,
        state=state,
        sentence=sentence,
        unknown="; ".join(filter(None, (missing, answer.unknown))),
        command=commands.resume(commands.name_of(analysis.run)),
    )
