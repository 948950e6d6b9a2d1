# SPDX-License-Identifier: Apache-2.0
"""A run's answer: nothing has run, everything failed, which environment is best, what was found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from records.flags import DISTURBED, INVALID_ON_PURPOSE, UNPROVEN
from records.plugins import hooks
from records.text.reasons import grouped
from reports import commands
from reports.analysis.neighbours import neighbours_of
from reports.analysis.run import BAD, Analysis
from reports.answers import Answer, State, listed, short_reason
from reports.commands import NextCommand
from reports.load.loading import Run
from reports.notation.units import all_text, count_text, fixed, level_text, p_text, sentence_case
from reports.notation.values import about
from reports.result import Sentence
from reports.statistics.max_t import LEAST_BLOCKS, QUANTILE
from reports.statistics.spending import spent
from reports.verdicts.choice.leader import choice

#: Answers that rest on launches that are missing are not final.
_FINAL = (State.DECIDED, State.OPEN, State.MEASURED)
#: Checks of an acceptance: what they give is judged by criteria.
_BY_CRITERIA = ("node", "alltoall_pairs")
#: Words of a reason that a headline tells; costs that it lists.
_MOST_REASON, _MOST_COSTS = 10, 4


def answer_of(analysis: Analysis) -> Answer:
    """The headline of a run, of at most twenty words, with what it leaves open."""
    run, good = analysis.run, analysis.counts["ok"]
    bad = sum(analysis.counts[status] for status in BAD) - analysis.on_purpose
    if not good and not bad:
        return _nothing(run)
    if good < bad:
        return _failed(run, good, bad)
    answer = choice(run, analysis.comparisons) or _found(analysis)
    limits = [answer.unknown, *(limit.text for limit in not_known(analysis))][:2]
    details = (*filter(None, [extended_text(run)]), *answer.details)
    answer = replace(answer, unknown="; ".join(filter(None, limits)), details=details)
    if disturbed := analysis.flagged(DISTURBED):
        detail = f"Other programs disturbed {disturbed} of {count_text(good, 'launch')}."
        head = f"Disturbed: {answer.sentence}"
        answer = replace(answer, sentence=head, details=(detail, *answer.details))
    if analysis.complete:
        return replace(answer, command=_onward(run) or answer.command)
    missing = f"{count_text(len(analysis.holes), 'launch has', 'launches have')} not run yet"
    return replace(
        answer,
        state=State.UNFINISHED if answer.state in _FINAL else answer.state,
        sentence=f"So far: {answer.sentence}",
        unknown="; ".join(filter(None, (missing, answer.unknown))),
        command=_resume(run),
    )


def extended_text(run: Run) -> str:
    """Blocks that were added, and the part of the error of each judgement; "" if none were."""
    design = run.plan.sequential
    if design is None or not design.extensions:
        return ""
    text = f"This run was {', then '.join(added.told() for added in design.extensions)}"
    if len(run.plan.environments) == 1:
        return f"{text}."
    stages = design.stages
    ends = [begin for begin, _ in stages[1:]] + [run.plan.blocks]
    parts = [
        level_text(0.05 * (spent(last, stages) - spent(first, stages)) / QUANTILE)
        for (first, _), last in zip(stages, ends, strict=True)
    ]
    return (
        f"{text}, a further look: of the error of 5 %, {parts[0]} is for what was planned and"
        f" {listed(parts[1:])} for what was added; the report before had used 5 % by itself."
    )


def _resume(run: Run) -> NextCommand:
    return commands.resume(commands.name_of(run), run.provenance.asked.checks)


def _onward(run: Run) -> NextCommand:
    """The command after a complete run: what a plugin says, or the judgement of an acceptance."""
    for leads_to in hooks("next_command"):
        command: NextCommand | None = leads_to(run)
        if command is not None:
            return command
    if run.plan.criteria_of(virtual=bool(run.provenance.site.virtual)):
        return commands.accept(run, commands.name_of(run))
    return commands.NOTHING


def _nothing(run: Run) -> Answer:
    """No launch has a record, or every case is skipped."""
    cases, site = run.plan.cases, run.plan.site
    skipped = grouped(("skipped", case.skipped) for case in cases if case.skipped)
    if skipped and all(case.skipped for case in cases):
        reason, count = skipped[0].reason, len(skipped[0].places)
        head = f"None of the {count_text(len(cases), 'case')} can run on {site}"
        if len(cases) == 1:
            head = f"The only case cannot run on {site}"
        one_reason = count == len(cases)
        return Answer(
            State.FAILED,
            f"{head}: {short_reason(reason, _MOST_REASON)}",
            f"Anything of {run.plan.campaign}: no launch was made.",
            commands.plan(run),
            () if one_reason else (f"{count_text(count, 'case')} for this reason: {reason}",),
        )
    planned = [run.asked[case.environment, case.check] for case in cases if not case.skipped]
    launches = count_text(sum(planned), "launch is", "launches are")
    return Answer(
        State.EMPTY,
        f"{launches} planned on {site}; none has run.",
        "Everything: no launch has a record.",
        _resume(run),
    )


def _failed(run: Run, good: int, bad: int) -> Answer:
    """More launches went wrong than right: the commonest reason decides what is next."""
    recorded = run.launches
    wrong = recorded.of_status(*BAD) & ~recorded.flagged(INVALID_ON_PURPOSE)
    launches = [*recorded.where(recorded.counted & wrong)]
    group = grouped((item.status, item.reason) for item in launches)[0]
    reason, count = group.reason, len(group.places)
    head = f"{bad} of {good + bad} launches failed"
    if not good:
        head = f"{sentence_case(all_text(bad, 'launch'))} failed"
    head += " for one reason" * (bad > 1) if count == bad else f", {count} for this reason"
    hint = [f"{commands.TIME_LIMIT_HINT}."] if commands.time_is_up(reason) else []
    by_name = Counter(run.case(item).environment for item in launches).most_common()
    names = listed([f"{name} {number}" for name, number in by_name], 8)
    several = len(run.plan.environments) > 1
    what = "Which environment is best" if several else "How fast the machine is"
    return Answer(
        State.FAILED,
        f"{head}: {short_reason(reason, _MOST_REASON)}",
        f"{what}: too few launches have a value.",
        commands.remedy(run, reason),
        (*hint, f"Failed by environment: {names}."),
    )


def not_known(analysis: Analysis) -> Iterator[Sentence]:
    """Limits of what a run tells, whatever its answer is, the gravest first, each with the rows
    behind it."""
    run, found, good = analysis.run, analysis.comparisons, analysis.counts["ok"]
    for name, why in found.score.excluded if found.score else _all_failed(run):
        yield Sentence(f"how {name} compares: {why}", "#launches", "bad")
    if found.dependence and found.dependence.found:
        text = (
            "how sure it is: neighbouring blocks are more alike than chance allows (lag-1"
            f" correlation {found.dependence.correlation:.2f} on average,"
            f" {p_text(found.dependence.p)}); bounds are wider by {found.dependence.wider:.1f} for"
            " it, intervals of single comparisons too narrow; repeat the run at another time, with"
            " pauses between the blocks"
        )
        yield Sentence(text, "#comparison", "bad")
    beside = neighbours_of(analysis)
    if beside and beside.mattered:
        text = f"the speed alone: launches beside others were {beside.percent()}"
        yield Sentence(text, "#launches", "bad")
    if analysis.flagged(DISTURBED):
        text = "the speed of the machine alone: run it again on idle nodes"
        yield Sentence(text, "#launches", "bad")
    if unproven := analysis.flagged(UNPROVEN):
        text = f"where {unproven} of {good} launches ran, but by Slurm's statement"
        yield Sentence(text, "#launches", "open")
    if shared := analysis.oversubscribed:
        text = f"the speed of a real cluster: {shared} of {good} launches shared cores"
        yield Sentence(text, "#launches", "bad")
    elif run.provenance.site.virtual:
        yield Sentence("the speed of a real cluster: this one is virtual", "#provenance", "open")


def _all_failed(run: Run) -> Iterator[tuple[str, str]]:
    """Environments of which launches ran, but none ended well, and why they have no score."""
    good, ran = Counter[str](), Counter[str]()
    for (case, status, _), count in run.tally.items():
        name = run.plan.cases[case].environment
        good[name] += count if status == "ok" else 0
        ran[name] += count if status != "skipped" else 0
    for name in run.plan.environments if len(run.plan.environments) > 1 else ():
        if ran[name] and not good[name]:
            yield name, f"{all_text(ran[name], 'launch')} of it failed"


def _found(analysis: Analysis) -> Answer:
    """Measured where nothing is compared, of one environment or too few blocks: costs as they are,
    else the values of each check."""
    run, found = analysis.run, analysis.comparisons
    by_criteria = any(check in _BY_CRITERIA for check in analysis.checks)
    if len(found.estimates) > 1 and not by_criteria:
        return _estimated(run, found.reference, found.estimates)
    measured = {analysis.case(row).environment for row in analysis.rows}
    names = [name for name in run.plan.environments if name in measured]
    values = [text for check in analysis.checks if (text := _value(analysis, check))]
    right = f"{all_text(analysis.counts['ok'], 'launch')} right"
    if bad := sum(analysis.counts[word] for word in BAD):
        right = f"{analysis.counts['ok']} of {analysis.counts['ok'] + bad} launches right"
    who = f"{names[0]}: " if len(names) == 1 else ""
    further = f" and {len(values) - 1} more" if len(values) > 1 else ""
    what = f"{values[0]}{further}; " if values else ""
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
    state = State.OPEN if without else State.MEASURED
    details = (f"{listed(values, 12)}.",) if len(values) > 1 else ()
    return Answer(state, f"{who}{what}{right}.", unknown, command, details)


def _estimated(run: Run, reference: str, estimates: dict[str, float]) -> Answer:
    """Costs that nothing can be decided by, best first."""
    ordered = sorted(estimates, key=estimates.__getitem__)
    costs = listed([f"{name} {fixed(estimates[name], 2)}" for name in ordered], _MOST_COSTS)
    few = run.blocks < LEAST_BLOCKS
    head = f"{count_text(run.blocks, 'block')} cannot decide" if few else "Too many launches failed"
    return Answer(
        State.OPEN,
        f"{head}; cost, {reference} = 1: {costs}.",
        f"which is best: chance alone can give any order below {LEAST_BLOCKS} blocks in which all"
        " have a value",
        commands.more_blocks(run, LEAST_BLOCKS - run.blocks if few else LEAST_BLOCKS),
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
