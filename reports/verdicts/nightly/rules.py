# SPDX-License-Identifier: Apache-2.0
"""Rules of the nightly verdicts, and how they follow from the alarms allowed."""

from __future__ import annotations

from dataclasses import dataclass

from records.history import USUAL_FINDS
from reports.load.nights import LEAST_LAUNCHES

_NIGHTS_A_MONTH = 30


@dataclass(frozen=True, slots=True)
class Rules:
    """Chances, fractions of the reference's median, numbers of nights.

    `allowed` is the chance of a false alarm a series and night that each stage may have;
    `alarms_a_night` that of all series together, which is also the share of nights on which the
    whole site may be slow and alarm, and the chance that any sound node is
    suspected beside its peers. `finds` is the least change that the site wants reported: no wider
    limit supports PASS, and nodes of a kind may differ by so much. A reference has up to
    `most_nights` nights; from `judged_from` nights on a series is judged. `floor`,
    `floor_small_latency`: the least change that is worth reporting; `least_spread`: no spread is
    taken for less. A lasting change is looked for in the last `window` nights, with at least
    `least_before` nights before and `least_after` after it.
    """

    allowed: float = 1e-3
    alarms_a_night: float = 1 / _NIGHTS_A_MONTH
    finds: float = USUAL_FINDS
    least_launches: int = LEAST_LAUNCHES
    most_nights: int = 60
    judged_from: int = 3
    floor: float = 0.03
    floor_small_latency: float = 0.05
    least_spread: float = 0.002
    window: int = 30
    least_before: int = 8
    least_after: int = 4

    @property
    def allowed_tonight(self) -> float:
        """The chance of a value beyond tonight's limit: never above 0.001 in 80 nights."""
        return min(0.001 / 80, self.allowed)

    @property
    def p_ranks(self) -> float:
        """The greatest p of the rank test of a change that stays."""
        return min(1e-3, self.allowed)

    @property
    def p_drift(self) -> float:
        """The same of a drift."""
        return min(1e-4, self.allowed)


def rules_for(
    series: int,
    false_alarms_a_month: float = 1.0,
    finds: float = USUAL_FINDS,
    *,
    imported: bool = False,
) -> Rules:
    """The rules for so many series, so that all together give no more false alarms than allowed.

    Each stage may spend half of the budget: a chance of budget / (2 · 30 nights · series) a test.
    Stage A takes its limit from the site's own tail at that chance (limits.py), or from Student's
    distribution while the history is too short for that; stage B's chance is bounded by its rank
    test. An `imported` night may have one launch: what launches vary by is part of what its nights
    do.
    """
    allowed = false_alarms_a_month / (2 * _NIGHTS_A_MONTH * max(series, 1))
    return Rules(
        allowed=min(0.5, allowed),
        alarms_a_night=min(0.5, false_alarms_a_month / _NIGHTS_A_MONTH),
        finds=finds,
        least_launches=1 if imported else LEAST_LAUNCHES,
    )
