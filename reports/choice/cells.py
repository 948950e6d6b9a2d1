# SPDX-License-Identifier: Apache-2.0
"""One cell of a comparison: an environment against another, with its verdict word.

A point is one metric value position (parameters and message size); a curve is the points of one
process grid and N, or of one construct over its sizes; an overall cell is all points of a check
(of one placement). The advantage is the ratio in the good direction: 1.05 = 5 % better.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from reports.load.loading import AtKey
from reports.notation.units import percent, signed_percent
from reports.notation.values import not_resolved
from reports.statistics.signed_rank import LEAST_N, PairedEffect, detectable_ratio, least_n

ALPHA = 0.05
LEAST_DIFFERENCE = 1.03
EQUIVALENT = (0.97, 1.03)

Word = Literal["faster", "slower", "equivalent", "not resolved", "no verdict"]


class Comparison(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One cell: `environment` against `reference`. `effect` is None below three common blocks.

    `points` of `points_planned` went in; `family` is the number of cells Holm adjusted over.
    """

    check: str
    scope: str
    label: str
    metric: str
    environment: str
    reference: str
    n: int
    points: int
    points_planned: int
    case_ids: tuple[str, str]
    curve: str = ""
    at: AtKey = ()
    effect: PairedEffect | None = None
    p_holm: float | None = None
    family: int = 0

    @property
    def word(self) -> Word:
        """ "faster": p <= 0.05 after Holm and more than 3 %; "equivalent": 90 % interval inside
        0.97–1.03; else "not resolved". No verdict below n = 3."""
        effect = self.effect
        if effect is None or self.p_holm is None:
            return "no verdict"
        if self.p_holm <= ALPHA and effect.ratio > LEAST_DIFFERENCE:
            return "faster"
        if self.p_holm <= ALPHA and 1 / effect.ratio > LEAST_DIFFERENCE:
            return "slower"
        interval = effect.interval90
        if interval and interval.low >= EQUIVALENT[0] and interval.high <= EQUIVALENT[1]:
            return "equivalent"
        return "not resolved"

    @property
    def verdict(self) -> str:
        """The word with what it rests on; never "equal"."""
        if self.effect is None:
            return f"no verdict: {self.n} common blocks, at least {LEAST_N} are needed"
        if self.word == "equivalent":
            return f"equivalent (n = {self.n}, 90 % interval inside 0.97–1.03)"
        if self.word != "not resolved":
            return f"{self.word} (n = {self.n}, p = {self.p_holm:.2g} after Holm)"
        blocks = max(self.n, self.needed_n)
        ratio = detectable_ratio(self.effect.log_stddev, blocks, ALPHA / self.family)
        where = f" at n = {blocks}" if blocks > self.n else ""
        least = f"smallest detectable difference {percent(ratio - 1)}{where}"
        return f"{not_resolved(self.n)}, {least}"

    @property
    def needed_n(self) -> int:
        """The least n at which the exact test could reach 0.05 after Holm over the family."""
        return least_n(ALPHA / max(1, self.family))

    @property
    def difference(self) -> str:
        """ "+4.2 %": the advantage over the reference."""
        return "–" if self.effect is None else signed_percent(self.effect.ratio)


def as_json(cell: Comparison) -> dict[str, Any]:
    """The cell for verdicts.json."""
    effect = cell.effect
    result: dict[str, Any] = {
        "scope": cell.scope,
        "label": cell.label,
        "metric": cell.metric,
        "at": dict(cell.at),
        "environment": cell.environment,
        "reference": cell.reference,
        "cases": list(cell.case_ids),
        "n": cell.n,
        "points": cell.points,
        "verdict": cell.word,
        "text": cell.verdict,
    }
    if effect is not None:
        result |= {
            "advantage": effect.ratio,
            "interval": [effect.interval.low, effect.interval.high],
            "level": effect.interval.level,
            "p": effect.p,
            "p_holm": cell.p_holm,
            "cells_in_family": cell.family,
        }
    return result
