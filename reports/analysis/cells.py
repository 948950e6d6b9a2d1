# SPDX-License-Identifier: Apache-2.0
"""Cell of a comparison: an environment against another, with its verdict word.

A point is one metric value position (parameters and message size); a curve is the points of one
process grid and N, or of one construct over its sizes; an overall cell is all points of a check
(of one placement). The advantage is the ratio in the good direction: 1.05 = 5 % better.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, inf, log
from typing import Literal

import msgspec

from reports.analysis.failures import FailureRate
from reports.load.loading import AtKey
from reports.notation.units import between, not_resolved, percent, signed_percent
from reports.statistics.descriptive import LEAST_N, PairedEffect
from reports.statistics.max_t import LEAST_BLOCKS, JointBounds, detectable_at_least_blocks

ALPHA = 0.05
#: What verdicts are on, for tables that show means or medians of one environment.
ESTIMAND = "Verdicts are on the geometric mean of the ratios by block."
#: What estimates and bounds are of, for those who read both.
ESTIMANDS = (
    "Estimate: Hodges–Lehmann median of the ratios, never beyond the bounds; bounds: of their"
    " geometric mean, which a skew of launches sets apart from it."
)
#: A ratio between 1/1.03 and 1.03 is no difference that counts.
LEAST_DIFFERENCE = 1.03
#: Bounds further apart than this factor tell nothing: they are left out, and exclude nothing; so
#: do bounds whose ln is beyond, of which not every ratio is a finite number.
_MOST_APART, _MOST_LOG = 1e6, 300.0
#: So do bounds on both sides of 1 that are further apart than this square; nor is a difference
#: beyond this factor a smallest one.
_MOST_OPEN = 10.0

Word = Literal[
    "faster", "slower", "equivalent", "not slower", "not faster", "not resolved", "no verdict"
]


class ComparisonJudgement(msgspec.Struct, frozen=True, gc=False):
    """Answer of the family of all questions to one: bounds of the geometric mean of the ratios,
    which hold together at 95 %, 0 and inf where there are none; `p` adjusted alike; `detectable`
    the least ratio found beyond the margin with 80 % power, inf where none is known. `vain`: the
    bounds will still be too wide for any word after the last planned block, but in 5 %.
    """

    low: float
    high: float
    p: float
    detectable: float
    vain: bool = False

    @classmethod
    def of(cls, answer: JointBounds) -> ComparisonJudgement:
        """The judgement from bounds of ln of the ratio."""
        most = _MOST_OPEN**2 if answer.low <= 0 <= answer.high else _MOST_APART
        bounded = answer.high - answer.low <= log(most) and abs(answer.low) < _MOST_LOG
        low, high = (exp(answer.low), exp(answer.high)) if bounded else (0.0, inf)
        margin, half = log(LEAST_DIFFERENCE), answer.half_to_come
        distance = abs(abs(answer.low + answer.high) / 2 - margin)
        vain = half > margin and half > distance + answer.moves
        p = answer.p if bounded else 1.0
        return cls(low, high, p, least_ratio(answer.detectable), vain)

    def holding(self, effect: PairedEffect) -> PairedEffect:
        """The effect with the estimate that is nearest to it within the bounds that decide."""
        ratio = min(max(effect.ratio, self.low), self.high)
        return msgspec.structs.replace(effect, ratio=ratio)

    @property
    def bounded(self) -> bool:
        """True where the values varied enough to bound the ratio."""
        return self.high < inf

    @property
    def word(self) -> Word:
        """Word by the bounds alone; turning the pair round turns the word round."""
        most, least = LEAST_DIFFERENCE, 1 / LEAST_DIFFERENCE
        if self.low > most:
            return "faster"
        if self.high < least:
            return "slower"
        if self.low > least:
            return "equivalent" if self.high < most else "not slower"
        return "not faster" if self.high < most else "not resolved"

    def told(self, show: int | Callable[[float], str]) -> str:
        """ "0.93 … 0.97", as `between` shows it."""
        return between(self.low, self.high, show) if self.bounded else "no bounds"

    @property
    def ends(self) -> tuple[float, float] | None:
        """Both bounds; None where there are none."""
        return (self.low, self.high) if self.bounded else None

    @property
    def separated(self) -> bool:
        """True where the bounds exclude 1."""
        return not self.low <= 1 <= self.high

    def inverse(self) -> ComparisonJudgement:
        """The judgement of the pair turned round."""
        low, high = (1 / self.high, 1 / self.low) if self.bounded else (self.low, self.high)
        return msgspec.structs.replace(self, low=low, high=high)


#: Words that speak well of the environment, and of the reference.
_FOR_ENVIRONMENT = ("faster", "not slower", "equivalent")
_FOR_REFERENCE = ("slower", "not faster", "equivalent")


class Comparison(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Cell: `environment` against `reference`. `effect` is None below three common blocks,
    `judgement` below six.

    `points` went in; `family` is the number of questions judged together, of
    the whole run; `failures` are those of the cell's launches in both environments.
    """

    check: str
    scope: str
    label: str
    metric: str
    environment: str
    reference: str
    n: int
    points: int
    case_ids: tuple[str, str]
    at: AtKey = ()
    effect: PairedEffect | None = None
    judgement: ComparisonJudgement | None = None
    family: int = 0
    failures: tuple[FailureRate, FailureRate] = (FailureRate(), FailureRate())

    @property
    def word(self) -> Word:
        """The word of the bounds; none in favour of an environment that fails too often."""
        if self.effect is None:
            return "no verdict"
        if self.judgement is None or self.unreliable:
            return "not resolved"
        return self.judgement.word

    def seen_from(self, environment: str) -> Comparison:
        """Cell turned so that `environment` is first."""
        if environment == self.environment:
            return self
        return msgspec.structs.replace(
            self,
            environment=self.reference,
            reference=self.environment,
            case_ids=self.case_ids[::-1],
            failures=self.failures[::-1],
            effect=self.effect and self.effect.inverse(),
            judgement=self.judgement and self.judgement.inverse(),
        )

    @property
    def unreliable(self) -> str:
        """The environment that the bounds speak for although it fails in too many launches."""
        word = self.judgement.word if self.judgement else "not resolved"
        mine, theirs = self.failures
        if word in _FOR_ENVIRONMENT and mine.unreliable_beside(theirs):
            return self.environment
        if word in _FOR_REFERENCE and theirs.unreliable_beside(mine):
            return self.reference
        return ""

    @property
    def verdict(self) -> str:
        """The word with what it rests on; never "equal"."""
        if self.effect is None:
            return f"no verdict: {self.n} common blocks, at least {LEAST_N} are needed"
        word, judged, unresolved = self.word, self.judgement, not_resolved(self.n)
        if judged is None:
            least = detectable_at_least_blocks(self.n, max(1, self.family))
            ratio = least_ratio(self.effect.log_stddev * least)
            return (
                f"{unresolved}, smallest detectable difference"
                f" {'about ' * (ratio < inf)}{_detectable_text(ratio)} at n = {LEAST_BLOCKS}"
            )
        if self.unreliable:
            rate = self.failures[self.unreliable == self.reference]
            text = f"{unresolved}: {self.unreliable} failed in {rate.failed} of"
            return f"{text} {rate.launched} launches"
        if word == "not resolved" and not judged.bounded:
            return (
                f"{unresolved}: the values are equal, or too coarse or too far apart to bound a"
                " ratio; time longer batches"
            )
        text = f"{word} (n = {self.n}, {judged.told(signed_percent)})"
        if judged.separated and word in ("not slower", "not faster"):
            text = f"{text}; a difference, but not beyond 3 % for certain"
        if word == "not resolved":
            text = (
                f"{unresolved} ({judged.told(signed_percent)}), smallest detectable difference"
                f" {_detectable_text(judged.detectable)}"
            )
        return text


def least_ratio(shift: float) -> float:
    """The ratio beyond the margin by a shift of its logarithm; inf where it tells nothing."""
    return LEAST_DIFFERENCE * exp(shift) if shift <= log(_MOST_OPEN) else inf


def _detectable_text(ratio: float) -> str:
    """ "4.2 %"; a ratio that no such data tell is named as such."""
    return percent(ratio - 1) if ratio < inf else "unknown"
