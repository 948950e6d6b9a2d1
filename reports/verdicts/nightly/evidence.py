# SPDX-License-Identifier: Apache-2.0
"""Evidence of one night: from a run directory to a night; its values, their reference, and how much
worse they may be; the rules of the verdicts.

The rules follow from the alarms allowed. Night-to-night noise is rarely normal, and the spread of a
series is known from a few dozen nights only; a limit from the normal's tail gives many times the
alarms that it promises. So deviations of all series, in units of their spread, are pooled, and the
quantile that keeps the budget follows from their tail (reports/statistics/levels.py).
"""

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from records.errors import AssayError
from records.history import USUAL_FINDS
from records.history.model import Change, History, Night, NightValues, SeriesKey, context_of
from records.site.node_facts import kinds_of
from records.text.plain_text import one_line
from reports.load.loading import Run, load_run
from reports.load.nights import (
    LASTING_NIGHTS,
    LEAST_LAUNCHES,
    SETTLED_NIGHTS,
    Nights,
    bad_nights,
    begins_level,
    level_numbers,
)
from reports.statistics import levels
from reports.statistics.descriptive import MAD, Matrix
from reports.statistics.levels import Counts, Mask, last_of, residuals
from reports.verdicts.nightly.forms import case_names

MOST_FAILURES = 50


def read_night(directory: Path) -> tuple[Night, list[NightValues]]:
    """The night of a run directory: its context, its counts, the values of its ok launches.

    Of each check its deciding metric and those beside it are kept, all metrics where none decides.
    A metric that is not
    positive (and may not be zero) is left out with a warning. Raises AssayError for a directory
    that is no run, whose records are damaged, or that tells no time: nothing of it may then enter
    a history.
    """
    run = load_run(directory)
    warnings = list(run.warnings)
    values = []
    register = run.plan.register
    for series in run.series:
        case = run.plan.cases[series.case]
        if not register.is_kept(case.check, series.metric):
            continue
        metric = register.metrics[series.metric]
        if (series.values <= 0).any() and not metric.may_be_zero:
            warnings.append(f"{case.id}: {metric.name} is not positive; it was left out")
            continue
        key = SeriesKey(
            case_id=case.id,
            check=case.check,
            environment=case.environment,
            params=case.params,
            metric=metric.name,
            unit=metric.unit,
            better=metric.better,
            at=dict(series.at),
            title=register.metric_title(metric.name),
            check_title=register.check_title(case.check),
        )
        values.append(NightValues(key, tuple(series.values.tolist())))
    return _night(run, directory, warnings), values


def _night(run: Run, directory: Path, warnings: list[str]) -> Night:
    counted = [*run.launches.where(run.launches.counted)]
    failures = [
        f"{run.case(launch).id} {run.case(launch).environment} block {launch.block}:"
        f" {launch.status}: {one_line(launch.reason or 'no reason recorded')}"
        for launch in counted
        if launch.status in ("failed", "wrong", "lost")
    ]
    return Night(
        run_id=run.run_id,
        site=run.plan.site,
        campaign=run.plan.campaign,
        started_at=_begun(run),
        context=context_of(run.provenance, run.nodes),
        nodes=run.nodes,
        statuses=dict(Counter(launch.status for launch in counted)),
        failures=tuple(failures[:MOST_FAILURES]),
        warnings=tuple(warnings),
        run_path=str(directory),
        kinds=kinds_of(run.provenance.nodes),
    )


def _begun(run: Run) -> str:
    """When the run began, or else its first launch, or else as its id says."""
    starts = (one.started_at for one in run.launches.details.values() if one.started_at)
    begun = run.provenance.started_at or min(starts, default=run.run_id.partition("-")[0])
    try:
        moment = datetime.fromisoformat(begun)
    except ValueError as error:
        raise AssayError(
            f"{run.directory / 'provenance.json'}: `started_at`: found {begun!r:.100}, allowed is a"
            " time such as 2026-11-20T23:50:11Z; put back the file that `assay run` wrote"
        ) from error
    return moment.isoformat().replace("+00:00", "Z")


