# SPDX-License-Identifier: Apache-2.0
"""Nightly verdicts of a site of 12 series: the first month, and two runs of two days.

Simulated histories with known truth, as many a row; the shipped nightly campaign has 12 series
beside those of single nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from bench.rows import Row, efforts, mean, share
from bench.tests.simulated.nights import NOISES, Event, JudgedNights, judge_all, simulate
from records.history.model import History
from reports.statistics.descriptive import log_ratio_interval
from reports.verdicts.comparison import day_spreads, two_days_interval
from reports.verdicts.nightly.evidence import rules_for

TOPIC = "Nightly: sites of 12 series"
RUNS = efforts(2, 8, 100)
SERIES = 12
RULES = rules_for(SERIES)
MONTH = 30
NOTHING = Event("nothing")


def histories(event: Event, noise: str, spread: float, nights: int, n: int) -> Iterator[History]:
    """So many histories of 12 series."""
    for seed in range(n):
        yield simulate(event, NOISES[noise], spread, (SERIES, nights), 97 + seed)


def alarm_nights(told: JudgedNights, first: int, last: int) -> int:
    """Nights with a regression reported, from `first` to before `last`."""
    found = [place for place, item in told.findings if item.verdict == "regression"]
    return len({place for place in found if first <= place < last})


def first_told(told: JudgedNights, verdict: str, since: int) -> dict[int, int]:
    """For each series the first night from `since` on with this verdict, counted from there."""
    first: dict[int, int] = {}
    for place, item in told.findings:
        if item.verdict == verdict and place >= since:
            first.setdefault(item.series, place - since)
    return first


def first_month(n: int) -> Iterator[Row]:
    """False alarms among the first 30 nights, and steps in the first ten."""
    rows = [(noise, NOTHING) for noise in NOISES]
    for chance in (0.2, 0.3, 0.4):
        for by in (0.05, 0.08, 0.15):
            name = f"{chance:.0%} of launches +{by:.0%}"
            rows.append(("normal", Event(name, slow_launches=chance, slow_by=by)))
    for noise, event in rows:
        counts, later = [], []
        for history in histories(event, noise, 0.01, 2 * MONTH, n):
            told = judge_all(history, RULES)
            counts.append(alarm_nights(told, 0, MONTH))
            later.append(alarm_nights(told, MONTH, 2 * MONTH))
        yield mean(f"{noise} 1 %, {event.name}: false alarm nights, first month", counts, most=1.0)
        yield mean(f"{noise} 1 %, {event.name}: false alarm nights, second month", later, most=1.0)
    for at in (3, 5, 8):
        event = Event("step", step=0.08, at=at)
        found = [
            len(first_told(judge_all(history, RULES), "regression", at))
            for history in histories(event, "normal", 0.01, 60, max(1, n // 4))
        ]
        text = f"+8 % after {at} nights: reported within 60"
        yield share(text, sum(found), SERIES * len(found), least=0.95)


def two_days(n: int) -> Iterator[Row]:
    """Two runs of five launches with nothing changed, or 8 % slower; days differ by 1 %."""
    rng = np.random.default_rng(11)
    for change, text in ((0.0, "nothing changed: called better or worse"), (0.08, "+8 %: called")):
        for nights in (8, 30):
            hits = 0
            for history in histories(NOTHING, "normal", 0.01, nights, n):
                days = 0.01 * rng.standard_normal((SERIES, nights + 2))
                values = history.values * (1 + days[:, :nights])
                found = day_spreads(replace(history, values=values), ())
                for day, (first, second) in zip(found.values(), days[:, nights:], strict=True):
                    a = (1 + first) * (1 + 0.01 * rng.standard_normal(5))
                    b = (1 + second) * (1 + change) * (1 + 0.01 * rng.standard_normal(5))
                    result = log_ratio_interval(a.tolist(), b.tolist())
                    assert result is not None
                    known = two_days_interval(result[0], result[1], day)
                    hits += not known.low <= 1 <= known.high
            least = (0.9 if nights > 8 else 0.7) if change else None
            most = None if change else 0.05
            name = f"two runs, days ± 1 %, {nights} nights known, {text}"
            yield share(name, hits, SERIES * n, least=least, most=most)


def rows(n: int) -> Iterator[Row]:
    """All rows of so many histories."""
    for part in (first_month, two_days):
        yield from part(n)
