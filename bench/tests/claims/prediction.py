# SPDX-License-Identifier: Apache-2.0
"""Success rate of `assay predict` on machines whose law is known (goal: 95 % intervals hold).

Five blocks on 1 to 4 and on 1 to 16 nodes, predicted on 64, 256 and 1024: a machine that obeys the
law, one whose messages slow down with a power of the nodes, one that varies more, machines that
differ. Collective operations on 2 to 8 and on 2 to 64 nodes of machines whose law is one of the
candidates of claims/collectives.py, or none of them.
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
from bench.tests.claims.collectives import COUNTS as LAW_COUNTS
from bench.tests.claims.collectives import DELAYS, FOREIGN, LUCKS, STARTUPS, Luck, TrueLaw
from bench.tests.judging import predict
from plugins.predict.models.communication import squarest_grid
from plugins.predict.tests.scaling_machine import LATTICE, Truth, machine_run, operation_run
from reports.analysis.run import analyse
from reports.load.loading import load_run
from reports.notation.units import bytes_text

TOPIC = "Predicting other node counts"
RUNS = efforts(5, 40, 400)
COUNTS = {"1 to 4": (1, 2, 4), "1 to 16": (1, 2, 4, 8, 16)}
TARGETS = (64, 256, 1024)
LENGTHS = {f"allreduce, {bytes_text(m)}": m for m in (4, 64, 1024, 16384, 65536)}
#: Predictions of one operation: three lengths on each target.
POINTS = 3 * len(TARGETS)


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
        noted = 0 < truth.serial <= max(map(serial_share, item.part.notes), default=0.0)
        for one in item.part.points:
            nodes = one.nodes
            if item.subject.check == "hpl":
                n = int(one.problem.split()[2])
                parts = truth.system_s(n, squarest_grid(nodes))
            else:
                parts = truth.lattice_s(LATTICE, nodes, 100)
            true_s = float(np.dot(parts, np.exp(truth.luck * rng.standard_normal(2))))
            found = one.time_s
            what = f"{item.subject.check}, {item.subject.scaling}"
            yield what, found.holds(true_s), noted, float(np.log(found.high / found.low))


def serial_share(note: str) -> float:
    """The greatest share of serial work that a note of a prediction leaves open; 0 of another."""
    found = re.match(r"work that one rank does alone, up to ([\d.]+) %", note)
    return float(found[1]) / 100 if found else 0.0


def operations(campaigns: int) -> Iterator[Row]:
    """Coverage and width of intervals of collective operations, and how many follow no law."""
    kinds: dict[str, list[tuple[TrueLaw, TrueLaw]]] = {
        "a candidate law": [*product(STARTUPS, DELAYS)],
        "a foreign law": [*FOREIGN],
    }
    lucks = LUCKS[1::2]
    for (kind, laws), (told, counts), luck in product(kinds.items(), LAW_COUNTS.items(), lucks):
        hits: list[bool] = []
        widths: list[float] = []
        refused = 0
        for seed in range(campaigns):
            found = list(_operation(laws[seed % len(laws)], counts, luck, seed))
            refused += not found
            hits += [hit for hit, _ in found]
            widths += [width for _, width in found]
        head = f"{kind}, {told} nodes, errors {luck}: collectives"
        goal = 0.93 if kind == "a candidate law" else None
        text = f"{head}, intervals hold the true time"
        yield share(text, sum(hits), len(hits), least=goal, alike=POINTS)
        yield share(f"{head}, no law fits", refused, campaigns)
        if len(widths) > 1:
            yield mean(f"{head}, ln of upper over lower end", widths)


def _operation(
    law: tuple[TrueLaw, TrueLaw], counts: Sequence[int], luck: Luck, seed: int
) -> Iterator[tuple[bool, float]]:
    """Each prediction of a run: whether it holds what the machine would show, ln of the ratio of
    its ends."""

    startup, delay = law

    def time_s(p: int, message_bytes: int) -> float:
        return startup.at(p) + delay.at(p) * message_bytes

    rng = np.random.default_rng(10_000 + seed)
    with TemporaryDirectory() as folder:
        run = operation_run(
            Path(folder) / "run",
            counts,
            time_s,
            sizes=[*LENGTHS.values()],
            seed=seed,
            launch=luck.own,
            luck=luck.shared,
        )
        outcome = predict(analyse(load_run(run)), TARGETS)
    for item in outcome.predicted:
        length = LENGTHS[item.subject.title]
        for one in item.part.points:
            there = math.exp(luck.shared * rng.standard_normal())
            found = one.time_s
            true_s = there * time_s(one.ranks, length)
            yield found.holds(true_s), math.log(found.high / found.low)


def rows(campaigns: int) -> Iterator[Row]:
    """All rows of so many campaigns."""
    yield from applications(campaigns)
    yield from operations(campaigns)
