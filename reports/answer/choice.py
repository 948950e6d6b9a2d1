# SPDX-License-Identifier: Apache-2.0
"""Which environment is best, by how much at least; or which are not told apart, and what would."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import log

from records.metric import Register
from records.text.reasons import grouped
from reports.analysis import Analysis
from reports.answer import commands
from reports.answer.phrases import costs_more, listed, times
from reports.answers import Answer, State, fitting
from reports.choice.cells import LEAST_DIFFERENCE
from reports.choice.compare import Comparisons
from reports.choice.ranking import Pair, Standing
from reports.choice.score import OverallScore
from reports.notation.units import (
    count_text,
    fixed,
    percent,
    signed_percent,
    three_digits,
    weight_text,
)
from reports.notation.values import between
from reports.statistics.max_t import LEAST_BLOCKS, QUANTILE, detectable

#: Numbers of blocks that a next run may have.
_LADDER = (6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 150, 200)
_MARGIN = log(LEAST_DIFFERENCE)
#: A ratio that scatters less from block to block is one value and its rounding.
_NO_SCATTER = 1e-12


@dataclass(frozen=True)
class _Shared:
    """The environments that share the first place, those behind them, pairs of the former."""

    leaders: list[Standing]
    behind: list[Standing]
    pairs: list[Pair]


def choice(analysis: Analysis) -> Answer | None:
    """The answer of a run with an overall score; None without one."""
    score = analysis.comparisons.score
    if score is None:
        return None
    leaders = [item for item in score.standings if item.best == 1]
    if len(leaders) == 1:
        return _one_leads(analysis, score)
    shared = _Shared(
        leaders,
        [item for item in score.standings if item.best > 1],
        [score.pair(b.environment, a.environment) for a, b in combinations(leaders, 2)],
    )
    held = next((name for pair in shared.pairs if (name := _held(pair, leaders))), None)
    if held:
        return _failures_decide(analysis, score, shared, held)
    alike = all(_alike(pair) for pair in shared.pairs)
    return (_equivalent if alike else _open)(analysis, score, shared)


def _alike(pair: Pair) -> bool:
    return pair.judgement is not None and pair.judgement.word == "equivalent"


def _held(pair: Pair, leaders: Sequence[Standing]) -> Standing | None:
    """The one of a pair that would be preferred, or be as good, but fails too often for that."""
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
    judged = lead.judgement
    register, more = analysis.register, costs_more(lead.effect.ratio)
    by = _carried(lead, register)
    pairs = [score.pair(item.environment, best.environment) for item in others]
    if second.unreliable and (not lead.separated or lead.effect.ratio < 1):
        rate = second.failures
        head = f"{best.environment} is the best choice: {second.environment} failed in"
        head += f" {rate.failed} of {rate.launched} launches"
    elif judged is not None and judged.word == "faster":
        head = f"{best.environment} is the best choice: {second.environment} costs {more}"
        far = lead.effect.ratio >= 2
        least = times(judged.low) if far else percent(judged.low - 1)
        head += _bracketed(f"at least {least}", by)
    else:
        head = f"{best.environment} is ahead, but maybe by less than 3 %: {second.environment}"
        head += f" costs {more}{_bracketed(judged.text if judged else '', by)}"
    rest = [f"{pair.first} {_more(pair)}{_bracketed(_carried(pair, register))}" for pair in pairs]
    short = [f"{pair.first} {_more(pair)}" for pair in pairs]
    together = _all_carried(pairs, register) if pairs else ""
    sentence = fitting(
        f"{head}; {listed(rest, 3)}." if rest else f"{head}.",
        *([f"{head}; {listed(short, 3)} ({by}, too)."] if by and by == together else []),
        f"{head}; {count_text(len(rest), 'other')} follow{_bracketed(together)}.",
        f"{head}.",
    )
    shared = [item for item in score.standings[1:] if item.best != item.worst]
    unknown = ""
    if "maybe" in head:
        unknown = f"whether its lead is more than 3 %, at n = {score.n} blocks"
    elif shared:
        names = listed([item.environment for item in shared])
        unknown = f"the order of {names} behind it, at n = {score.n} blocks"
    return Answer(State.DECIDED, sentence, unknown, details=_details(analysis))


def _more(pair: Pair) -> str:
    """ "12 % more", "2.4 times as much"; less where the place is due to failures."""
    ratio = pair.effect.ratio
    return costs_more(ratio) if ratio >= 1 else f"{percent(1 - ratio)} less, but fails"


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


def _equivalent(analysis: Analysis, score: OverallScore, shared: _Shared) -> Answer:
    """All that share the first place are equivalent: any will do."""
    names = listed([item.environment for item in shared.leaders])
    judged = [pair.judgement for pair in shared.pairs if pair.judgement]
    low, high = min(item.low for item in judged), max(item.high for item in judged)
    head = (
        f"{names} are equivalent within 3 % ({between(low, high, signed_percent)}); any of"
        " them will do"
    )
    sentence = fitting(*_followed(head, _out(analysis, score, shared)))
    return Answer(State.DECIDED, sentence, details=_details(analysis))


def _failures_decide(
    analysis: Analysis, score: OverallScore, shared: _Shared, held: Standing
) -> Answer:
    """One that would be preferred, or be as good, fails too often for it: no block changes that."""
    names = listed([item.environment for item in shared.leaders])
    name, rate = held.environment, held.failures
    alike = all(_alike(pair) for pair in shared.pairs)
    cost = "equivalent in cost within 3 %" if alike else "not ranked by their cost"
    head = f"{names} are {cost}: {name} failed in {rate.failed} of {rate.launched} launches"
    run = analysis.run
    failed = run.launches.where(run.launches.of_status("failed"))
    mine = ((one.status, one.reason) for one in failed if run.case(one).environment == name)
    return Answer(
        State.OPEN,
        fitting(*_followed(head, _out(analysis, score, shared))),
        f"which is best: failures decide, and more blocks fail the same way; {name} is not"
        " preferred before its launches end well",
        commands.mending(run, grouped(mine)[0].reason),
        _details(analysis),
    )


def _open(analysis: Analysis, score: OverallScore, shared: _Shared) -> Answer:
    """Several may be the best: their costs, who is out, and how many blocks would decide."""
    names = listed([item.environment for item in shared.leaders])
    costs = listed([fixed(item.score, 2) for item in shared.leaders])
    by = _carried(shared.pairs[0], analysis.register) if len(shared.pairs) == 1 else ""
    head = f"{names} cannot yet be told apart"
    head += _bracketed(f"cost {costs} of {score.reference}'s", by)
    rest = _out(analysis, score, shared)
    needed = blocks_needed(analysis.comparisons, score.n, shared.pairs)
    if score.n < LEAST_BLOCKS:
        why = f"which is best: {score.n} blocks decide nothing, {LEAST_BLOCKS} are needed at least"
    elif min(pair.effect.log_stddev for pair in shared.pairs) < _NO_SCATTER:
        why = (
            "which is best: the ratio of two costs is the same in every block, and more blocks of"
            " such values tell nothing; time longer batches"
        )
        needed = None
    elif needed is None:
        scatter = max(pair.effect.log_stddev for pair in shared.pairs)
        why = (
            f"which is best: {_LADDER[-1]} blocks would not tell, as their ratio scatters by"
            f" {percent(scatter, 0)} from block to block"
        )
    else:
        why = f"which is best, at n = {score.n} blocks; about {needed} would tell"
    short = f"{len(shared.leaders)} environments cannot yet be told apart at n = {score.n} blocks"
    sentence = fitting(*_followed(head, rest), *_followed(short, rest))
    command = commands.run_again(analysis.run, blocks=needed) if needed else ""
    return Answer(State.OPEN, sentence, why, command, _details(analysis))


def _out(analysis: Analysis, score: OverallScore, shared: _Shared) -> list[str]:
    """Who cannot be the best, with the cost over that of the best estimate, and in few words."""
    best = min(shared.leaders, key=lambda item: item.score)
    names = [item.environment for item in shared.behind]
    pairs = [score.pair(name, best.environment) for name in names]
    if not pairs:
        return []
    register = analysis.register
    who = listed(names) if len(names) <= 2 else count_text(len(names), "other")
    few = f"{who} {'is' if len(names) == 1 else 'are'} out"
    few += _bracketed(_all_carried(pairs, register))
    if all(pair.effect.ratio >= 2 and not pair.carried for pair in pairs) and len(names) <= 2:
        factors = listed([times(pair.effect.ratio).split()[0] for pair in pairs])
        return [f"{few}: {factors} times the cost"]
    told = [f"{pair.first}{_bracketed(_more(pair), _carried(pair, register))}" for pair in pairs]
    return [*([f"out: {listed(told)}"] if len(names) <= 2 else []), few]


def _followed(head: str, rests: Sequence[str]) -> list[str]:
    """Variants of a sentence, the fullest first."""
    return [*(f"{head}; {rest}." for rest in rests), f"{head}."]


def blocks_needed(comparisons: Comparisons, blocks_now: int, pairs: Sequence[Pair]) -> int | None:
    """Blocks after which each of the pairs is about to be told apart, or its bounds no
    wider than the zone of equivalence; None: more than a run may have.

    By the scatter of each pair's ratio from block to block, at the critical p of the smallest of
    all questions (Bonferroni): somewhat more than max-T needs.
    """
    questions = max([cell.family for cell in comparisons.overall], default=1)
    for blocks in _LADDER:
        if blocks <= blocks_now:
            continue
        shift = detectable(blocks, QUANTILE / questions)
        open_pairs = (pair for pair in pairs if not pair.separated)
        if all(pair.effect.log_stddev * shift <= _target(pair) for pair in open_pairs):
            return blocks
    return None


def _target(pair: Pair) -> float:
    """How far ln of a pair's bounds may be apart from its centre for a word that counts."""
    return max(abs(abs(log(pair.effect.ratio)) - _MARGIN), _MARGIN)