_NIGHTS_A_MONTH = 30
#: A reference has up to so many nights; from so many on a series is judged.
MOST_NIGHTS, JUDGED_FROM = 60, 3
#: The least change that is worth reporting, and of the latency of small messages; no spread is
#: taken for less.
FLOOR, FLOOR_SMALL_LATENCY, LEAST_SPREAD = 0.03, 0.05, 0.002


@dataclass(frozen=True, slots=True)
class Rules:
    """Chances, a fraction of the reference's median, and a number of launches.

    `allowed` is the chance of a false alarm a series and night that each stage may have;
    `alarms_a_night` that of all series together, which is also the share of nights on which the
    whole site may be slow and alarm, and the chance that any sound node is suspected beside its
    peers. `finds` is the least change that the site wants reported: no wider limit supports PASS,
    and nodes of a kind may differ by so much.
    """

    allowed: float = 1e-3
    alarms_a_night: float = 1 / _NIGHTS_A_MONTH
    finds: float = USUAL_FINDS
    least_launches: int = LEAST_LAUNCHES

    @property
    def allowed_tonight(self) -> float:
        """The chance of a value beyond tonight's limit: never above 0.001 in 80 nights, and a fifth
        of that, for the tail behind the limit is fitted: simulated t(3) noise at the whole chance
        gave 1 % of series a false alarm in 80 nights."""
        return 0.2 * min(0.001 / 80, self.allowed)

    @property
    def p_ranks(self) -> float:
        """The greatest p of the rank test of a change that stays."""
        return min(1e-3, self.allowed)

    @property
    def p_drift(self) -> float:
        """The greatest p of a drift."""
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
    Stage A takes its limit from the site's own tail at that chance (`limits`), or from Student's
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


#: Variance of a median of n normal values, times n, in units of theirs.
_MEDIAN_VARIANCE = np.pi / 2
#: The nights of a reference are dealt into so many parts, each judged by the others.
_PARTS = 5
#: A night is slow as a whole when the median of so many series deviates by so many spreads.
_LEAST_SERIES, _SLOW = 5, 3.0
#: Nights this far out that were seen in the pool are part of the site's noise, times a margin.
_SEEN, _MARGIN = 3, 1.15
#: A limit owes no more than this to a tail that fewer than so many deviations tell; while no tail
#: is known, the nights of all series together may widen it to twice as much.
_WIDEST, _TRUSTED_DEVIATIONS, _WIDEST_EARLY = 0.10, 3000, 0.20


@dataclass(frozen=True, slots=True)
class References:
    """For each series its level (median of `n` nights, unit of the values) and its spread.

    `spread` is a fraction of the level, from `n_spread` nights: max(1.4826·MAD, 0.2 %) from 10
    nights on, the standard deviation (ddof 1) below. NaN where there is no night.
    """

    n: Counts
    median: Matrix
    spread: Matrix
    n_spread: Counts


def references(values: Matrix, level: Mask, away: Matrix) -> References:
    """The reference of each series: `values` where `level` is set; spread from residuals `away`."""
    n_spread = np.isfinite(away).sum(axis=1)
    with warnings.catch_warnings(action="ignore"):  # of rows with fewer than two nights: NaN
        early = np.nanstd(away, axis=1, ddof=1)
    spread = np.where(n_spread >= SETTLED_NIGHTS, MAD * levels.row_medians(np.abs(away)), early)
    medians = levels.row_medians(np.where(level, values, np.nan))
    return References(level.sum(axis=1), medians, np.maximum(spread, LEAST_SPREAD), n_spread)


