# SPDX-License-Identifier: Apache-2.0
"""Success rate of `assay predict` on machines whose law is known (goal: 95 % intervals hold).

Five blocks on 1 to 4 and on 1 to 16 nodes, predicted on 64, 256 and 1024: a machine that obeys the
law, one whose messages slow down with a power of the nodes, one that varies more, machines that
differ.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from bench.rows import Row, efforts, mean, share
from bench.tests.judging import predict
from plugins.predict.subjects import squarest_grid
from plugins.predict.tests.scaling_machine import LATTICE, Truth, machine_run
from reports.analysis.run import analyse
from reports.load.loading import load_run

TOPIC = "Predicting other node counts"
RUNS = efforts(5, 40, 400)
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
    "1 % of all work done by one rank": lambda _: Truth(serial=0.01),
}


def applications(campaigns: int) -> Iterator[Row]:
    """For each machine and subject how many true times lie in their intervals, and how wide."""
    for (name, make), (told, counts) in product(MACHINES.items(), COUNTS.items()):
        hits: dict[str, list[bool]] = {}
        kept: dict[str, list[bool]] = {}
        widths: dict[str, list[float]] = {}
        for seed in range(campaigns):
            for what, hit, noted, width in _campaign(make(seed), counts, seed):
                hits.setdefault(what, []).append(hit)
                kept.setdefault(what, []).append(hit or noted)
                widths.setdefault(what, []).append(width)
        for what, found in hits.items():
            head = f"{name}, {told} nodes: {what}"
            text = f"{head}, intervals hold the true time"
            # What no measured count shows enough of is reported by a note.
            serial = make(0).serial > 0
            least = None if serial else 0.93
            yield share(text, sum(found), len(found), least=least, alike=len(TARGETS))
            if serial:
                text = f"{text}, or the note leaves so much open"
                yield share(text, sum(kept[what]), len(found), least=0.93, alike=len(TARGETS))
            yield mean(f"{head}, ln of upper over lower end", widths[what])


def _campaign(
    truth: Truth, counts: Sequence[int], seed: int
) -> Iterator[tuple[str, bool, bool, float]]:
    """Each prediction of a run: what, whether it holds the time that the machine would show,
    whether a note leaves the machine's serial work open, ln of the ratio of its ends."""
    rng = np.random.default_rng(10_000 + seed)
    with TemporaryDirectory() as folder:
        run = machine_run(Path(folder) / "run", counts, truth, seed=seed)
        outcome = predict(analyse(load_run(run)), TARGETS)
    for item in outcome.predicted:
        noted = 0 < truth.serial <= max(map(serial_share, item.notes), default=0.0)
        for one in item.points:
            nodes = one.nodes
            if item.check == "hpl":
                n = int(one.problem.split()[2])
                parts = truth.system_s(n, squarest_grid(nodes))
            else:
                parts = truth.lattice_s(LATTICE, nodes, 100)
            true_s = float(np.dot(parts, np.exp(truth.luck * rng.standard_normal(2))))
            found = one.time_s
            what = f"{item.check}, {item.scaling}"
            yield what, found.holds(true_s), noted, float(np.log(found.high / found.low))


def serial_share(note: str) -> float:
    """The greatest share of serial work that a note of a prediction leaves open; 0 of another."""
    found = re.match(r"work that one rank does alone, up to ([\d.]+) %", note)
    return float(found[1]) / 100 if found else 0.0


def rows(campaigns: int) -> Iterator[Row]:
    """All rows of so many campaigns."""
    yield from applications(campaigns)
