# SPDX-License-Identifier: Apache-2.0
"""Races between environments that a sequential design goes on for, and what is open in them.

A race is the overall score, a check, a curve or a point, as the campaign asks. It is for the best
place: who is slower than another in it has lost it, and how much slower is no question any more. A
pair of those still in it is known when it is faster or equivalent, or when its bounds are no wider
than the zone of equivalence: then only the side of the 3 % is open, and no
reasonable number of blocks would tell. That holds for "not slower" and "not faster", too: while
bounds are wider, such a word may still become "faster" or "equivalent".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from records.run.interims import Ended, asked_blocks
from reports.analysis.cells import LEAST_DIFFERENCE, Comparison, ComparisonJudgement
from reports.analysis.compare import Comparisons, compare_after
from reports.load.loading import Run
from reports.notation.labels import check_labels


@dataclass(frozen=True)
class Race:
    """`pairs` have the judgement of the first over the second, None where there is none yet;
    `unfit` cannot win: wrong answers, or failures; `settled` are pairs that failures decide;
    `checks` bear on it, all weighted ones where there are none."""

    title: str
    pairs: Mapping[tuple[str, str], ComparisonJudgement | None]
    unfit: frozenset[str] = frozenset()
    settled: frozenset[tuple[str, str]] = frozenset()
    checks: tuple[str, ...] = ()

    @cached_property
    def beaten(self) -> frozenset[str]:
        """Environments that are slower than another that is fit."""
        return frozenset(
            {"faster": second, "slower": first}[judged.word]
            for (first, second), judged in self.pairs.items()
            if judged and judged.word in ("faster", "slower") and not {first, second} & self.unfit
        )

    @property
    def open(self) -> list[tuple[str, str]]:
        """Pairs of environments that may still win of which too little is known."""
        lost = self.beaten | self.unfit
        return [
            pair
            for pair, judged in self.pairs.items()
            if not lost & {*pair} and pair not in self.settled and not known(judged)
        ]

    def vain(self, pair: tuple[str, str]) -> bool:
        """True where the last planned block would not tell of a pair."""
        judged = self.pairs[pair]
        return judged is not None and judged.vain


def known(judged: ComparisonJudgement | None) -> bool:
    """True where more blocks would tell nothing that counts."""
    if judged is None or judged.word == "not resolved":
        return False
    if judged.word in ("faster", "slower", "equivalent"):
        return True
    return judged.high / judged.low <= LEAST_DIFFERENCE**2


def races(found: Comparisons, until: Sequence[str]) -> list[Race]:
    """The races that a campaign asks for."""
    result = []
    if "score" in until and found.score is None:
        # Too few blocks in common; where fewer than two have a score there is no race.
        result.append(Race("overall cost", dict.fromkeys(combinations(found.scored, 2))))
    elif "score" in until and found.score is not None:
        pairs = {
            (pair.first, pair.second): pair.judgement and pair.judgement.inverse()
            for pair in found.score.pairs
        }
        unfit = {item.environment for item in found.score.standings if item.unreliable}
        unfit |= {name for name, _ in found.score.excluded}
        result.append(Race("overall cost", pairs, frozenset(unfit)))
    levels = {"checks": found.overall, "curves": found.groups, "points": found.points}
    alike: dict[tuple[str, str, str, str], list[Comparison]] = {}
    for level, cells in levels.items():
        for cell in cells if level in until else ():
            title = cell.scope if level == "checks" else f"{cell.scope}, {cell.label}"
            alike.setdefault((level, title, cell.metric, cell.check), []).append(cell)
    for (_, title, _, check), mine in alike.items():
        judged = {(cell.environment, cell.reference): cell for cell in mine}
        names = {name for pair in judged for name in pair}
        result.append(
            Race(
                title,
                {pair: cell.judgement for pair, cell in judged.items()},
                frozenset(name for name in names if (check, name) in found.unranked),
                frozenset(pair for pair, cell in judged.items() if cell.unreliable),
                (check,),
            )
        )
    return result


@dataclass(frozen=True)
class OpenQuestions:
    """Outcome of a judgement: open questions in words, and by environment the checks whose
    launches bear on them. `vain`: of some, the last block would not tell; nothing goes on for
    these."""

    open: list[str]
    going: dict[str, list[str]]
    vain: bool = False

    def ended(self, *, last: bool) -> Ended | None:
        """Why no block is added; `last`: none is left. None: it goes on."""
        if not self.open:
            return "answered"
        if last or not self.going:
            return "blocks" if last or not self.vain else "forecast"
        return None


NOTHING_IN_COMMON = "no two environments have valid launches in common"


def outcome(run: Run, found: Comparisons, *, beyond: bool = False) -> OpenQuestions:
    """Questions open in a sequential design, and what has to go on for them.

    A launch is made only while a question that it bears on is open, its check's or that of the
    overall cost, and the last block may tell; `beyond`: of blocks beyond the last planned one, for
    all that is open. An environment that has no valid launch and failed does not go on.
    """
    assert run.plan.sequential is not None
    every = races(found, run.plan.sequential.until)
    cases = run.plan.cases
    pairs = list(dict.fromkeys((case.environment, case.check) for case in cases))
    names = {name for name, _ in pairs}
    wanted = {
        (name, check)
        for race in every
        for pair in race.open
        if beyond or not race.vain(pair)
        for name in pair
        for check in race.checks or run.plan.weighed
    }
    text = [f"{race.title}: {a} against {b}" for race in every for a, b in race.open]
    vain = any(race.vain(pair) for race in every for pair in race.open)
    absent = names - {cases[case].environment for case, _, _ in run.tally}
    if not any(race.pairs for race in every) and len(run.plan.environments) > 1:
        failed = {cases[case].environment for case, status, _ in run.tally if status != "lost"}
        absent |= names - (failed - {cases[series.case].environment for series in run.series})
        text = [NOTHING_IN_COMMON]
    before = asked_blocks(run.plan, run.interims)
    last = max(before.values(), default=0)
    going: dict[str, list[str]] = {}
    for name, check in pairs:
        stays = (name, check) in wanted or name in absent
        if text and stays and (beyond or before[name, check] == last):
            going.setdefault(name, []).append(check)
    return OpenQuestions(text, going, vain)


def judge_after(run: Run, block: int, *, beyond: bool = False) -> OpenQuestions:
    """The judgement of a sequential design after a block, from its launches up to it; `beyond` as
    `outcome` has it."""
    before = [interim.block for interim in run.interims]
    found = compare_after(run, check_labels(run.plan.cases), [*before, block])
    return outcome(run.until(block), found, beyond=beyond)