def limits(reference: References, away: Matrix, floors: Matrix, rules: Rules) -> Matrix:
    """Limit of each series: by what fraction of its level a night may be worse; NaN: not judged.

    `away` are the residuals of the reference's nights, worse positive. The limit is
    max(floor, s·√(1 + π/2n)·q), s from m nights, the level a median of n: a prediction limit. q is
    the far quantile of the site's own nights (`fit_tail`): simulated log-normal noise goes beyond
    the 99.9 % limit of normal noise in 1 % of series in 80 nights, ten times what is allowed.
    Without enough nights for a tail q is Student's quantile at the allowed chance. A tail fitted
    to a few hundred deviations, or Student's quantile with few degrees of freedom, can reach fifty
    times the spread: with 12 series 12 % of simulated limits were above 10 % after 33 nights. So
    beyond 10 % goes only what the spread itself requires, what was seen, and a tail known from
    `_TRUSTED_DEVIATIONS`.
    """
    crossed = without_slow_nights(
        levels.crossed_deviations(away, _PARTS, 2 * SETTLED_NIGHTS, LEAST_SPREAD),
        rules.alarms_a_night,
    )
    tail, chance = levels.fit_tail(crossed), rules.allowed_tonight
    widened = reference.spread * np.sqrt(1 + _MEDIAN_VARIANCE / np.maximum(reference.n, 1))
    early = (reference.n_spread < SETTLED_NIGHTS) | (tail is None)
    in_pool = widened * _MARGIN * levels.greatest_of(crossed, _SEEN)
    seen = np.where(early, _seen_early(away), in_pool)
    required = widened * -special.stdtrit(MOST_NIGHTS - 1, chance)
    bounds = np.fmax(np.maximum(_WIDEST, required), seen)
    trusted = np.isfinite(crossed).sum() >= _TRUSTED_DEVIATIONS
    freedom = np.maximum(reference.n_spread - 1, 1)
    far = np.where(early, -special.stdtrit(freedom, chance), tail(chance) if tail else 0.0)
    limit = np.minimum(widened * far, np.where(trusted & ~early, np.inf, bounds))
    limit = np.fmax(np.where(early, np.fmax(limit, seen), limit), floors)
    usable = (reference.n > 0) & np.isfinite(widened) & (reference.median > 0)
    return np.where(usable, limit, np.nan)


def _seen_early(away: Matrix) -> Matrix:
    """Stray of the first nights: a series' own, or three of all series, with a margin.

    Launches with two speeds give nights with two levels, and the first weeks of a history know
    neither how far apart nor how often. What three nights of the pool showed all series may do, up
    to `_WIDEST_EARLY`.
    """
    own = np.nan_to_num(away, nan=0.0).max(axis=1, initial=0.0)
    seen: Matrix = _MARGIN * np.maximum(own, min(levels.greatest_of(away, _SEEN), _WIDEST_EARLY))
    return seen


def without_slow_nights(deviations: Matrix, allowed: float) -> Matrix:
    """The deviations (groups × nights); of a night on which half of all series were slow, less its
    median.

    Such a night is one event, not one a series: counted a series it would make the site's tail so
    heavy that the loss of a sixth in a single series is not seen. The next such night alarms, once;
    where their share is above `allowed`, they stay in the tail and no longer alarm.
    """
    counts = np.isfinite(deviations).sum(axis=0)
    middle = np.where(counts >= _LEAST_SERIES, levels.row_medians(deviations.T), 0.0)
    slow = middle > _SLOW
    most = max(1, round((counts > 0).sum() * allowed))
    return deviations - np.where(slow, middle, 0.0) if slow.sum() <= most else deviations


#: Message lengths up to this are start-up bound; their floor is wider.
SMALL_MESSAGE_BYTES = 1024
_NEAR = 0.4


@dataclass(frozen=True)
class Tonight:
    """The night at `position`, the last column of matrices (series, nights), and what it is
    compared with.

    `changes` are those known before it. `values` and `reruns` end with it; `bad`: inside a
    regression that was not accepted; `unexplained`: worse than allowed, and neither explained nor
    accepted. A series' present reference begins with the night `since`. `floors`: the least change
    of a series that is worth reporting; `worse` is tonight's worsening, `limit` what it may be,
    fractions of the reference.
    """

    nights: Nights
    position: int
    changes: Sequence[Change]
    rules: Rules
    values: Matrix
    reruns: Matrix
    unexplained: Mask
    bad: Mask
    floors: Matrix
    since: Counts
    reference: References
    limit: Matrix
    worse: Matrix

    @property
    def history(self) -> History:
        """The history, of which nothing after tonight is looked at."""
        return self.nights.history

    @property
    def night(self) -> Night:
        """The night."""
        return self.history.nights[self.position]

    @cached_property
    def names(self) -> dict[str, str]:
        """Names of the cases, by case id."""
        return case_names(self.history)

    @property
    def near_limit(self) -> Matrix:
        """Share of the limit, not below the floor: what each of four nights in a row may be. Of
        normal noise, where they are most frequent, four such nights have the chance of one beyond
        the limit."""
        return np.maximum(self.floors, _NEAR * self.limit)

    @property
    def value(self) -> Matrix:
        """Tonight's values."""
        return self.values[:, -1]


