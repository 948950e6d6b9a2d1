# SPDX-License-Identifier: Apache-2.0
"""Measures the nightly verdicts: python -m reports.nightly.bench_nightly [SERIES].

Simulated series with known truth give delays and false alarms; each noise is judged as a history of
SERIES series over 80 nights after 30 of reference. Then the cost of three years of 500 series.
Exits 1 when a goal of the tables is missed.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

from campaigns.history.model import NightValues
from campaigns.history.store import Store
from reports.nightly.check import check_history
from reports.nightly.rules import rules_for
from reports.nightly.simulated import NOISES, Event, Told, judge_all, normal, simulate

SERIES = 100
FIRST = 30
NIGHTS = 110
SPREADS = (0.01, 0.02)
EVENTS = (
    Event("nothing"),
    Event("+3 %", step=0.03),
    Event("+5 %", step=0.05),
    Event("+10 %", step=0.10),
    Event("-5 % (better)", step=-0.05),
    Event("drift +6 % in 60 nights", drift=0.06),
    Event("bad moments (5 % of nights)", bad_share=0.05),
    Event("new context, no effect", context_at=30),
    Event("new context and +5 %", context_at=30, step=0.05),
)
#: Greatest share of series with a false alarm in 80 nights, and nights until half of all +5 %
#: steps in noise of 1 % are known.
MOST_FALSE = 0.011
MOST_DELAY = 3


def first_nights(told: Told, verdict: str) -> dict[int, int]:
    """For each series the first night from the event on with this verdict."""
    first: dict[int, int] = {}
    for place, finding in told.findings:
        if finding.verdict == verdict:
            first.setdefault(finding.series, place - FIRST)
    return first


def quantile(delays: list[int], series: int, share: float) -> str:
    """The night by which this share of all series was found; a dash if it never was."""
    if len(delays) < share * series:
        return "–"
    return str(sorted(delays)[max(0, int(np.ceil(share * series)) - 1)])


def row(noise: str, spread: float, event: Event, series: int) -> bool:
    """One row of the table; whether it keeps the goals."""
    history = simulate(event, NOISES[noise], spread, (series, NIGHTS), 20031)
    told = judge_all(history, rules_for(series), FIRST)
    worse, better = (first_nights(told, word) for word in ("regression", "improvement"))
    stages = Counter(
        item.change.stage
        for _, item in told.findings
        if item.verdict == "regression" and item.change
    )
    again = sum(item.verdict == "dismissed" for _, item in told.findings)
    real, false = (better, worse) if event.step < 0 else (worse, better)
    if not event.step and not event.drift:
        real, false = {}, worse | better
    delays = list(real.values())
    print(
        f"{noise:12} {spread:4.0%} {event.name:28} found {len(real) / series:6.1%}"
        f"  half by {quantile(delays, series, 0.5):>3}  nine tenths by"
        f" {quantile(delays, series, 0.9):>3}  false {len(false) / series:6.2%}"
        f"  re-runs without alarm {again / series / (NIGHTS - FIRST):8.4%}"
        f"  stages {dict(stages)}",
        flush=True,
    )
    kept = len(false) / series <= MOST_FALSE
    if event.step == 0.05 and spread == 0.01:
        half = quantile(delays, series, 0.5)
        kept &= half != "–" and int(half) <= MOST_DELAY
    return kept


def cost(series: int = 500, nights: int = 1095) -> None:
    """Three years of 500 series: adding and judging one more night."""
    history = simulate(Event("nothing"), normal, 0.01, (series, nights), 1)
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        path = Path(folder) / "history.sqlite"
        with Store(path, create=True) as store:
            started = time.monotonic()
            for place, night in enumerate(history.nights):
                values = [
                    NightValues(key, (value,) * 5)
                    for key, value in zip(
                        history.series, history.values[:, place].tolist(), strict=True
                    )
                ]
                store.add(night, values)
            adding = (time.monotonic() - started) / nights
            store.database.execute("UPDATE night SET judged=1 WHERE id<?", (nights,))
            started = time.monotonic()
            checked = check_history(store, "simulated", "nightly")
            taken = time.monotonic() - started
        size = path.stat().st_size
    print(
        f"{nights} nights × {series} series: {adding * 1e3:.1f} ms to add a night, {taken:.2f} s to"
        f" judge one ({checked.judgement.judged} series), {size / 1e6:.0f} MB on disk"
    )


def main(arguments: list[str]) -> int:
    """Entry point; see the module's docstring."""
    series = int(arguments[0]) if arguments else SERIES
    kept = [
        row(noise, spread, event, series)
        for noise in NOISES
        for spread in SPREADS
        for event in (EVENTS if spread == SPREADS[0] else EVENTS[:3])
    ]
    cost()
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
