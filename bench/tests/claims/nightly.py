# SPDX-License-Identifier: Apache-2.0
"""Nightly verdicts on simulated series: delays and false alarms.

Simulated sites of 200 series with known truth: 30 nights of reference, then 80 nights judged one
after the other, with re-runs, as a site does it. The targets are what docs/nightly.md promises.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bench.rows import Row, efforts, share
from bench.tests.simulated.nights import NOISES, Event, JudgedNights, judge_all, simulate
from reports.verdicts.nightly.evidence import rules_for

TOPIC = "Nightly: sites of 200 series"
#: Series a row, series a row with a step, noises.
RUNS = efforts((200, 20, ("normal",)), (200, 40, ("normal", "t(3)")), (4000, 200, tuple(NOISES)))
SITE = 200
FIRST = 30
NIGHTS = 80
SPREADS = (0.005, 0.01, 0.02)
BAD_SHARES = (0.0, 0.02, 0.05)
#: Greatest share of series with a false alarm in 80 nights, by stage, and in noise of 1 % the
#: nights until a step of 5 % is known to half of all series, by the share of whole nights bad:
#: with one in twenty bad, four nights beyond all others are no longer rare.
MOST_FALSE = {"A": 0.001, "B": 0.01}
MOST_DELAY = {0.0: 3, 0.02: 3, 0.05: 5}


@dataclass(frozen=True)
class Site:
    """Sites of a row: noise, its spread (CV of launches), what happens; `truth` is +1 where a
    regression is right, −1 an improvement, 0 nothing."""

    noise: str
    spread: float
    event: Event
    truth: int = 0


def _bad(event: Event, share: float) -> Event:
    """The event with this share of whole nights bad, re-runs too."""
    text = f"{event.name}; {share:.0%} of nights bad" if share else event.name
    return replace(event, name=text, bad_share=share, whole_night=True)


def quiet_sites() -> Iterator[Site]:
    """Where nothing may be said, or an improvement only."""
    nothing = Event("nothing")
    for noise in NOISES:
        for spread in SPREADS if noise != "mixed" else (0.01,):
            for part in BAD_SHARES:
                yield Site(noise, spread, _bad(nothing, part))
        yield Site(noise, 0.01, Event("bad moments in 5 % of nights", bad_share=0.05))
        yield Site(noise, 0.01, Event("new context, no effect", context_at=FIRST))
        yield Site(noise, 0.01, Event("5 % better, then nothing", step=-0.05), -1)
        yield Site(noise, 0.01, Event("new context, 5 % better", context_at=FIRST, step=-0.05), -1)


def step_sites() -> Iterator[Site]:
    """Where something happens that is to be found."""
    five = Event("+5 %", step=0.05)
    for noise in NOISES:
        for spread in SPREADS if noise != "mixed" else (0.01,):
            yield Site(noise, spread, five, 1)
            yield Site(noise, spread, Event("+3 %", step=0.03), 1)
        for part in BAD_SHARES[1:]:
            yield Site(noise, 0.01, _bad(five, part), 1)
        yield Site(noise, 0.01, Event("-3 % (better)", step=-0.03), -1)
        yield Site(noise, 0.01, Event("new context and +5 %", context_at=FIRST, step=0.05), 1)
        yield Site(noise, 0.01, Event("drift, +6 % in 60 nights", drift=0.06), 1)


def judged(site: Site, series: int) -> Iterator[JudgedNights]:
    """Judged nights of each site of 200 series, as many sites as are needed."""
    for number in range(max(1, series // SITE)):
        shape = (min(SITE, series), FIRST + NIGHTS)
        history = simulate(site.event, NOISES[site.noise], site.spread, shape, 20031 + number)
        yield judge_all(history, rules_for(shape[0]), FIRST)


def first_nights(told: JudgedNights, verdict: str, stages: str) -> dict[int, int]:
    """For each series the first night from the event on with this verdict of stage A or B."""
    first: dict[int, int] = {}
    for place, item in told.findings:
        if item.verdict == verdict and item.change:
            stage = "A" if item.change.stage == "tonight" else "B"
            if stage in stages:
                first.setdefault(item.series, place - FIRST)
    return first


def quiet_lines(site: Site, series: int) -> Iterator[Row]:
    """Rate of what was said without cause, by stage."""
    counts, reruns, found = {"A": 0, "B": 0}, 0, 0
    for told in judged(site, series):
        for stage in counts:
            false = first_nights(told, "regression", stage)
            false |= {} if site.truth else first_nights(told, "improvement", stage)
            counts[stage] += len(false)
        found += len(first_nights(told, "improvement", "AB"))
        reruns += sum(item.verdict == "dismissed" for _, item in told.findings)
    name = f"{site.noise} {site.spread:.1%}, {site.event.name}:"
    for stage, most in MOST_FALSE.items():
        what = f"{name} false alarm in {NIGHTS} nights, stage {stage}"
        yield share(what, counts[stage], series, most=most)
    yield share(f"{name} idle re-runs a night", reruns, series * NIGHTS)
    if site.truth:
        yield share(f"{name} improvement known", found, series)


def _delays(delays: dict[int, int], series: int) -> str:
    """The nights by which half and nine tenths of all series were found; share never found."""
    ordered = sorted(delays.values())
    parts = []
    for part in (0.5, 0.9):
        place = int(np.ceil(part * series)) - 1
        parts.append(str(ordered[place]) if place < len(ordered) else "–")
    return f"half by {parts[0]}, 9/10 by {parts[1]}, missed {1 - len(delays) / series:.1%}"


def step_lines(site: Site, series: int) -> Iterator[Row]:
    """When a change is known, by both stages and by stage B alone."""
    word, other = ("regression", "improvement")[:: site.truth]
    (told,) = judged(site, series)
    (slow,) = judged(replace(site, event=replace(site.event, good_reruns=True)), series)
    delays, alone = first_nights(told, word, "AB"), first_nights(slow, word, "B")
    wrong = len(first_nights(told, other, "AB"))
    name = f"{site.noise} {site.spread:.1%}, {site.event.name}:"
    most = MOST_DELAY[site.event.bad_share]
    half = sorted(delays.values())[: max(1, series // 2)][-1:]
    aimed = site.event.step == 0.05 and site.spread <= 0.01
    kept = not aimed or (bool(half) and half[0] <= most)
    target = f"half by {most}" if aimed else ""
    yield Row(f"{name} nights until known", target, _delays(delays, series), kept)
    yield Row(f"{name} nights until known, stage B alone", "", _delays(alone, series))
    yield share(f"{name} reported in the wrong direction", wrong, series, most=0.0)


def rows(series: int, steps: int, noises: Sequence[str] = tuple(NOISES)) -> Iterator[Row]:
    """All rows with so many series each; of `noises` alone in a spread of 1 %, if not of all."""
    some = len(noises) < len(NOISES)

    def chosen(sites: Iterator[Site]) -> Iterator[Site]:
        return (one for one in sites if not some or (one.noise in noises and one.spread == 0.01))

    for site in chosen(quiet_sites()):
        yield from quiet_lines(site, series)
    for site in chosen(step_sites()):
        yield from step_lines(site, steps)
