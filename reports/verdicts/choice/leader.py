# SPDX-License-Identifier: Apache-2.0
"""Which environment is best, by how much at least; or which are not told apart, and what would."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import log

from records.metric import Register
from records.run.extensions import in_turn
from records.text.reasons import grouped
from reports import commands
from reports.analysis.cells import LEAST_DIFFERENCE
from reports.analysis.compare import Comparisons
from reports.analysis.ranking import Pair, Standing
from reports.analysis.run import Analysis
from reports.analysis.score import OverallScore
from reports.answers import Answer, State, fitting, listed
from reports.notation.units import (
    count_text,
    fixed,
    more_text,
    percent,
    ratios_between,
    signed_percent,
    significant,
    weight_text,
)
from reports.statistics.max_t import LEAST_BLOCKS, detectable
from reports.statistics.spending import Stages, spent

#: Numbers of blocks that a next run may have.
_LADDER = (6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 150, 200)
_MARGIN = log(LEAST_DIFFERENCE)
#: A ratio that scatters less from block to block is one value and its rounding.
_NO_SCATTER = 1e-12


def choice(analysis: Analysis) -> Answer | None:
    """The answer of a run with an overall score; None without one."""
    score = analysis.comparisons.score
    if score is None:
        return None
    leaders = [item for item in score.standings if item.best == 1]
    if len(leaders) == 1:
        return _one_leads(analysis, score)
    pairs = [score.pair(b.environment, a.environment) for a, b in combinations(leaders, 2)]
    names = listed([item.environment for item in leaders])
    rest, details = _out(analysis, score, leaders), _details(analysis)
    alike = all(map(_alike, pairs))
    if held := next((one for pair in pairs if (one := _held(pair, leaders))), None):
        name, rate, run = held.environment, held.failures, analysis.run
        cost = "equivalent in cost within 3 %" if alike else "not ranked by their cost"
        head = f"{names} are {cost}: {name} failed in {rate.failed} of {rate.launched} launches"
        failed = run.launches.where(run.launches.of_status("failed"))
        mine = ((one.status, one.reason) for one in failed if run.case(one).environment == name)
        unknown = (
            f"which is best: failures decide, and more blocks fail the same way; {name} is not"
            " preferred before its launches end well"
        )
        command = commands.remedy(run, grouped(mine)[0].reason)
        return Answer(State.OPEN, fitting(*_followed(head, rest)), unknown, command, details)
    if alike:
        judged = [pair.judgement for pair in pairs if pair.judgement]
        low, high = min(item.low for item in judged), max(item.high for item in judged)
        ends = ratios_between(low, high)
        head = f"{names} are equivalent within 3 % ({ends}); any of them will do"
        return Answer(State.DECIDED, fitting(*_followed(head, rest)), details=details)
    by = _carried(pairs[0], analysis.register) if len(pairs) == 1 else ""
    head = f"{names} cannot yet be told apart"
    head += _bracketed(_costs(score, leaders), by)
    short = f"{len(leaders)} environments cannot yet be told apart at n = {score.n} blocks"
    sentence = fitting(*_followed(head, rest), *_followed(short, rest))
    unknown, needed = _what_would_tell(analysis, score.n, pairs)
    more = max(1, needed - analysis.run.blocks) if needed else 0
    command = commands.more_blocks(analysis.run, more) if more else commands.NOTHING
    return Answer(State.OPEN, sentence, unknown, command, details)


def _alike(pair: Pair) -> bool:
    return pair.judgement is not None and pair.judgement.word == "equivalent"


def _held(pair: Pair, leaders: Sequence[Standing]) -> Standing | None:
    """The one of a pair that would be preferred, or be as good, but fails too often for that: no
    further block changes it."""
    rates = {item.environment: item for item in leaders}
    better, other = (rates[name] for name in pair.by_estimate)
    for one, beside in ((better, other), (other, better)):
        if one.failures.unreliable_beside(beside.failures) and (one is better or _alike(pair)):
            return one
    return None


def _one_leads(analysis: Analysis, score: OverallScore) -> Answer:
    """One environment has the first place alone."""
    best, second, *others = score.standings
    lead = score.pair(second.environment, best.environment)
    judged, register, rate = lead.judgement, analysis.register, second.failures
    by = _carried(lead, register)
    costs = f"{second.environment} costs {more_text(lead.effect.ratio)}"
    close = False
    if second.unreliable and (not lead.separated or lead.effect.ratio < 1):
        head = f"{best.environment} is the best choice: {second.environment} failed in"
        head += f" {rate.failed} of {rate.launched} launches"
    elif judged is not None and judged.word == "faster":
        least = more_text(judged.low).removesuffix(" more").removesuffix(" as much")
        head = f"{best.environment} is the best choice: {costs}"
        head += _bracketed(f"at least {least}", by)
    else:
        close = True
        head = f"{best.environment} is ahead, but maybe by less than 3 %: {costs}"
        head += _bracketed(judged.told(signed_percent) if judged else "", by)
    pairs = [score.pair(item.environment, best.environment) for item in others]
    short = [f"{pair.first} {_more(pair)}" for pair in pairs]
    full = [
        f"{text}{_bracketed(_carried(pair, register))}"
        for text, pair in zip(short, pairs, strict=True)
    ]
    together = _all_carried(pairs, register) if pairs else ""
    sentence = fitting(
        f"{head}; {listed(full, 3)}." if full else f"{head}.",
        *([f"{head}; {listed(short, 3)} ({by}, too)."] if by and by == together else []),
        f"{head}; {count_text(len(full), 'other follows', 'others follow')}{_bracketed(together)}.",
        f"{head}.",
    )
    shared = [item.environment for item in score.standings[1:] if item.best != item.worst]
    unknown = ""
    if close:
        unknown = f"whether its lead is more than 3 %, at n = {score.n} blocks"
    elif shared:
        unknown = f"the order of {listed(shared)} behind it, at n = {score.n} blocks"
    return Answer(State.DECIDED, sentence, unknown, details=_details(analysis))


def _costs(score: OverallScore, leaders: Sequence[Standing]) -> str:
    """ "lam costs 1.24 times mpich's": the others' cost over that of the first place, to which
    picture and `_out` compare too."""
    first, *others = [item.environment for item in leaders]
    factors = listed([fixed(score.pair(name, first).effect.ratio, 2) for name in others])
    return f"{listed(others)} {'costs' if len(others) == 1 else 'cost'} {factors} times {first}'s"


def _more(pair: Pair) -> str:
    """ "12 % more", "2.4 times as much"; less where the place is due to failures."""
    ratio = pair.effect.ratio
    return more_text(ratio) if ratio >= 1 else f"{percent(1 - ratio)} less, but fails"


def _carried(pair: Pair, register: Register) -> str:
    """ "mostly Start-up": the checks that carry more than half of a pair's difference; "Start-up
    alone" where all others together speak against it."""
    names = [register.check_title(check) for check, _ in pair.carried]
    if not names:
        return ""
    alone = round(pair.carried[0][1], 2) >= 1
    return f"{listed(names)} alone" if alone else f"mostly {listed(names)}"


