# SPDX-License-Identifier: Apache-2.0
"""Verdicts of the choice on simulated campaigns with known truth.

Four environments, 17 points in five cases, all pairs, judged by the code that reports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bench.rows import Count, Row, efforts
from bench.tests.simulated.campaigns import (
    CASE_OF_POINT,
    CASES,
    NAMES,
    POINTS,
    Noise,
    judged,
)
from reports.analysis.cells import LEAST_DIFFERENCE
from reports.analysis.compare import Comparisons
from reports.statistics.descriptive import Matrix, interval_rank

TOPIC = "Choice: campaigns shaped as `mpi-choice`"
RUNS = efforts(6, 40, 400)
Outcomes = Mapping[tuple[int, int], str]

NORMAL = "normal, s 2 %"
NOISES: dict[str, Noise] = {
    NORMAL: lambda rng, shape: rng.normal(0, 0.02, shape),
    "log-normal, s 15 %": lambda rng, shape: rng.normal(0, 0.15, shape),
    "heavy-tailed (t, 3 degrees)": lambda rng, shape: 0.02 * rng.standard_t(3, shape),
    "skewed (exponential), s 3 %": lambda rng, shape: rng.exponential(0.03, shape),
}
ALIKE = np.zeros(4)
MIXED = np.log([1, 1, 1.1, 1.5])
SLOW = np.log([1, 1, 1, 1.2])


def launches(rng: np.random.Generator, noise: Noise, truth: Matrix, blocks: int) -> Matrix:
    """ln of times: truth, a block's drift, what the points of one launch share, own noise."""
    shared = noise(rng, (4, CASES, blocks))[:, CASE_OF_POINT] / 2
    drift = 0.01 * rng.standard_normal((1, 1, blocks))
    return np.asarray(truth[:, None, None] + drift + shared + noise(rng, (4, POINTS, blocks)))


def cells_of(found: Comparisons) -> list[Any]:
    """All cells: overall, of groups, of points."""
    return [*found.overall, *found.groups, *found.points]


def standings(found: Comparisons) -> Sequence[Any]:
    """Places by the score; none without one."""
    return found.score.standings if found.score else ()


def wrong_words(found: Comparisons, truth: Matrix) -> bool:
    """True if any word, place or separation of the campaign is not true."""
    true = dict(zip(NAMES, truth.tolist(), strict=True))
    margin = float(np.log(LEAST_DIFFERENCE)) - 1e-9
    for cell in cells_of(found):
        lead = true[cell.reference] - true[cell.environment]
        if not {
            "faster": lead > margin,
            "slower": lead < -margin,
            "equivalent": abs(lead) < margin,
            "not slower": lead > -margin,
            "not faster": lead < margin,
        }.get(cell.word, True):
            return True
    for pair in found.score.pairs if found.score else ():
        lead = true[pair.second] - true[pair.first]
        if pair.separated and np.sign(lead) != np.sign(-np.log(pair.effect.ratio)):
            return True
    return False


def best_choice(found: Comparisons) -> str:
    """The environment that has the first place alone, or ""."""
    first = next(iter(standings(found)), None)
    return first.environment if first is not None and first.worst == 1 else ""


def errors_and_coverage(campaigns: int) -> Iterator[Row]:
    """Any wrong word of all questions of a campaign, and what the headline's interval covers."""
    plans = [(ALIKE, "all alike", n) for n in (6, 12, 20)]
    plans.append((MIXED, "two alike, +10 %, +50 %", 12))
    for truth, what, blocks in plans:
        for name, noise in NOISES.items():
            rng = np.random.default_rng([blocks, len(name), len(what)])
            error = Count(f"a wrong word or place: {what}, {name}, n = {blocks}", most=0.05)
            covered = Count(
                f"… the headline's interval covers (level {interval_rank(blocks, 0.95)[1]:.1%})",
                least=0.95,
            )
            together = Count("… all bounds of the campaign hold together", least=0.95)
            for _ in range(campaigns):
                found = judged(launches(rng, noise, truth, blocks))
                error.add(wrong_words(found, truth))
                together.add(bounds_hold(found, truth))
                for item in standings(found):
                    if item.interval:
                        true = np.exp(truth[NAMES.index(item.environment)])
                        covered.add(item.interval.low <= true <= item.interval.high)
            yield error.row()
            yield together.row()
            yield covered.row(alike=3)


def bounds_hold(found: Comparisons, truth: Matrix) -> bool:
    """True if every bound of a cell has the true ratio inside."""
    true = dict(zip(NAMES, np.exp(truth).tolist(), strict=True))
    return all(
        cell.judgement.low <= true[cell.reference] / true[cell.environment] <= cell.judgement.high
        for cell in cells_of(found)
        if cell.judgement
    )


def survivors(campaigns: int) -> Iterator[Row]:
    """Environment b is 5 % faster where it ends well; a quarter hangs, or the slow third is killed.

    For the second, b's launches vary by 20 % about the others' time, so that the survivors alone
    are faster and all launches are not.
    """
    kinds: dict[str, Callable[[np.random.Generator], tuple[Matrix, Outcomes]]] = {
        "a quarter of b's launches hangs": _hanging,
        "b's slowest third is killed by the limit": _killed,
    }
    for what, make in kinds.items():
        rng = np.random.default_rng(len(what))
        wins = Count(f"{what}: b is the best choice", most=0.01)
        last = Count("… b is ranked behind the others", least=0.95)
        ranked = Count("… the others keep their places", least=0.95)
        lost = 0.05 if make is _killed else None  # a hanging b is faster where it ends well
        faster = Count("… b is faster than one of them in any cell", most=lost)
        for _ in range(campaigns):
            found = judged(*make(rng))
            places = standings(found)
            wins.add(best_choice(found) == "b")
            ranked.add(len([item for item in places if item.environment != "b"]) == 3)
            last.add(any(item.environment == "b" and item.best == 4 for item in places))
            words = [(cell.word, *_names(cell)) for cell in cells_of(found)]
            faster.add(
                any(
                    (word, a) == ("faster", "b") or (word, b) == ("slower", "b")
                    for word, a, b in words
                )
            )
        for row in (wins, last, ranked, faster):
            yield row.row()


