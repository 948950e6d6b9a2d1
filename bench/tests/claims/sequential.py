# SPDX-License-Identifier: Apache-2.0
"""Sequential designs on simulated campaigns with known truth: error, coverage, launches saved.

Campaigns as in claims/choice.py, six to twenty blocks, judged and ended by the code that runs and
reports them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from assay.plan.planner import sequential_design
from assay.schema.model import Blocks
from bench.rows import Row, efforts, mean, share
from bench.tests.claims.choice import (
    ALIKE,
    MIXED,
    NOISES,
    NORMAL,
    best_choice,
    bounds_hold,
    launches,
    words_and_bounds,
    wrong_words,
)
from bench.tests.simulated.campaigns import CASES, NAMES, extended_run, judged, simulated_run
from records.run.interims import Interim
from reports.analysis.compare import Comparisons, Judgements, compare_environments
from reports.analysis.races import outcome
from reports.notation.labels import check_labels
from reports.statistics.descriptive import Matrix

TOPIC = "Choice: blocks added until it is known"
RUNS = efforts(4, 24, 400)
GREATEST = 20
#: The fixed design that launches are counted against.
FIXED = 12
#: Blocks of a run that is extended again and again.
EXTENDED = (6, 12, 18, 24)
BETTER = np.log([1, 1, 1, 1 / 1.1])


class CampaignEnd(NamedTuple):
    """A campaign at its end: what its report says, how many launches it took, over those of a
    block."""

    found: Comparisons
    cost: float


def campaign(logs: Matrix) -> CampaignEnd:
    """Run a simulated campaign block by block, each as the judgements before it ask for."""
    design = sequential_design(Blocks(least=6, greatest=logs.shape[2]))
    interims: list[Interim] = []
    judgements = Judgements(check_labels(simulated_run(logs, None, design).plan.cases))
    for block in design.interims:
        run = simulated_run(logs, None, design, interims)
        judgements.add(run, block)
        found = judgements.found()
        made = outcome(run, found)
        ended = made.ended(last=block == design.interims[-1])
        going = {} if ended else made.going
        interims.append(Interim(block=block, open=made.open, going=going, ended=ended))
        if ended:
            break
    return CampaignEnd(found, len(run.launches.places()) / (len(NAMES) * CASES))


def errors(campaigns: int) -> Iterator[Row]:
    """A wrong word, place or bound of any question of a campaign, when it has ended by itself."""
    for truth, what in ((ALIKE, "all alike"), (MIXED, "two alike, +10 %, +50 %")):
        for name, noise in NOISES.items():
            rng = np.random.default_rng([len(name), len(what), 20])
            ended = [campaign(launches(rng, noise, truth, GREATEST)) for _ in range(campaigns)]
            yield from words_and_bounds(f"{what}, {name}", [item.found for item in ended], truth)
            yield mean("… blocks run, of 20 at most", [item.cost for item in ended])


def saved(campaigns: int) -> Iterator[Row]:
    """Launches against designs of fixed blocks, which find the same; one library is 10 % better."""
    for name in (NORMAL, "skewed (exponential), s 3 %"):
        rng = np.random.default_rng([len(name), 3])
        costs, right, fixed = [], 0, 0
        for _ in range(campaigns):
            logs = launches(rng, NOISES[name], BETTER, GREATEST)
            ended = campaign(logs)
            costs.append(ended.cost)
            right += best_choice(ended.found) == "d"
            fixed += best_choice(judged(logs[:, :, :FIXED])) == "d"
        for blocks in (GREATEST, FIXED):
            yield mean(
                f"one library 10 % better, {name}: share of launches saved against {blocks} blocks",
                [1 - cost / blocks for cost in costs],
                least=0.333,
            )
        yield share("… it is the best choice", right, campaigns, least=0.95)
        yield share(f"… it is the best choice after {FIXED} blocks", fixed, campaigns)


def extended(campaigns: int) -> Iterator[Row]:
    """All alike, six blocks, and extended by six three times, or until any word is wrong."""
    for name, noise in NOISES.items():
        rng = np.random.default_rng([len(name), 28])
        wrong = hold = first = 0
        for _ in range(campaigns):
            logs = launches(rng, noise, ALIKE, EXTENDED[-1])
            first += wrong_words(judged(logs[:, :, : EXTENDED[0]]), ALIKE)
            runs = (extended_run(logs, EXTENDED[:ends]) for ends in range(2, len(EXTENDED) + 1))
            found = [compare_environments(run, check_labels(run.plan.cases)) for run in runs]
            wrong += any(wrong_words(one, ALIKE) for one in found)
            hold += all(bounds_hold(one, ALIKE) for one in found)
        what = f"all alike, extended three times, {name}"
        yield share(f"{what}: a wrong word in any of its reports", wrong, campaigns, most=0.05)
        yield share("… all bounds of all of them hold", hold, campaigns, least=0.95)
        yield share("… a wrong word of the report before", first, campaigns, most=0.05)


def rows(campaigns: int) -> Iterator[Row]:
    """All rows of so many campaigns."""
    for part in (saved, extended, errors):
        yield from part(campaigns)