def _all_carried(pairs: Sequence[Pair], register: Register) -> str:
    """The same of several pairs together: "mostly HPL or Start-up"."""
    told = {_carried(pair, register) for pair in pairs}
    if len(told) == 1:
        return told.pop()
    names = dict.fromkeys(register.check_title(name) for pair in pairs for name, _ in pair.carried)
    return f"{'' if all(told) else 'some '}mostly {listed([*names], 3, 'or')}"


def _bracketed(*parts: str) -> str:
    """ " (at least 3 %; mostly Start-up)"; nothing without a part."""
    told = "; ".join(filter(None, parts))
    return f" ({told})" if told else ""


def _what_would_tell(analysis: Analysis, n: int, pairs: Sequence[Pair]) -> tuple[str, int | None]:
    """Why it is not known which of several is best, and how many blocks would tell."""
    stages = in_turn(analysis.run.plan).stages
    needed = blocks_needed(analysis.comparisons, n, pairs, stages)
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
            f" {percent(scatter, 0)} from block to block"
        )
    return why, needed


def _out(analysis: Analysis, score: OverallScore, leaders: Sequence[Standing]) -> list[str]:
    """Who cannot be the best, with the cost over that of the first place, and in few words."""
    best = leaders[0]
    names = [item.environment for item in score.standings if item.best > 1]
    pairs = [score.pair(name, best.environment) for name in names]
    if not pairs:
        return []
    register = analysis.register
    who = listed(names) if len(names) <= 2 else count_text(len(names), "other")
    few = f"{who} {'is' if len(names) == 1 else 'are'} out"
    few += _bracketed(_all_carried(pairs, register))
    if all(pair.effect.ratio >= 2 and not pair.carried for pair in pairs) and len(names) <= 2:
        factors = listed([significant(pair.effect.ratio) for pair in pairs])
        return [f"{few}: {factors} times the cost"]
    told = [f"{pair.first}{_bracketed(_more(pair), _carried(pair, register))}" for pair in pairs]
    return [*([f"out: {listed(told)}"] if len(names) <= 2 else []), few]