def _hanging(rng: np.random.Generator) -> tuple[Matrix, Outcomes]:
    logs = launches(rng, NOISES[NORMAL], np.log([1, 0.95, 1, 1]), 12)
    bad = {(CASES + case, block) for case in range(CASES) for block in range(12)}
    return logs, {place: "failed" for place in sorted(bad) if rng.random() < 0.25}


def _killed(rng: np.random.Generator) -> tuple[Matrix, Outcomes]:
    logs = launches(rng, NOISES[NORMAL], ALIKE, 12)
    own = rng.normal(0, 0.2, (CASES, 12))
    logs[1] += own[CASE_OF_POINT]
    slow = np.argwhere(own > np.quantile(own, 2 / 3)).tolist()
    return logs, {(CASES + case, block): "failed" for case, block in slow}


def power(campaigns: int) -> Iterator[Row]:
    """mpi-choice with one environment +20 % everywhere: its 39 message lengths against three."""
    for status in ("ok", "lost", "failed"):
        rng = np.random.default_rng(len(status))
        row = Count(f"+20 %, one launch of 240 {status}: all 39 points resolved", least=0.9)
        for _ in range(campaigns):
            logs = launches(rng, NOISES[NORMAL], SLOW, 12)
            place = int(rng.integers(4)) * CASES + 2, int(rng.integers(12))
            found = judged(logs, {} if status == "ok" else {place: status})
            cells = [c for c in found.points if c.check == "pt2pt" and "d" in _names(c)]
            row.add(len(cells) == 39 and all(c.word in ("faster", "slower") for c in cells))
        yield row.row()
    row = Count("the smallest detectable difference, planted, is resolved (of a point)", least=0.77)
    for pick in range(campaigns // 2):
        seed = [pick, 5]
        before = judged(launches(np.random.default_rng(seed), NOISES[NORMAL], ALIKE, 12))
        ratios = [c.judgement.detectable for c in before.points if c.judgement]
        truth = np.array([0, 0, 0, float(np.log(np.median(ratios)))])
        after = judged(launches(np.random.default_rng([pick, 6]), NOISES[NORMAL], truth, 12))
        words = [c.word for c in after.points if "d" in _names(c)]
        row.add(sum(word in ("faster", "slower") for word in words), len(words))
    yield row.row(alike=len(words))


def _names(cell: Any) -> tuple[str, str]:
    return cell.environment, cell.reference


def dependent_blocks(campaigns: int) -> Iterator[Row]:
    """AR(1) with 0.7 between blocks: a wrong separation is reported with a warning."""
    for correlation in (0.0, 0.7):
        rng = np.random.default_rng(7)
        warned = Count(
            f"AR(1) {correlation}: the summary warns that blocks are not independent",
            most=None if correlation else 0.05,
            least=0.8 if correlation else None,
        )
        wrong = Count("… a wrong word or place", most=None if correlation else 0.05)
        silent = Count("… a wrong word or place without a warning", most=0.05)
        for _ in range(campaigns):
            noise = rng.normal(0, 0.03, (4, CASES, 12))
            for block in range(1, 12):
                noise[:, :, block] *= np.sqrt(1 - correlation**2)
                noise[:, :, block] += correlation * noise[:, :, block - 1]
            logs = noise[:, CASE_OF_POINT] + rng.normal(0, 0.005, (4, POINTS, 12))
            found = judged(logs)
            warns = found.dependence is not None and found.dependence.found
            bad = wrong_words(found, ALIKE)
            warned.add(warns)
            wrong.add(bad)
            silent.add(bad and not warns)
        for row in (warned, wrong, silent):
            yield row.row()


def coarse_timer(campaigns: int) -> Iterator[Row]:
    """Equal environments, six blocks, times of about a second by a timer of 10 ms: ties are no
    evidence of a small variance. 500 campaigns a row where others have 400."""
    for noise in (0.002, 0.004, 0.006, 0.008):
        rng = np.random.default_rng([int(1000 * noise), 6])
        what = f"all alike, s {noise:.1%}, a timer of 1 %, n = 6"
        wrong = Count(f"{what}: a winner or a wrong word or place", most=0.05)
        beyond = Count("… a bound beyond a factor of 2, or that is not a number", most=0.0)
        for _ in range(campaigns * 5 // 4):
            exact = ALIKE[:, None, None] + rng.normal(0, noise, (4, POINTS, 6))
            found = judged(np.log(np.round(np.exp(exact), 2)))
            wrong.add(bool(best_choice(found)) or wrong_words(found, ALIKE))
            cells = cells_of(found)
            known = [c.judgement for c in cells if c.judgement and c.judgement.bounded]
            beyond.add(any(not 0.5 <= one.low <= one.high <= 2 for one in known))
        yield wrong.row()
        yield beyond.row()


def rows(campaigns: int) -> Iterator[Row]:
    """All rows of so many campaigns."""
    for part in (survivors, coarse_timer, power, dependent_blocks, errors_and_coverage):
        yield from part(campaigns)
