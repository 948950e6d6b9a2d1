# SPDX-License-Identifier: Apache-2.0
"""Success rate of `assay predict` on machines whose law is known (goal: 95 % intervals hold).

Five blocks on 1 to 4 and on 1 to 16 nodes, predicted on 64, 256 and 1024: a machine that obeys the
law, one whose messages slow down with a power of the nodes, one that varies more, machines that
differ.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from bench.rows import Bench, Row, share
from plugins.predict.predict import predict
from plugins.predict.subjects import squarest_grid
from plugins.predict.tests.scaling_machine import LATTICE, Truth, machine_run
from reports.analysis.run import analyse
from reports.load.loading import load_run

COUNTS = {"1 to 4": (1, 2, 4), "1 to 16": (1, 2, 4, 8, 16)}
TARGETS = (64, 256, 1024)


def various(seed: int) -> Truth:
    """A machine as various as the law expects before anything is measured."""
    computing, kappa, contention = np.random.default_rng(seed).standard_normal(3).tolist()
    return Truth(
        computing=0.03 * computing,
        kappa=math.exp(0.5 * kappa),
        contention=0.3 * contention,
        launch=0.03,
        luck=0.03,
    )


MACHINES: dict[str, Callable[[int], Truth]] = {
    "obeys the law": lambda _: Truth(),
    "contention, exponent 0.4": lambda _: Truth(contention=0.4),
    "launches and counts 5 % apart": lambda _: Truth(launch=0.05, luck=0.05),
    "machines as various as the law expects": various,
}


def applications(campaigns: int) -> Iterator[Row]:
    """For each machine and subject how many true times lie in their intervals."""
    for (name, make), (told, counts) in product(MACHINES.items(), COUNTS.items()):
        hits: dict[str, list[bool]] = {}
        for seed in range(campaigns):
            for what, hit in _campaign(make(seed), counts, seed):
                hits.setdefault(what, []).append(hit)
        for what, found in hits.items():
            text = f"{name}, {told} nodes: {what}, intervals hold the true time"
            yield share(text, sum(found), len(found), least=0.93, alike=len(TARGETS))


def _campaign(truth: Truth, counts: Sequence[int], seed: int) -> Iterator[tuple[str, bool]]:
    """Each prediction of a run, and whether it holds the time that the machine would show."""
    rng = np.random.default_rng(10_000 + seed)
    with TemporaryDirectory() as folder:
        run = machine_run(Path(folder) / "run", counts, truth, seed=seed)
        outcome = predict(analyse(load_run(run)), TARGETS)
    for item in outcome.subjects:
        for one in item.points:
            nodes = one.nodes
            if item.check == "hpl":
                n = int(one.problem.split()[2])
                parts = truth.system_s(n, squarest_grid(nodes))
            else:
                parts = truth.lattice_s(LATTICE, nodes, 100)
            true_s = float(np.dot(parts, np.exp(truth.luck * rng.standard_normal(2))))
            yield f"{item.check}, {item.scaling}", one.time_s.holds(true_s)


PREDICTION = Bench("Predicting other node counts", (5, 40, 400), (applications,))
