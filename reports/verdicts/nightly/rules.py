# SPDX-License-Identifier: Apache-2.0
"""The numbers that the nightly verdicts go by, and how they follow from the alarms allowed."""

from __future__ import annotations

from dataclasses import dataclass

from records.history import USUAL_FINDS

NIGHTS_A_MONTH = 30


@dataclass(frozen=True, slots=True)
class Rules:
    """Limits of both stages; fractions of the reference's median, probabilities, nights.

    `allowed` is the chance of a false alarm a series and night that stage A may have (never above
    0.001 in 80 nights), `allowed_in_a_row` that of `run_nights` nights in a row;
    `slow_nights_allowed` is the share of nights on which the whole site may be slow and alarm;
    `finds` is the least change that the site wants reported: no wider limit supports PASS, and
    nodes of a kind may differ by so much; `peers_allowed` is the chance a night that any sound node
    is suspected beside its peers, `peers_again` that a re-run confirms it, `modified_z` how many
    robust deviations such a node lies away. `level_suspect` and `level_confirm`
    are levels of two-sided prediction intervals; `p_energy`, `p_ranks` and `p_drift` the greatest p
    of a change that stays. `widest`: what a limit may owe to a tail that fewer than
    `trusted_deviations` nights of all series tell. `first_nights`: so many a step of which may be
    found later (with `early_from` to `most_nights` nights); `silent_window`, `silent_share`: a
    series is expected that had a value in more than this share of so many nights.
    """

    least_launches: int = 3
    floor: float = 0.03
    floor_small_latency: float = 0.05
    least_spread: float = 0.002
    widest: float = 0.10
    trusted_deviations: int = 3000
    most_nights: int = 60
    robust_from: int = 10
    judged_from: int = 3
    allowed: float = 0.001 / 80
    allowed_alone: float = 0.2 * 0.001 / 80
    allowed_in_a_row: float = 0.8 * 0.001 / 80
    run_nights: int = 4
    slow_nights_allowed: float = 1 / NIGHTS_A_MONTH
    level_suspect: float = 0.999
    level_confirm: float = 0.99
    window: int = 30
    least_before: int = 8
    least_after: int = 4
    p_energy: float = 1e-4
    p_ranks: float = 1e-3
    p_drift: float = 1e-4
    drift_anchor: int = 30
    drift_recent: int = 10
    first_nights: int = 10
    early_from: int = 20
    silent_window: int = 14
    silent_share: float = 0.75
    recovery_window: int = 7
    finds: float = USUAL_FINDS
    peers_allowed: float = 1 / NIGHTS_A_MONTH
    peers_again: float = 0.01
    modified_z: float = 3.5


def rules_for(
    series: int,
    false_alarms_a_month: float = 1.0,
    finds: float = USUAL_FINDS,
    *,
    imported: bool = False,
) -> Rules:
    """The rules for so many series, so that all together give no more false alarms than allowed.

    Each stage may spend half of the budget: a chance of budget / (2 · 30 nights · series) a test.
    Stage A takes its limit from the site's own tail at that chance (tail.py), and while the history
    is too short for that, from a re-run's level raised so that the product of both tails keeps it;
    stage B's chance is bounded by its rank test. The levels never become laxer than the defaults.
    An `imported` night may have one launch: what launches vary by is part of what its nights do.
    """
    base = Rules()
    allowed = min(0.5, false_alarms_a_month / (2 * NIGHTS_A_MONTH * max(series, 1)))
    tail = allowed / ((1 - base.level_suspect) / 2)
    return Rules(
        least_launches=1 if imported else base.least_launches,
        allowed=min(base.allowed, allowed),
        allowed_alone=0.2 * min(base.allowed, allowed),
        allowed_in_a_row=0.8 * min(base.allowed, allowed),
        level_confirm=max(base.level_confirm, 1 - 2 * min(tail, 0.5)),
        slow_nights_allowed=false_alarms_a_month / NIGHTS_A_MONTH,
        finds=finds,
        peers_allowed=min(0.5, false_alarms_a_month / NIGHTS_A_MONTH),
        p_ranks=min(base.p_ranks, allowed),
        p_drift=min(base.p_drift, allowed),
    )
