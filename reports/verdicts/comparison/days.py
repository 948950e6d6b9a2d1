# SPDX-License-Identifier: Apache-2.0
"""The spread between days of a site, from the history of the campaign.

Launches of one day share its conditions, so their spread says nothing about days: with days that
differ by 1 % and nothing changed, two thirds of all cells would read "better" or "worse".
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from records.history.model import History
from records.history.reading import read_history
from records.history.store import Store
from reports.load.nights import bad_nights, level_numbers, nights_of
from reports.statistics.descriptive import LEVEL, Interval
from reports.statistics.levels import residuals

#: Fewer nights tell nothing about days.
LEAST_NIGHTS = 5

#: Case id, metric and point of a series.
Cell = tuple[str, str, tuple[tuple[str, Any], ...]]


@dataclass(frozen=True, slots=True)
class DaySpread:
    """The standard deviation of a series' nights, of logarithms, from `nights` nights."""

    spread: float
    nights: int


def cell_of(case_id: str, metric: str, at: Mapping[str, Any]) -> Cell:
    """The key of a series in `day_spreads`."""
    return case_id, metric, tuple(sorted(at.items()))


def read_days(
    path: Path | None, site: str, campaign: str, runs: Collection[str]
) -> dict[Cell, DaySpread]:
    """The spreads of a campaign's days on a site; empty without a history of it."""
    if path is None or not path.is_file():
        return {}
    with Store(path) as store:
        if (site, campaign) not in [(s, c) for s, c, _ in store.groups()]:
            return {}
        return day_spreads(read_history(store, site, campaign), runs)


def day_spreads(history: History, runs: Collection[str]) -> dict[Cell, DaySpread]:
    """For each series how far its nights lie from their level; `runs` are left out.

    Nights of one level are compared: a new context, an accepted change and an improvement begin a
    new one; nights inside a regression are left out. The root mean square of a night's deviation
    holds the noise of its launches too.
    """
    nights = nights_of(history)
    chosen = np.isfinite(nights.values) & (nights.values > 0)
    chosen &= ~bad_nights(history, history.changes)
    chosen[:, [night.run_id in runs for night in history.nights]] = False
    away = residuals(nights.values, chosen, level_numbers(nights, history.changes))
    found = {}
    for key, row in zip(history.series, away, strict=True):
        known = row[np.isfinite(row)]
        if len(known) >= LEAST_NIGHTS:
            spread = float(np.sqrt(np.mean(known**2)))
            found[cell_of(key.case_id, key.metric, key.at)] = DaySpread(spread, len(known))
    return found


def two_days_interval(ratio: float, launches: Interval, days: DaySpread) -> Interval:
    """The interval of a ratio of two runs as of two nights: exp(ln ratio ± t(m − 1)·s·√2).

    s is the spread of m nights. Never narrower than `launches`, the interval of the launches alone.
    """
    half = float(special.stdtrit(days.nights - 1, 0.5 + LEVEL / 2)) * days.spread * 2**0.5
    low, high = ratio * float(np.exp(-half)), ratio * float(np.exp(half))
    return Interval(min(low, launches.low), max(high, launches.high), LEVEL, "t of nights")
