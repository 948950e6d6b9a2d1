# SPDX-License-Identifier: Apache-2.0
"""What becomes of a suspect: re-runs confirm it, clear it, or leave it open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from statistics import median

from reports.verdicts.acceptance.levels import MOST_MISSES
from reports.verdicts.acceptance.model import Item

#: Re-runs that must show a suspect before it fails.
CONFIRMATIONS = 2
#: Fresh launches that clear a suspect, when they alone keep to the limit.
CLEARING = 5


def settled(item: Item, again: Sequence[float], *, at_once: bool = False) -> Item:
    """A suspect with what its shares in re-runs, `again`, say of it.

    `at_once`: so much of the machine is concerned that it fails before it is confirmed.
    """
    beyond = [share for share in again if not _keeps(item, share)]
    if not again:
        note = "suspected: it fails when re-runs confirm it"
        if at_once:
            note = "suspected; it fails unless re-runs clear it"
        verdict = item.verdict if at_once else "SUSPECT"
        return replace(item, verdict=verdict, state="suspected", note=note)
    if len(beyond) >= CONFIRMATIONS and 2 * len(beyond) > len(again):
        note = f"confirmed by {len(beyond)} of {len(again)} re-runs"
        return replace(item, verdict="FAIL", state="confirmed", note=note)
    if clears(item, again):
        return replace(item, verdict="PASS", state="not confirmed", note="cleared by re-runs")
    note = f"not confirmed: {len(beyond)} of {len(again)} re-runs are beyond the limit"
    return replace(item, verdict="INCONCLUSIVE", state="not confirmed", note=note)


def clears(item: Item, again: Sequence[float]) -> bool:
    """Whether fresh launches alone keep to the item's limit: their median, and most of them."""
    if len(again) < CLEARING or not _keeps(item, median(again)):
        return False
    beyond = sum(not _keeps(item, share) for share in again)
    return beyond <= MOST_MISSES * len(again)


def _keeps(item: Item, share: float) -> bool:
    least = -inf if item.at_least is None else item.at_least
    most = inf if item.at_most is None else item.at_most
    return least <= share <= most
