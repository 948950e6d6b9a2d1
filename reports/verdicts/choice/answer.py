# SPDX-License-Identifier: Apache-2.0
"""Answer of a run: nothing has run, most failed, the best environment, or values; with remarks and
facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from records.flags import DISTURBED, INVALID_ON_PURPOSE, UNPROVEN
from records.plugins import hooks
from records.text.plain_text import grouped
from reports import commands
from reports.analysis.run import BAD, Analysis
from reports.answers import Answer, State, clipped, listed
from reports.commands import NextCommand
from reports.load.loading import Run
from reports.notation.units import (
    about,
    all_text,
    count_text,
    moment_text,
    p_text,
    sentence_case,
)
from reports.result import Facts, Sentence, carried
from reports.statistics.max_t import LEAST_BLOCKS
from reports.verdicts.choice.leader import choice

#: Answers that rest on launches that are missing are not final.
_FINAL = (State.DECIDED, State.OPEN, State.MEASURED)
#: Checks of an acceptance: what they give is judged by criteria.
_BY_CRITERIA = ("node", "alltoall_pairs")
#: Words of a reason that a headline tells; open questions that a remark names.
_MOST_REASON, _MOST_OPEN = 10, 3


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
    details = answer.details
    if run.plan.sequential and (added := run.plan.sequential.extensions):
        details = (f"This run was {', then '.join(item.told() for item in added)}.", *details)
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
    if cases and all(case.skipped for case in cases):
        skipped = grouped(("skipped", case.skipped) for case in cases)
        count = count_text(len(cases), "case")
        return Answer(
            State.FAILED,
            f"None of {count} can run on {site}: {clipped(skipped[0].reason, _MOST_REASON)}",
            f"Anything of {run.plan.campaign}: no launch was made.",
            commands.plan(run),
            tuple(f"{len(group.places)} of {count}: {group.reason}" for group in skipped),
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
    return Answer(
        State.FAILED,
        f"{head}: {clipped(reason, _MOST_REASON)}",
        "Too few launches have a value.",
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
            " it; repeat the run at another time, with pauses between the blocks"
        )
        yield Sentence(text, "#comparison", "bad")
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
    """Values of each check where nothing is compared: of one environment, or of too few blocks."""
    run, good = analysis.run, analysis.counts["ok"]
    by_criteria = any(check in _BY_CRITERIA for check in analysis.checks)
    compared = analysis.comparisons.scored and not by_criteria
    measured = {analysis.case(row).environment for row in analysis.rows}
    names = [name for name in run.plan.environments if name in measured]
    without = [name for name in run.plan.environments if name not in names]
    values = [text for check in analysis.checks if (text := _value(analysis, check))]
    bad = sum(analysis.counts[word] for word in BAD)
    right = f"{good} of {good + bad} launches" if bad else all_text(good, "launch")
    unknown, command = "", commands.NOTHING
    if run.plan.criteria_of(virtual=bool(run.provenance.site.virtual)):
        unknown = "whether the machine is accepted: criteria judge that"
    elif without:
        unknown = f"anything of {listed(without)}: no launch of it has a value"
    elif run.blocks < LEAST_BLOCKS:
        unknown = f"how far launches scatter, from {count_text(run.blocks, 'block')}"
        command = commands.more_blocks(run, LEAST_BLOCKS - run.blocks)
    elif len(names) == 1:
        unknown = "how other libraries would do: one environment was measured"
    elif compared:
        unknown = "which is best: too many launches failed for a comparison by blocks"
        command = commands.more_blocks(run, LEAST_BLOCKS)
    who = f"{names[0]}: " if len(names) == 1 else ""
    further = f" and {len(values) - 1} more" if len(values) > 1 else ""
    what = f"{values[0]}{further}; " if values else ""
    return Answer(
        State.OPEN if without or compared else State.MEASURED,
        f"{who}{what}{right} right.",
        unknown,
        command,
        (f"{listed(values, 12)}.",) if len(values) > 1 else (),
    )


def _value(analysis: Analysis, check: str) -> str:
    """A check's deciding metric: its value, or from the least to the greatest."""
    if not (metric := analysis.deciding_metric(check)):
        return ""
    rows = analysis.rows_of(check, metric)
    medians = [row.summary.median for row in rows]
    ends = dict.fromkeys(about(end, rows[0].unit) for end in (min(medians), max(medians)))
    return f"{analysis.register.check_title(check)} {' … '.join(ends)}"


def remarks(analysis: Analysis, unknown: str) -> Iterator[Sentence]:
    """Remarks: the run is not finished, the state of a sequential design, what is not known besides
    what the answer says is `unknown`."""
    if not analysis.complete:
        done = count_text(len(analysis.run.launches) - analysis.replaced, "launch")
        text = (
            f"This run is not finished: {done} recorded, {len(analysis.holes)} still without a"
            " record. All numbers below are preliminary."
        )
        yield Sentence(text, "#launches", "bad")
    yield from _sequential(analysis.run)
    for limit in not_known(analysis):
        if limit.text not in unknown:
            yield Sentence(f"Not known either: {limit.text}.", limit.href, limit.tone)


def _sequential(run: Run) -> Iterator[Sentence]:
    """State of a sequential design."""
    if run.plan.sequential is None or len(run.plan.environments) == 1:
        return
    if not run.interims:
        text = f"Not judged yet: blocks are added, {run.plan.blocks} at most, until it is known."
        yield Sentence(text, "#launches", "open")
        return
    last = run.interims[-1]
    text = f"Blocks are added until it is known: {'; '.join(last.told(run.plan))}."
    if last.open:
        text += f" Open: {listed(last.open, _MOST_OPEN)}."
    yield Sentence(text, "#comparison", "open" if last.open else "plain")


def facts(analysis: Analysis) -> Facts:
    """Facts: where and when it ran, what was planned, what of the campaign, ends of launches."""
    run, site = analysis.run, analysis.run.provenance.site
    kind = {True: " (a virtual cluster on one machine)", False: " (a real machine)", None: ""}
    nodes = f", {count_text(len(run.nodes), 'node')}" if run.nodes else ""
    network = f", network {site.network.name}" if site.network.name else ""
    planned = f"{count_text(len(run.plan.cases), 'case')}, {count_text(run.blocks, 'block')}"
    pairs = [
        ("run", run.run_id),
        ("started, UTC", moment_text(run.provenance.started_at, "not recorded")),
        ("site", f"{run.plan.site}{kind[site.virtual]}{nodes}{network}"),
        ("planned", f"{planned}, environments {', '.join(run.plan.environments)}"),
        ("part of the campaign", "; ".join(run.plan.told())),
        ("launches", analysis.launches_text),
    ]
    pairs += carried(run.provenance.devices)
    return Facts([pair for pair in pairs if pair[1]], codes=frozenset({"run"}))