def evidence(
    nights: Nights,
    position: int,
    changes: Sequence[Change],
    rules: Rules,
    unexplained: Mask | None = None,
) -> Tonight:
    """Evidence on the night at `position`, given the changes known before it. `unexplained`
    (series, nights) is the history's where it is None."""
    history, end = nights.history, position + 1
    values, reruns = nights.values[:, :end], nights.reruns[:, :end]
    unexplained = (history.unexplained if unexplained is None else unexplained)[:, :end]
    bad, floors = bad_nights(history, changes)[:, :end], floors_of(history)
    since = np.zeros(len(values), dtype=np.int64)
    for change in filter(begins_level, changes):
        since[change.series] = max(since[change.series], history.position(change.since))
    earlier = np.arange(end)
    learnt = _learnt(values, unexplained | bad) & (earlier < position)
    # Of a night that was run again the better of both values.
    sign = nights.direction[:, np.newaxis]
    better = np.where(np.isfinite(values), sign * np.fmin(sign * values, sign * reruns), np.nan)
    levels = level_numbers(nights, changes)[:, :end]
    away = residuals(better, _spread_nights(learnt), levels)
    # The level: nights of tonight's own context; where those are too few, all of the reference.
    before = learnt & (earlier >= since[:, np.newaxis])
    own = before & (earlier >= nights.contexts[:, position, np.newaxis])
    enough = own.sum(axis=1, keepdims=True) >= SETTLED_NIGHTS
    level = last_of(np.where(enough, own, before), MOST_NIGHTS)
    reference = references(values, level, away)
    usual = reference.median
    return Tonight(
        nights=nights,
        position=position,
        changes=changes,
        rules=rules,
        values=values,
        reruns=reruns,
        unexplained=unexplained,
        bad=bad,
        floors=floors,
        since=since,
        reference=reference,
        limit=limits(reference, away * sign, floors, rules),
        worse=nights.direction * (values[:, -1] / np.where(usual > 0, usual, np.nan) - 1),
    )


def floors_of(history: History) -> Matrix:
    """The least change of each series that is worth reporting; more for short messages."""
    small = [
        key.unit == "s" and key.at.get("message_bytes", np.inf) <= SMALL_MESSAGE_BYTES
        for key in history.series
    ]
    floors: Matrix = np.where(small, FLOOR_SMALL_LATENCY, FLOOR)
    return floors


def _learnt(values: Matrix, odd: Mask) -> Mask:
    """Values that may enter a reference: none that is worse than allowed until that is explained or
    accepted (`odd`); while a series is young, none of a night with any such."""
    learnt = np.isfinite(values) & ~odd
    calm = learnt & ~odd.any(axis=0)
    young = np.cumsum(calm, axis=1) < SETTLED_NIGHTS
    kept: Mask = learnt & (calm | ~young)
    return kept


def _spread_nights(learnt: Mask) -> Mask:
    """The nights whose distances from their own levels give the spread, also those before a new
    level.

    The last nights, which with tonight may be the first of something new, are left out while there
    are enough others: else a step of all series would widen the limit that is to find it.
    """
    older = learnt & ~last_of(learnt, LASTING_NIGHTS - 1)
    enough = older.sum(axis=1, keepdims=True) >= 2 * SETTLED_NIGHTS
    return last_of(np.where(enough, older, learnt), MOST_NIGHTS)
