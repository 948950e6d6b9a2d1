# SPDX-License-Identifier: Apache-2.0
"""Nightly verdicts on simulated series: delays and false alarms; of a site of 12 series, as the
shipped campaign has, its first month and two runs of two days.

Simulated sites of 200 series with known truth: 30 nights of reference, then 80 nights judged one
after the other, with re-runs, as a site does it. The targets are what docs/nightly.md promises.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bench.rows import Bench, Row, mean, share
from bench.tests.simulated.nights import NOISES, Event, JudgedNights, judge_all, simulate
from records.history.model import History
from reports.statistics.descriptive import log_ratio_interval
from reports.verdicts.comparison import day_spreads, two_days_interval
from reports.verdicts.nightly.evidence import rules_for

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


def first_nights(
    told: JudgedNights, verdict: str, stages: str = "AB", since: int = FIRST
) -> dict[int, int]:
    """For each series the first night from the event on with this verdict of stage A or B."""
    first: dict[int, int] = {}
    for place, item in told.findings:
        if item.verdict == verdict and item.change and place >= since:
            stage = "A" if item.change.stage == "tonight" else "B"
            if stage in stages:
                first.setdefault(item.series, place - since)
    return first


def quiet_lines(site: Site, series: int) -> Iterator[Row]:
    """Rate of what was said without cause, by stage."""
    counts, reruns, found = {"A": 0, "B": 0}, 0, 0
    for told in judged(site, series):
        for stage in counts:
            false = first_nights(told, "regression", stage)
            false |= {} if site.truth else first_nights(told, "improvement", stage)
            counts[stage] += len(false)
        found += len(first_nights(told, "improvement"))
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
    delays, alone = first_nights(told, word), first_nights(slow, word, "B")
    wrong = len(first_nights(told, other))
    name = f"{site.noise} {site.spread:.1%}, {site.event.name}:"
    most = MOST_DELAY[site.event.bad_share]
    half = sorted(delays.values())[: max(1, series // 2)][-1:]
    aimed = site.event.step == 0.05 and site.spread <= 0.01
    kept = not aimed or (bool(half) and half[0] <= most)
    target = f"half by {most}" if aimed else ""
    yield Row(f"{name} nights until known", target, _delays(delays, series), kept)
    yield Row(f"{name} nights until known, stage B alone", "", _delays(alone, series))
    yield share(f"{name} reported in the wrong direction", wrong, series, most=0.0)


def large_sites(series: int, steps: int, noises: Sequence[str] = tuple(NOISES)) -> Iterator[Row]:
    """All rows with so many series each; of `noises` alone in a spread of 1 %, if not of all."""
    some = len(noises) < len(NOISES)

    def chosen(sites: Iterator[Site]) -> Iterator[Site]:
        return (one for one in sites if not some or (one.noise in noises and one.spread == 0.01))

    for site in chosen(quiet_sites()):
        yield from quiet_lines(site, series)
    for site in chosen(step_sites()):
        yield from step_lines(site, steps)


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
            len(first_nights(judge_all(history, RULES), "regression", since=at))
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


#: Series a row, series a row with a step, noises.
NIGHTLY = Bench(
    "Nightly: sites of 200 series",
    ((200, 20, ("normal",)), (200, 40, ("normal", "t(3)")), (4000, 200, tuple(NOISES))),
    (large_sites,),
)
SMALL_SITES = Bench("Nightly: sites of 12 series", (2, 8, 100), (first_month, two_days))