def _details(analysis: Analysis) -> tuple[str, ...]:
    """How much the order hangs on one weight, and what of a start-up is for daemons."""
    score = analysis.comparisons.score
    hangs = score and len(score.shares) > 1 and score.lowest
    sentences = [sensitivity_sentence(score, analysis.register)] if score and hangs else []
    return (*sentences, *_daemons(analysis))


def sensitivity_sentence(score: OverallScore, register: Register) -> str:
    """Which weights would put another first, nearest first."""
    by = "declared" if score.declared else "equal"
    if not score.turns:
        return (
            f"By estimate {score.lowest} has the least cost whatever one check weighs beside the"
            f" {by} weights of the others."
        )
    told = [
        f"{turn.leader} would have it if {register.check_title(turn.check)} weighed"
        f" {'more' if turn.above else 'less'} than {weight_text(turn.share)} of all (it has"
        f" {weight_text(turn.declared)})"
        for turn in sorted(score.turns, key=lambda turn: abs(turn.share - turn.declared))
    ]
    more = f"; {count_text(len(told) - 3, 'other weight')} would do it, too" * (len(told) > 3)
    return f"By estimate {score.lowest} has the least cost; {', '.join(told[:3])}{more}."


#: What a job pays to start and end, and what of it is for the library's daemons.
_WHOLE, _DAEMONS = "whole_start", ("daemon_boot", "daemon_halt")


def _daemons(analysis: Analysis) -> Iterator[str]:
    """What starting and ending a job takes where daemons are a part of it."""
    parts: dict[int, float] = {}
    for row in analysis.rows_of("startup", *_DAEMONS):
        parts[row.series.case] = parts.get(row.series.case, 0.0) + row.summary.median
    whole = {row.series.case: row.summary.median for row in analysis.rows_of("startup", _WHOLE)}
    cases = [case for case in parts if case in whole]
    names = dict.fromkeys(analysis.run.plan.cases[case].environment for case in cases)
    told = []
    for name in names:
        case = next(c for c in cases if analysis.run.plan.cases[c].environment == name)
        whole_s, parts_s = three_digits(whole[case]), three_digits(parts[case])
        told.append(f"{name} {whole_s} s, {parts_s} s of it for its daemons")
    if told:
        yield f"Starting and ending a job takes {listed(told)}; the total is what is scored."