def _followed(head: str, rests: Sequence[str]) -> list[str]:
    """Variants of a sentence, the fullest first."""
    return [*(f"{head}; {rest}." for rest in rests), f"{head}."]


def blocks_needed(
    comparisons: Comparisons, blocks_now: int, pairs: Sequence[Pair], stages: Stages
) -> int | None:
    """Blocks to which the run is to be extended until each of the pairs is about to be told apart,
    or its bounds no wider than the zone of equivalence; None: more than a run may have.

    By the scatter of each pair's ratio from block to block, at the critical p of the smallest of
    all questions (Bonferroni) of what an extension has of the error: somewhat more than max-T
    needs.
    """
    questions = max([cell.family for cell in comparisons.overall], default=1)
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


def _details(analysis: Analysis) -> tuple[str, ...]:
    """How much the order hangs on one weight, and what of a start-up is for daemons."""
    score = analysis.comparisons.score
    hangs = score and len(score.shares) > 1 and score.n >= LEAST_BLOCKS
    sentences = [_sensitivity(score, analysis.register)] if score and hangs else []
    return (*sentences, *_daemons(analysis))


def _sensitivity(score: OverallScore, register: Register) -> str:
    """Which weights would turn the answer: of each environment the nearest that puts it first."""
    told: dict[str, str] = {}
    for turn in sorted(score.turns, key=lambda turn: abs(turn.share - turn.declared)):
        text = (
            f"if {register.check_title(turn.check)} weighed {'more' if turn.above else 'less'} than"
            f" {weight_text(turn.share)} of all (it has {weight_text(turn.declared)})"
        )
        told.setdefault(turn.leader, text)
    if not told:
        by = "declared" if score.declared else "equal"
        return (
            f"No weight of one check beside the {by} ones of the others is known to turn this"
            " answer."
        )
    first, *others = told.items()
    more = "".join(f", {name} {text}" for name, text in others)
    return f"By estimate {first[0]} would be the best choice {first[1]}{more}."


def _daemons(analysis: Analysis) -> Iterator[str]:
    """What starting and ending a job takes where daemons are a part of it: of the first such case
    of each environment."""
    parts: dict[int, float] = {}
    for row in analysis.rows_of("startup", "daemon_boot", "daemon_halt"):
        parts[row.series.case] = parts.get(row.series.case, 0.0) + row.summary.median
    whole: dict[str, str] = {}
    for row in analysis.rows_of("startup", "whole_start"):
        name = analysis.case(row).environment
        if row.series.case in parts and name not in whole:
            whole_s, parts_s = row.summary.median, parts[row.series.case]
            whole[name] = f"{name} {significant(whole_s)} s, {significant(parts_s)} s of it"
    if whole:
        told = listed([f"{text} for its daemons" for text in whole.values()])
        yield f"Starting and ending a job takes {told}; the total is what is scored."
