# SPDX-License-Identifier: Apache-2.0
"""What the judgement of a night says: findings of series, and the changes as they then stand."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal

import numpy as np

from records.history.model import Change

#: regression: found tonight, confirmed. open: found earlier, still there, not accepted. suspect:
#: slower than allowed; re-run needed. dismissed: the re-run was good. improvement: stays. better:
#: tonight only. recovered: a regression that went back by itself. silent: no value, or zero, where
#: there was one night after night.
Verdict = Literal[
    "regression", "open", "suspect", "dismissed", "improvement", "better", "recovered", "silent"
]


@dataclass(frozen=True, slots=True)
class NightFinding:
    """What is to be said of one series in one night.

    `value` is the night's median, `rerun` the re-run's, `elsewhere` that of a re-run on other
    nodes, `reference` the median of `n` nights, all in SI base units; `limit` and `worse` are
    fractions of the reference (worse is positive). `peers`: the reference is the level of `n` other
    nodes tonight, not of nights before.
    """

    series: int
    verdict: Verdict
    value: float
    rerun: float | None
    reference: float
    n: int
    worse: float
    limit: float
    change: Change | None = None
    elsewhere: float | None = None
    peers: bool = False

    @property
    def size(self) -> float:
        """How far tonight is from the reference, either way; 0 where it has no value."""
        return abs(self.worse) if np.isfinite(self.worse) else 0.0

    @property
    def slow_elsewhere(self) -> bool | None:
        """Whether other nodes are nearer to tonight than to the reference; None: not known."""
        if self.elsewhere is None:
            return None
        return abs(self.elsewhere - self.value) < abs(self.elsewhere - self.reference)


@dataclass(frozen=True)
class NightJudgement:
    """A night's findings; the changes as they are after it; what could not be judged and why.

    `night` is the position of the night in its history, `judged` counts series. `reasons` says of a
    series why it was not judged, `wide_reasons` why its limit is wider than `rules.finds`.
    `learning` has the series that are too young for PASS, with how many more nights each needs at
    least; `compared` counts series that were compared with other nodes tonight.
    """

    night: int
    findings: list[NightFinding]
    changes: list[Change]
    judged: int
    reasons: dict[int, str]
    wide_reasons: dict[int, str]
    learning: dict[int, int]
    compared: int

    @property
    def unjudged(self) -> Counter[str]:
        """How many series were not judged, by the reason."""
        return Counter(self.reasons.values())

    @property
    def wide(self) -> Counter[str]:
        """How many limits are wide, by the reason."""
        return Counter(self.wide_reasons.values())

    def of(self, *verdicts: Verdict) -> list[NightFinding]:
        """The findings with one of these verdicts."""
        return [finding for finding in self.findings if finding.verdict in verdicts]
