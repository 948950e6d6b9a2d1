# SPDX-License-Identifier: Apache-2.0
"""A run's answer: nothing has run, everything failed, which environment is best, what was found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from records.flags import INVALID_ON_PURPOSE
from records.plugins import hooks
from records.text.reasons import grouped
from reports import commands
from reports.analysis.neighbours import neighbours_of
from reports.analysis.original_digits import beside_originals, differences
from reports.analysis.run import BAD, Analysis
from reports.answers import Answer, State, fitting, listed, short_reason
from reports.commands import NextCommand
from reports.load.loading import Run
from reports.notation.units import (
    all_text,
    count_text,
    fixed,
    level_text,
    sentence_case,
)
from reports.notation.values import about
from reports.statistics.max_t import LEAST_BLOCKS, QUANTILE
from reports.statistics.spending import spent
from reports.verdicts.choice.leader import choice

#: Answers that rest on launches that are missing are not final.
_FINAL = (State.DECIDED, State.OPEN, State.MEASURED)
#: Checks of an acceptance: what they give is judged by criteria.
_BY_CRITERIA = ("node", "alltoall_pairs")


def answer_of(analysis: Analysis) -> Answer:
    """What a run says, in one sentence."""
    good = analysis.counts["ok"]
    bad = sum(analysis.counts[status] for status in BAD) - analysis.on_purpose
    if not good and not bad:
        return _nothing(analysis)
    if good < bad:
        return _failed(analysis, good, bad)
    answer = choice(analysis) or _found(analysis)
    unknown = filter(None, (answer.unknown, next(not_known(analysis), "")))
    added = filter(None, [extended_text(analysis.run)])
    details = (*added, *answer.details)
    answer = replace(answer, unknown="; ".join(unknown), details=details)
    if disturbed := analysis.disturbed:
        of = f"{disturbed} of {good} launches"
        heads = (f"Other programs disturbed {of}", f"Disturbed: {of}")
        told = fitting(*(f"{head}: {answer.sentence}" for head in heads))
        answer = replace(answer, sentence=told)
    if not analysis.complete:
        return _so_far(analysis, answer, good + bad)
    return replace(answer, command=_onward(analysis.run) or answer.command)


def extended_text(run: Run) -> str:
    """When blocks were added, and which part of the error each judgement has; "" if none were."""
    design = run.plan.sequential
    if design is None or not design.extensions:
        return ""
    told = f"This run was {', then '.join(one.told() for one in design.extensions)}"
    if len(run.plan.environments) == 1:
        return f"{told}."
    stages = design.stages
    ends = [begin for begin, _ in stages[1:]] + [run.plan.blocks]
    parts = [
        level_text(0.05 * (spent(last, stages) - spent(first, stages)) / QUANTILE)
        for (first, _), last in zip(stages, ends, strict=True)
    ]
    return (
        f"{told}, a further look: of the error of 5 %, {parts[0]} is for what was planned and"
        f" {listed(parts[1:])} for what was added; the report before had used 5 % by itself."
    )


def _resume(run: Run) -> NextCommand:
    return commands.resume(commands.name_of(run), run.provenance.asked.checks)


def _onward(run: Run) -> NextCommand:
    """Where a complete run leads: to what a plugin says, an acceptance to its judgement."""
    for leads_to in hooks("next_command"):
        command: NextCommand | None = leads_to(run)
        if command is not None:
            return command
    if run.plan.criteria_of(virtual=bool(run.provenance.site.virtual)):
        return commands.accept(run, commands.name_of(run))
    return commands.NOTHING


def _nothing(analysis: Analysis) -> Answer:
    """No launch has a record, or every case is skipped."""
    run = analysis.run
    skipped = grouped(("skipped", case.skipped) for case in run.plan.cases if case.skipped)
    if skipped and all(case.skipped for case in run.plan.cases):
        reason, count = skipped[0].reason, len(skipped[0].places)
        head = f"None of the {count_text(len(run.plan.cases), 'case')} can run on {run.plan.site}"
        if len(run.plan.cases) == 1:
            head = f"The only case cannot run on {run.plan.site}"
        which = f"; {count} for this reason" if count < len(run.plan.cases) else ""
        return Answer(
            State.FAILED,
            fitting(f"{head}{which}: {short_reason(reason)}", f"{head}."),
            f"Anything of {run.plan.campaign}: no launch was made.",
            commands.plan(run),
        )
    launches = sum(hole.block > 0 for hole in analysis.holes)
    planned = count_text(launches, "launch is", "launches are")
    return Answer(
        State.EMPTY,
        f"{planned} planned on {run.plan.site}; none has run.",
        "Everything: no launch has a record.",
        _resume(run),
    )


def _failed(analysis: Analysis, good: int, bad: int) -> Answer:
    """More launches went wrong than right: the commonest reason decides what is next."""
    run = analysis.run
    recorded = run.launches
    wrong = recorded.of_status(*BAD) & ~recorded.flagged(INVALID_ON_PURPOSE)
    launches = [*recorded.where(recorded.counted & wrong)]
    group = grouped((item.status, item.reason) for item in launches)[0]
    reason, count = group.reason, len(group.places)
    head = f"{bad} of {good + bad} launches failed"
    if not good:
        head = f"{sentence_case(all_text(bad, 'launch'))} failed"
    every = " for one reason" * (bad > 1) if count == bad else f", {count} of them for this reason"
    hint = [f"{commands.TIME_LIMIT_HINT}."] if commands.time_is_up(reason) else []
    by_name = Counter(run.case(item).environment for item in launches).most_common()
    names = listed([f"{name} {number}" for name, number in by_name], 8)
    several = len(run.plan.environments) > 1
    what = "Which environment is best" if several else "How fast the machine is"
    return Answer(
        State.FAILED,
        fitting(
            f"{head}{every}: {short_reason(reason)}",
            f"{head}, most for one reason: {short_reason(reason)}",
            f"{head}.",
        ),
        f"{what}: too few launches have a value.",
        commands.remedy(run, reason),
        (*hint, f"Failed by environment: {names}."),
    )


def _so_far(analysis: Analysis, answer: Answer, done: int) -> Answer:
    """The answer of a run that is not finished."""
    left = len(analysis.holes)
    missing = f"{count_text(left, 'launch has', 'launches have')} not run yet"
    head = f"So far, {done} of {done + left} launches"
    return replace(
        answer,
        state=State.UNFINISHED if answer.state in _FINAL else answer.state,
        sentence=fitting(f"{head}: {answer.sentence}", answer.sentence),
        unknown="; ".join(filter(None, (missing, answer.unknown))),
        command=_resume(analysis.run),
    )


def not_known(analysis: Analysis) -> Iterator[str]:
    """What a run does not tell, whatever its answer is, and why; what weighs most first."""
    run, score = analysis.run, analysis.comparisons.score
    digits = [
        differences(ours.texts, original.texts)
        for ours, original in beside_originals(analysis)
        if original and ours.case.params.get("precision", "double") == "double"
    ]
    if other := sum(map(bool, digits)):
        yield (
            "whether our lattice program is right: its digits and the original's differ in"
            f" {other} of {count_text(len(digits), 'case')}"
        )
    yield from (f"how {name} compares: {why}" for name, why in (score.excluded if score else ()))
    if score is None and len(run.plan.environments) > 1:
        yield from _all_failed(analysis)
    if analysis.comparisons.dependence and analysis.comparisons.dependence.found:
        yield "how sure it is: neighbouring blocks are alike, so that they count for fewer"
    beside = neighbours_of(analysis)
    if beside and beside.mattered:
        yield f"the speed alone: launches beside others were {beside.percent()}"
    if analysis.disturbed:
        yield "the speed of the machine alone: run it again on idle nodes"
    if unproven := analysis.unproven:
        yield f"where {unproven} of {analysis.counts['ok']} launches ran, but by Slurm's statement"
    if shared := analysis.oversubscribed:
        good = analysis.counts["ok"]
        yield f"the speed of a real cluster: {shared} of {good} launches shared cores"
    elif run.provenance.site.virtual:
        yield "the speed of a real cluster: this one is virtual"


def _all_failed(analysis: Analysis) -> Iterator[str]:
    """Environments of which launches ran, but none ended well."""
    good, ran = Counter[str](), Counter[str]()
    for (case, status, _), count in analysis.run.tally.items():
        name = analysis.run.plan.cases[case].environment
        good[name] += count if status == "ok" else 0
        ran[name] += count if status != "skipped" else 0
    for name in analysis.run.plan.environments:
        if ran[name] and not good[name]:
            launches = all_text(ran[name], "launch")
            yield f"how {name} compares: {launches} of it failed"


def _found(analysis: Analysis) -> Answer:
    """What was measured where nothing is compared, of one environment or too few blocks: costs as
    they are, else the values of each check."""
    run, estimates = analysis.run, analysis.comparisons.estimates
    by_criteria = any(check in _BY_CRITERIA for check in analysis.checks)
    if len(estimates) > 1 and not by_criteria:
        return _estimated(analysis, estimates)
    measured = {analysis.case(row).environment for row in analysis.rows}
    names = [name for name in run.plan.environments if name in measured]
    values = [text for check in analysis.checks if (text := _value(analysis, check))]
    who = f"{names[0]}: " if len(names) == 1 else ""
    right = f"{all_text(analysis.counts['ok'], 'launch')} right"
    if bad := sum(analysis.counts[word] for word in BAD):
        right = f"{analysis.counts['ok']} of {analysis.counts['ok'] + bad} launches right"
    sentence = fitting(
        *(f"{who}{listed(values, most)}; {right}." for most in (6, 4, 3, 2) if values),
        f"{who}{right}.",
    )
    without = [name for name in run.plan.environments if name not in names]
    unknown, command = "", commands.NOTHING
    if without:
        unknown = f"anything of {listed(without)}: no launch of it has a value"
    elif run.blocks < LEAST_BLOCKS:
        unknown = f"how far launches scatter, from {count_text(run.blocks, 'block')}"
        command = commands.more_blocks(run, LEAST_BLOCKS - run.blocks)
    elif len(names) == 1:
        unknown = "how other libraries would do: one environment was measured"
    if run.plan.criteria_of(virtual=bool(run.provenance.site.virtual)):
        unknown = "whether the machine is accepted: criteria judge that"
    return Answer(State.OPEN if without else State.MEASURED, sentence, unknown, command)


def _estimated(analysis: Analysis, estimates: dict[str, float]) -> Answer:
    """Costs that nothing can be decided by, best first."""
    ordered = sorted(estimates, key=estimates.__getitem__)
    costs = [f"{name} {fixed(estimates[name], 2)}" for name in ordered]
    blocks, few = analysis.run.blocks, analysis.run.blocks < LEAST_BLOCKS
    head = f"{count_text(blocks, 'block')} cannot decide" if few else "Too many launches failed"
    head += f"; cost so far, {analysis.comparisons.reference} = 1:"
    return Answer(
        State.OPEN,
        fitting(f"{head} {listed(costs, 6)}.", f"{head} {listed(costs, 3)}."),
        f"which is best: chance alone can give any order below {LEAST_BLOCKS} blocks in which all"
        " have a value",
        commands.more_blocks(analysis.run, LEAST_BLOCKS - blocks if few else LEAST_BLOCKS),
    )


def _value(analysis: Analysis, check: str) -> str:
    """A check's deciding metric: its value, or from the least to the greatest."""
    metrics = analysis.metrics_of(check)
    deciding = [name for name in metrics if analysis.register.decides(check, name)] or metrics
    rows = analysis.rows_of(check, *deciding[:1])
    if not rows:
        return ""
    medians = [row.summary.median for row in rows]
    low, high = (about(end, rows[0].unit) for end in (min(medians), max(medians)))
    title = analysis.register.check_title(check)
    if low == high:
        return f"{title} {high}"
    number, _, unit = low.partition(" ")
    return f"{title} {number if unit == high.partition(' ')[2] else low} … {high}"
