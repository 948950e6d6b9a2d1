# SPDX-License-Identifier: Apache-2.0
"""Simulated histories with known truth: many series, each with its own noise and one event."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

import numpy as np

from records.history.model import Change, History, Launches, Night, SeriesKey
from reports.load.nights import nights_of
from reports.statistics.descriptive import Matrix
from reports.verdicts.nightly.evidence import Rules, evidence
from reports.verdicts.nightly.forms import NightFinding
from reports.verdicts.nightly.judge import judge as judge_night

Noise = Callable[[np.random.Generator, tuple[int, ...]], Matrix]

LAUNCHES, GROWS_AFTER = 5, 15


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> Matrix:
    """Standard normal."""
    return rng.standard_normal(shape)


def heavy(rng: np.random.Generator, shape: tuple[int, ...]) -> Matrix:
    """Student's t with 3 degrees of freedom, scaled to the normal's quartiles."""
    return rng.standard_t(3, shape) * (0.6745 / 0.7649)


def skewed(rng: np.random.Generator, shape: tuple[int, ...]) -> Matrix:
    """Log-normal of shape 0.6, median 0, quartile distance of the normal: slow launches only."""
    return (np.exp(0.6 * rng.standard_normal(shape)) - 1) * (2 * 0.6745 / 0.8286)


def mixed(rng: np.random.Generator, shape: tuple[int, ...]) -> Matrix:
    """A third of the series (the first axis) normal, a third log-normal, the rest heavy-tailed."""
    parts = np.array_split(np.arange(shape[0]), 3)
    kinds = (normal, skewed, heavy)
    return np.concatenate(
        [kind(rng, (len(part), *shape[1:])) for kind, part in zip(kinds, parts, strict=True)]
    )


NOISES: dict[str, Noise] = {"normal": normal, "log-normal": skewed, "t(3)": heavy, "mixed": mixed}


@dataclass(frozen=True)
class Event:
    """Event that hits all series of a simulation, from night `at` (a position) on.

    `step` and `drift` are fractions of a time (positive is worse; the drift takes 60 nights).
    `bad_share` of the nights of each series are slower by `bad_step`, for the whole night (re-runs
    too) or until the re-run. `context_at` is the night of a new context. With `good_reruns` stage A
    never alarms: stage B alone.

    `grows` is a second step, GROWS_AFTER nights after the first; the steps end `lasts` nights
    after `at`. A launch is slower by `slow_by` with the chance `slow_launches`.
    """

    name: str
    step: float = 0.0
    drift: float = 0.0
    at: int = 30
    bad_share: float = 0.0
    bad_step: float = 0.10
    whole_night: bool = False
    good_reruns: bool = False
    context_at: int | None = None
    grows: float = 0.0
    lasts: int | None = None
    slow_launches: float = 0.0
    slow_by: float = 0.08


def simulate(
    event: Event, noise: Noise, spread: float, shape: tuple[int, int], seed: int
) -> History:
    """A history of shape (series, nights) of times around 1 s.

    Launches vary by `spread`, nights by half of it, both with `noise`.
    """
    rng = np.random.default_rng(seed)
    nights = shape[1]
    level = np.ones(nights)
    after = np.arange(nights) - event.at
    stepped = (after >= 0) & (after < (nights if event.lasts is None else event.lasts))
    level[stepped] *= 1 + event.step
    level[stepped & (after >= GROWS_AFTER)] *= 1 + event.grows
    level *= 1 + event.drift * np.clip(after / 60, 0, 1)
    night = level * (1 + 0.5 * spread * noise(rng, shape))
    bad = np.where(rng.random(shape) < event.bad_share, 1 + event.bad_step, 1.0)
    again = bad if event.whole_night else np.ones(shape)
    again = np.full(shape, 0.5) if event.good_reruns else again
    values, reruns = (
        _medians(rng, night * slower, noise, spread, event) for slower in (bad, again)
    )
    return history_of(values, reruns, event.context_at)


def _medians(
    rng: np.random.Generator, night: Matrix, noise: Noise, spread: float, event: Event
) -> Matrix:
    launches = night[..., np.newaxis] * (1 + spread * noise(rng, (*night.shape, LAUNCHES)))
    if event.slow_launches:
        launches *= np.where(rng.random(launches.shape) < event.slow_launches, 1 + event.slow_by, 1)
    medians: Matrix = np.median(launches, axis=-1)
    return medians


def history_of(
    values: Matrix, reruns: Matrix, context_at: int | None, sets: Sequence[tuple[str, ...]] = ()
) -> History:
    """The history of values of series by night; `sets`: the nodes of each, if they differ."""
    sets = sets or [("n1", "n2")] * values.shape[1]
    contexts = ({"host.kernel": "6.1"}, {"host.kernel": "6.2"})
    nights = [
        Night(
            run_id=f"night-{place}",
            site="simulated",
            campaign="nightly",
            started_at=f"{date(2026, 1, 1) + timedelta(place)}T02:00:00Z",
            context=contexts[context_at is not None and place >= context_at]
            | {"nodes": " ".join(sets[place])},
            nodes=sets[place],
            statuses={"ok": LAUNCHES},
            id=place + 1,
        )
        for place in range(values.shape[1])
    ]
    keys = [
        SeriesKey(f"case-{place}", "hpl", "mpich", {}, "time", "s", "lower", {}, "time", "HPL")
        for place in range(len(values))
    ]
    counts = np.full(values.shape, LAUNCHES)
    ids = list(range(1, len(values) + 1))
    away, unexplained = np.full_like(values, np.nan), np.zeros(values.shape, dtype=np.bool_)
    return History(nights, keys, ids, values, counts, reruns, counts.copy(), away, unexplained)


@dataclass(frozen=True)
class JudgedNights:
    """Findings of each night: (position of the night, finding). `changes` as at the end."""

    findings: list[tuple[int, NightFinding]]
    changes: list[Change]


def judge_all(history: History, rules: Rules, first: int = 0) -> JudgedNights:
    """Judge every night from position `first` on, as a site would, one after the other.

    A night's re-runs are seen only of the series that its first judgement suspects.
    """
    relaunches: Launches = {}
    nights = nights_of(replace(history, relaunches=relaunches), rules.least_launches)
    reruns, nights = nights.reruns, replace(nights, reruns=np.full_like(nights.reruns, np.nan))
    changes, unexplained = list[Change](), history.unexplained.copy()
    told: list[tuple[int, NightFinding]] = []
    for place in range(first, len(history.nights)):
        judgement = judge_night(evidence(nights, place, changes, rules, unexplained))
        suspects = [finding.series for finding in judgement.of("suspect")]
        if suspects:
            nights.reruns[suspects, place] = reruns[suspects, place]
            again = {(row, place) for row in suspects} & history.relaunches.keys()
            relaunches |= {key: history.relaunches[key] for key in again}
            judgement = judge_night(evidence(nights, place, changes, rules, unexplained))
        changes = judgement.changes
        unexplained[[finding.series for finding in judgement.of("suspect")], place] = True
        told += [(place, finding) for finding in judgement.findings]
    return JudgedNights(told, changes)
