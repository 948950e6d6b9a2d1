# SPDX-License-Identifier: Apache-2.0
"""Answer of a run: nothing has run, most failed, the best environment, or which are not told apart
and what would, or values; with remarks and facts."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from math import log
from typing import Annotated

import msgspec

from records.flags import DISTURBED, UNPROVEN
from records.forms import Part, key
from records.plugins import hooks
from records.run.interims import in_turn
from records.run.plan import Plan
from records.text.plain_text import grouped
from reports import commands
from reports.analysis.cells import LEAST_DIFFERENCE, Comparison
from reports.analysis.compare import Comparisons
from reports.analysis.run import BAD, Analysis, bad_launches
from reports.analysis.score import Ends, OverallScore, Pair, Standing
from reports.answers import Answer, State, clipped, listed
from reports.load.loading import Run
from reports.notation import units
from reports.result import Facts, Sentence, carried
from reports.show.rows import name_cell
from reports.show.tables import Cell, Table, table_of
from reports.statistics.max_t import LEAST_BLOCKS, Stages, detectable, spent

#: Numbers of blocks that a next run may have.
_LADDER = (6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 150, 200)
_MARGIN = log(LEAST_DIFFERENCE)
#: A ratio that scatters less from block to block is one value and its rounding.
_NO_SCATTER = 1e-12
#: Environments that a headline names.
_MOST_NAMES = 3


def choice(run: Run, found: Comparisons) -> Answer | None:
    """The answer of a run with an overall score; None without one. What each environment costs, and
    who is out, are rows of the table of places."""
    score = found.score
    if score is None:
        return None
    leaders = [item for item in score.standings if item.best == 1]
    several = len(leaders) > 1
    return _several_lead(run, found, score, leaders) if several else _one_leads(score)


def _several_lead(
    run: Run, found: Comparisons, score: OverallScore, leaders: Sequence[Standing]
) -> Answer:
    """Environments that share the first place: equivalent, held back by failures, or open."""
    names = listed([item.environment for item in leaders], _MOST_NAMES)
    pairs = [score.pair(b.environment, a.environment) for a, b in combinations(leaders, 2)]
    alike = all(map(_alike, pairs))
    if held := next(filter(None, (_held(pair, leaders) for pair in pairs)), None):
        name, cost = held.environment, "equivalent" if alike else "not ranked by cost"
        failed = run.launches.where(run.launches.of_status("failed"))
        mine = [item for item in failed if run.case(item).environment == name]
        commonest = grouped((item.status, item.reason) for item in mine)[0].reason
        return Answer(
            State.OPEN,
            f"{names} are {cost}: {name} failed in {held.failed} of {held.launched} launches.",
            f"which is best: failures decide, and more blocks fail the same way; {name} is not"
            " preferred before its launches end well",
            commands.remedy(run, commonest),
        )
    if alike:
        sentence = f"{names} are equivalent within 3 %; any of them will do."
        return Answer(State.DECIDED, sentence)
    first, *others = leaders
    factor = max(score.pair(item.environment, first.environment).effect.ratio for item in others)
    times = units.fixed(factor, 2)
    apart = f"up to {times} times {first.environment}'s" if times != "1.00" else "alike within 1 %"
    questions = max([cell.family for cell in found.overall], default=1)
    unknown, needed = _what_would_tell(run.plan, questions, score.n, pairs)
    return Answer(
        State.OPEN,
        f"{names} cannot yet be told apart: costs are {apart}.",
        unknown,
        commands.more_blocks(run, max(1, needed - run.blocks)) if needed else commands.NOTHING,
    )


def _alike(pair: Pair) -> bool:
    return pair.judgement is not None and pair.judgement.word == "equivalent"


def _held(pair: Pair, leaders: Sequence[Standing]) -> Standing | None:
    """Environment of a pair that would be preferred, or be as good, but fails too often for that:
    no further block changes it."""
    standings = {item.environment: item for item in leaders}
    better, other = (standings[name] for name in pair.by_estimate)
    for item, beside in ((better, other), (other, better)):
        preferred = item is better or _alike(pair)
        if preferred and item.failures.unreliable_beside(beside.failures):
            return item
    return None


def _one_leads(score: OverallScore) -> Answer:
    """An environment that has the first place alone."""
    best, second, *_ = score.standings
    lead = score.pair(second.environment, best.environment)
    judged, name = lead.judgement, best.environment
    shared = [item.environment for item in score.standings[1:] if item.best != item.worst]
    unknown = f"the order of {listed(shared)} behind it, at n = {score.n} blocks" if shared else ""
    costs = f"{second.environment} costs {units.more_text(lead.effect.ratio)}"
    if second.unreliable and (not lead.separated or lead.effect.ratio < 1):
        text = f"{second.environment} failed in {second.failed} of {second.launched} launches"
        return Answer(State.DECIDED, f"{name} is the best choice: {text}.", unknown)
    if judged is not None and judged.word == "faster":
        least = units.signed_percent(judged.low)
        text = f"{name} is the best choice: {costs} (at least {least})."
        return Answer(State.DECIDED, text, unknown)
    unknown = f"whether its lead is more than 3 %, at n = {score.n} blocks"
    return Answer(State.DECIDED, f"{name} is ahead, maybe by less than 3 %: {costs}.", unknown)


def _what_would_tell(
    plan: Plan, questions: int, n: int, pairs: Sequence[Pair]
) -> tuple[str, int | None]:
    """Why it is not known which of several is best, and how many blocks would tell."""
    needed = blocks_needed(questions, n, pairs, in_turn(plan).stages)
    if n < LEAST_BLOCKS:
        why = f"which is best: {n} blocks decide nothing, {LEAST_BLOCKS} are needed at least"
    elif min(pair.effect.log_stddev for pair in pairs) < _NO_SCATTER:
        needed = None
        why = (
            "which is best: the ratio of two costs is the same in every block, and more blocks of"
            " such values tell nothing; time longer batches"
        )
    elif needed:
        why = f"which is best, at n = {n} blocks; about {needed} would tell"
    else:
        scatter = max(pair.effect.log_stddev for pair in pairs)
        why = (
            f"which is best: {_LADDER[-1]} blocks would not tell, as their ratio scatters by"
            f" {units.percent(scatter, 0)} from block to block"
        )
    return why, needed


def blocks_needed(
    questions: int, blocks_now: int, pairs: Sequence[Pair], stages: Stages
) -> int | None:
    """Blocks to which the run is to be extended until each of the pairs is about to be told apart,
    or its bounds no wider than the zone of equivalence; None: more than a run may have.

    By the scatter of each pair's ratio from block to block, at the critical p of the smallest of
    all questions (Bonferroni) of what an extension has of the error: somewhat more than max-T
    needs.
    """
    unsettled = [pair for pair in pairs if not pair.separated]
    for blocks in _LADDER:
        if blocks <= blocks_now:
            continue
        further = [*stages, (blocks_now, blocks)]
        error = spent(blocks, further) - spent(blocks_now, further)
        shift = detectable(blocks, error / questions)
        if all(
            # How far ln of the bounds may be apart from its centre for a word that counts.
            pair.effect.log_stddev * shift
            <= max(abs(abs(log(pair.effect.ratio)) - _MARGIN), _MARGIN)
            for pair in unsettled
        ):
            return blocks
    return None


def ratios_text(ends: Ends) -> str:
    """Bounds of a ratio in words."""
    return units.ratios_between(*ends)


def _verdict(word: str) -> Cell:
    return Cell(word, tone="good" if word in ("faster", "slower") else "open")


class Leader(Part):
    """The best environment of a check, and its advantage over the next one."""

    scope: Annotated[str, key("The check, and the placement where there are several.", "best in")]
    metric: Annotated[str, key("The deciding metric.")]
    best: Annotated[str, key("The environment with the best estimate.", "environment", name_cell)]
    runner_up: Annotated[str, key("The next one.", "ahead of", name_cell)]
    n: Annotated[int, key("Common blocks.")]
    advantage: Annotated[
        float,
        key(
            "Best over runner-up in the good direction; 1.05: 5 %.",
            *("by", units.signed_percent),
            numeric=True,
        ),
    ]
    bounds: Annotated[
        Ends | None,
        key(
            "Joint bounds over all questions; null below six blocks.",
            *("bounds that decide", ratios_text),
            numeric=True,
        ),
    ]
    verdict: Annotated[
        str, key("faster, equivalent, not slower, not resolved, …", "verdict", _verdict)
    ]
    check: Annotated[str, key("The check.")]
    interval: Annotated[
        Ends,
        key("Interval of the advantage, by itself.", "this pair alone", ratios_text, numeric=True),
    ]
    level: Annotated[float, key("Level of the interval.")]
    unranked: Annotated[tuple[str, ...], key("Environments left out for wrong answers.")]
    failing: Annotated[tuple[str, ...], key("Environments that cannot lead: they fail more often.")]


def leaders(comparisons: Comparisons) -> list[Leader]:
    """For each scope the best environment by its estimate; environments with wrong records out."""
    scopes: dict[tuple[str, str], list[Comparison]] = {}
    for cell in comparisons.overall:
        scopes.setdefault((cell.scope, cell.metric), []).append(cell)
    ranked = (_leader(cells, comparisons.unranked) for cells in scopes.values())
    return [leader for leader in ranked if leader is not None]


def _leader(cells: Sequence[Comparison], wrong: frozenset[tuple[str, str]]) -> Leader | None:
    """The environment that most often has the better estimate, and the runner-up, in one scope.

    Ties go to the greater sum of ln of the advantages. None without two comparable environments.
    """
    unranked = {name for check, name in wrong if check == cells[0].check}
    # They fail beyond doubt more often than another: they lead nothing.
    seen = [turned for cell in cells for turned in (cell, cell.seen_from(cell.reference))]
    failing = {of.environment for of in seen if of.failures[0].unreliable_beside(of.failures[1])}
    scores: defaultdict[str, float] = defaultdict(float)
    wins: Counter[str] = Counter()
    against: dict[tuple[str, str], Comparison] = {}
    for cell in cells:
        mine, theirs = cell.environment, cell.reference
        if cell.effect and not {mine, theirs} & (unranked | failing):
            scores[mine] += log(cell.effect.ratio)
            scores[theirs] -= log(cell.effect.ratio)
            wins[mine if cell.effect.ratio > 1 else theirs] += 1
            against[mine, theirs], against[theirs, mine] = cell, cell.seen_from(theirs)
    ordered = sorted(scores, key=lambda name: (-wins[name], -scores[name]))
    found = against.get((ordered[0], ordered[1])) if ordered else None
    if found is None or found.effect is None:
        return None
    interval = found.effect.interval
    return Leader(
        scope=found.scope,
        metric=found.metric,
        best=found.environment,
        runner_up=found.reference,
        n=found.n,
        advantage=found.effect.ratio,
        bounds=found.judgement.ends if found.judgement else None,
        verdict=found.word,
        check=found.check,
        interval=(interval.low, interval.high),
        level=interval.level,
        unranked=tuple(sorted(unranked)),
        failing=tuple(sorted(failing)),
    )


def leaders_table(
    rows: Sequence[Leader], metric_title: Callable[[str], str], anchor: str = "leaders"
) -> Table | None:
    """Leaders with the bounds that decide; of too few blocks for any the intervals of each pair
    alone. Of several figures of a check each is named."""
    figures = Counter(row.scope for row in rows)
    named = [
        msgspec.structs.replace(row, scope=f"{row.scope}, {metric_title(row.metric)}")
        if figures[row.scope] > 1
        else row
        for row in rows
    ]
    ends = "bounds" if any(row.bounds for row in rows) else "interval"
    left_out = {f"{name} (wrong answers)" for row in rows for name in row.unranked}
    left_out |= {f"{name} (failed launches)" for row in rows for name in row.failing}
    note = f"Cannot lead: {', '.join(sorted(left_out))}." if left_out else ""
    names = "scope", "best", "runner_up", "advantage", ends, "verdict"
    return table_of(named, *names, anchor=anchor, title="Who leads", note=note)


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
        detail = f"Other programs disturbed {disturbed} of {units.count_text(good, 'launch')}."
        head = f"Disturbed: {answer.sentence}"
        answer = replace(answer, sentence=head, details=(detail, *answer.details))
    if analysis.complete:
        return replace(answer, command=_onward(run) or answer.command)
    missing = f"{units.count_text(len(analysis.holes), 'launch has', 'launches have')} not run yet"
    return replace(
        answer,
        state=State.UNFINISHED if answer.state in _FINAL else answer.state,
        sentence=f"So far: {answer.sentence}",
        unknown="; ".join(filter(None, (missing, answer.unknown))),
        command=_resume(run),
    )


def _resume(run: Run) -> commands.NextCommand:
    return commands.resume(commands.name_of(run), run.provenance.asked.checks)


def _onward(run: Run) -> commands.NextCommand:
    """The command after a complete run: what a plugin says, or the judgement of an acceptance."""
    for leads_to in hooks("next_command"):
        command: commands.NextCommand | None = leads_to(run)
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
        count = units.count_text(len(cases), "case")
        return Answer(
            State.FAILED,
            f"None of {count} can run on {site}: {clipped(skipped[0].reason, _MOST_REASON)}",
            f"Anything of {run.plan.campaign}: no launch was made.",
            commands.plan(run),
            tuple(f"{len(group.places)} of {count}: {group.reason}" for group in skipped),
        )
    planned = [run.asked[case.environment, case.check] for case in cases if not case.skipped]
    launches = units.count_text(sum(planned), "launch is", "launches are")
    return Answer(
        State.EMPTY,
        f"{launches} planned on {site}; none has run.",
        "Everything: no launch has a record.",
        _resume(run),
    )


def _failed(run: Run, good: int, bad: int) -> Answer:
    """More launches went wrong than right: the commonest reason decides what is next."""
    launches = bad_launches(run)
    group = grouped((item.status, item.reason) for item in launches)[0]
    reason, count = group.reason, len(group.places)
    head = f"{bad} of {good + bad} launches failed"
    if not good:
        head = f"{units.sentence_case(units.all_text(bad, 'launch'))} failed"
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
    if (alike := found.dependence) and alike.found:
        text = (
            "how sure it is: neighbouring blocks are more alike than chance allows (lag-1"
            f" correlation {alike.correlation:.2f} on average, {units.p_text(alike.p)}); bounds are"
            f" wider by {alike.wider:.1f} for it; repeat the run at another time, with pauses"
            " between the blocks"
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
            yield name, f"{units.all_text(ran[name], 'launch')} of it failed"


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
    right = f"{good} of {good + bad} launches" if bad else units.all_text(good, "launch")
    unknown, command = "", commands.NOTHING
    if run.plan.criteria_of(virtual=bool(run.provenance.site.virtual)):
        unknown = "whether the machine is accepted: criteria judge that"
    elif without:
        unknown = f"anything of {listed(without)}: no launch of it has a value"
    elif run.blocks < LEAST_BLOCKS:
        unknown = f"how far launches scatter, from {units.count_text(run.blocks, 'block')}"
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
    ends = dict.fromkeys(units.about(end, rows[0].unit) for end in (min(medians), max(medians)))
    return f"{analysis.register.check_title(check)} {' … '.join(ends)}"


def remarks(analysis: Analysis, unknown: str) -> Iterator[Sentence]:
    """Remarks: the run is not finished, the state of a sequential design, what is not known besides
    what the answer says is `unknown`."""
    if not analysis.complete:
        done = units.count_text(len(analysis.run.launches) - analysis.replaced, "launch")
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


def site_text(run: Run) -> str:
    """Name of the site of a run, and that it is one machine."""
    alone = " (one machine, without a network)" if run.provenance.site.is_local else ""
    return f"{run.plan.site}{alone}"


def facts(analysis: Analysis) -> Facts:
    """Facts: where and when it ran, what was planned, what of the campaign, ends of launches."""
    run, site = analysis.run, analysis.run.provenance.site
    kind = {True: " (a virtual cluster on one machine)", False: " (a real machine)", None: ""}
    where = site_text(run) + ("" if site.is_local else kind[site.virtual])
    nodes = f", {units.count_text(len(run.nodes), 'node')}" if run.nodes else ""
    network = f", network {site.network.name}" if site.network.name else ""
    image = f", image {site.image}" if site.image not in (None, "/") else ""
    planned = (
        f"{units.count_text(len(run.plan.cases), 'case')}, {units.count_text(run.blocks, 'block')}"
    )
    pairs = [
        ("run", run.run_id),
        ("started, UTC", units.moment_text(run.provenance.started_at, "not recorded")),
        ("site", f"{where}{nodes}{network}{image}"),
        ("planned", f"{planned}, environments {', '.join(run.plan.environments)}"),
        ("part of the campaign", "; ".join(run.plan.told())),
        ("launches", analysis.launches_text),
    ]
    pairs += carried(run.provenance.devices)
    return Facts([pair for pair in pairs if pair[1]], codes=frozenset({"run"}))
