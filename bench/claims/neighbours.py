# SPDX-License-Identifier: Apache-2.0
"""Test of whether neighbours mattered, on simulated launches with known truth.

python -m bench neighbours. Cases whose launches stray by 0.3 to 5 %, with long tails and a drift
that all cases share, run several at a time; which launches run alone is drawn as a run draws it.
Those beside others are slower by nothing, 3 or 10 %.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from assay.plan import runs_alone
from bench.rows import Row, efforts, share
from reports.analysis.neighbours import ALPHA
from reports.statistics.signed_rank import Shift, stratified_shift

TOPIC = "Whether neighbours mattered"
RUNS = efforts(100, 1000, 5000)
#: Cases, blocks and launches at once of the campaigns.
SIZES = ((8, 6, 2), (24, 10, 4), (100, 10, 20))
EFFECTS = (0.03, 0.10)


def found(size: tuple[int, int, int], effect: float, seed: int) -> Shift | None:
    """Shift that a campaign tells whose launches beside others are slower by `effect`."""
    cases, blocks, at_once = size
    rng = np.random.default_rng([seed, *size])
    case, block = (grid.ravel() for grid in np.mgrid[0:cases, 1 : blocks + 1])
    beside = np.array(
        [
            not runs_alone(f"node-{c}", seed, int(b), at_once)
            for c, b in zip(case, block, strict=True)
        ]
    )
    scatter = np.exp(rng.uniform(np.log(0.003), np.log(0.05), size=cases))[case]
    drift = np.cumsum(rng.normal(0, 0.01, blocks + 1))[block]
    noise = scatter * rng.standard_t(3, size=len(case))
    return stratified_shift(case, block, drift + noise + np.log1p(effect) * beside, beside)


def rows(n: int) -> Iterator[Row]:
    """The lines."""
    for size in SIZES:
        what = f"{size[0]} cases, {size[1]} blocks, {size[2]} at once"
        tested = [shift for seed in range(n) if (shift := found(size, 0.0, seed)) is not None]
        alarms = sum(shift.p < ALPHA for shift in tested)
        yield share(f"{what}, no effect: called one", alarms, len(tested), most=ALPHA)
        for effect in EFFECTS:
            truth = np.log1p(effect)
            shifts = [shift for seed in range(n) if (shift := found(size, effect, seed))]
            seen = sum(shift.p < ALPHA for shift in shifts)
            least = 0.8 if effect == max(EFFECTS) else None
            yield share(f"… {100 * effect:.0f} % slower: seen", seen, len(shifts), least=least)
            held = sum(shift.low <= truth <= shift.high for shift in shifts)
            yield share("… and its interval holds the truth", held, len(shifts), least=0.95)
