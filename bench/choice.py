# SPDX-License-Identifier: Apache-2.0
"""Campaigns with a wrong winner, of simulated ones with known truth (goal: at most 5 %).

python -m bench.choice [CAMPAIGNS]. Four environments, 17 points, all pairs; launches normal,
log-normal or heavy-tailed, with block drift. Exits 1 when wrong winners exceed the declared
family-wise 5 % (by more than chance at 99.9 % allows), when a place contradicts an interval, or
when a pair's interval covers too little.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from scipy import stats  # type: ignore[import-untyped]

from reports.choice.cells import ALPHA, LEAST_DIFFERENCE
from reports.choice.ranking import standings
from reports.statistics.descriptive import Matrix
from reports.statistics.signed_rank import holm, interval_rank, paired_effects

CAMPAIGNS = 1000
POINTS = 17
BLOCKS = (5, 7, 12)
NAMES = ("a", "b", "c", "d")
PAIRS = tuple(combinations(range(len(NAMES)), 2))
#: Campaigns that are simulated and compared in one go.
TOGETHER = 100

_Noise = Callable[[np.random.Generator, tuple[int, ...]], Matrix]
NOISES: dict[str, _Noise] = {
    "normal, s 2 %": lambda rng, shape: rng.normal(0, 0.02, shape),
    "log-normal, s 15 %": lambda rng, shape: rng.normal(0, 0.15, shape),
    "heavy-tailed (t, 3 degrees)": lambda rng, shape: 0.02 * rng.standard_t(3, shape),
}
#: ln of each environment's true time: nobody better; one pair alike, one far.
TRUTHS = {
    "all alike": np.zeros(4),
    "two alike, one +10 %, one +50 %": np.log([1, 1, 1.1, 1.5]),
}


@dataclass
class Counts:
    """What happened over the campaigns of one row."""

    campaigns: int = 0
    wrong_cells: int = 0
    wrong_places: int = 0
    contradictions: int = 0
    right: int = 0
    covered: int = 0
    pairs: int = 0
    cells: int = 0


def simulate(noise: _Noise, truth: Matrix, blocks: int, campaigns: int, seed: list[int]) -> Counts:
    """Judge `campaigns` campaigns as the report does."""
    rng = np.random.default_rng(seed)
    counts = Counts()
    while counts.campaigns < campaigns:
        together = min(TOGETHER, campaigns - counts.campaigns)
        drift = 0.01 * rng.standard_normal((together, 1, 1, blocks))
        logs = truth[:, None, None] + noise(rng, (together, 4, POINTS, blocks)) + drift
        _count_cells(counts, logs, truth)
        for one in logs:
            _count_places(counts, one, truth)
    return counts


def _count_cells(counts: Counts, logs: Matrix, truth: Matrix) -> None:
    """A wrong winner: judged faster although it is not, in any cell of the campaign.

    `logs` has the shape (campaigns, environments, points, blocks). A winner is +1 where the first
    is faster, −1 the second, 0 not resolved; as `Comparison.word` has it.
    """
    first, second = np.array(PAIRS).T
    rows = (logs[:, second] - logs[:, first]).reshape(-1, logs.shape[-1])
    true = np.repeat(np.sign(truth[second] - truth[first]), POINTS)
    effects = paired_effects(rows)
    for start in range(0, len(effects), len(true)):
        mine = effects[start : start + len(true)]
        ratios = np.array([effect.ratio for effect in mine])
        resolved = np.array(holm([effect.p for effect in mine])) <= ALPHA
        resolved &= np.maximum(ratios, 1 / ratios) > LEAST_DIFFERENCE
        winners = np.where(resolved, np.where(ratios > 1, 1, -1), 0)
        wrong = (winners != 0) & (winners != true)
        counts.campaigns += 1
        counts.wrong_cells += bool(wrong.any())
        counts.right += int(np.count_nonzero(winners) - np.count_nonzero(wrong))
        counts.cells += int(np.count_nonzero(true))


def _count_places(counts: Counts, logs: Matrix, truth: Matrix) -> None:
    costs = np.exp(logs - np.median(logs[0], axis=1)[:, None]).mean(axis=1)
    ranked, pairs = standings(NAMES, costs)
    place = {item.environment: item for item in ranked}
    wrong = False
    for pair in pairs:
        first, second = place[pair.first], place[pair.second]
        true = truth[NAMES.index(pair.first)] - truth[NAMES.index(pair.second)]
        interval = pair.effect.interval
        inside = interval.low <= 1 <= interval.high
        ordered = first.worst < second.best or second.worst < first.best
        counts.contradictions += ordered and inside
        wrong |= pair.separated and np.sign(np.log(pair.effect.ratio)) != np.sign(true)
        counts.covered += bool(interval.low <= np.exp(true) <= interval.high)
        counts.pairs += 1
    counts.wrong_places += wrong


def main(arguments: list[str]) -> int:
    """Entry point; see the module's docstring."""
    campaigns = int(arguments[0]) if arguments else CAMPAIGNS
    most = int(stats.binom.ppf(0.999, campaigns, ALPHA))
    print(
        f"{campaigns:,} simulated campaigns a row; 4 environments, {POINTS} points; campaigns with"
        f" a wrong winner: declared at most {ALPHA:.0%} (chance allows {most})"
    )
    kept = True
    for truth, noise, blocks in product(TRUTHS, NOISES, BLOCKS):
        seed = [blocks, len(noise), len(truth)]
        found = simulate(NOISES[noise], TRUTHS[truth], blocks, campaigns, seed)
        # Coverage declared for n blocks, less three standard errors; three of six pairs are free.
        level = interval_rank(blocks, 0.95)[1]
        least = level - 3 * np.sqrt(level * (1 - level) / (3 * campaigns))
        covered = found.covered / found.pairs
        good = max(found.wrong_cells, found.wrong_places) <= most
        good &= found.contradictions == 0 and covered >= least
        kept &= good
        power = f"{found.right / found.cells:6.1%}" if found.cells else "     –"
        print(
            f"{truth:32} {noise:28} n = {blocks:2}:"
            f" wrong in cells {found.wrong_cells / campaigns:6.2%},"
            f" in places {found.wrong_places / campaigns:6.2%};"
            f" places against intervals {found.contradictions};"
            f" true differences found {power}; interval covers {covered:.2%}"
            f"{'' if good else '  MISSED'}",
            flush=True,
        )
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
