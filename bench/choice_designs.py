# SPDX-License-Identifier: Apache-2.0
"""One run of fixed blocks read by the sequential design too (goal: the same verdicts).

python -m bench choice_designs [RUN]. Brings a cluster of four nodes up, runs a small mpi-choice of
twelve fixed blocks, and judges it twice: after the last block, and by turns, as the sequential
design would have gone on with the same launches. RUN: a run directory of fixed blocks that is there
already. Exits 1 when a row misses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec.structs
import numpy as np

from assay.plan.planner import sequential_design
from assay.schema.model import Blocks
from bench.claims.choice import best_choice
from bench.claims.sequential import by_turns
from bench.judging import compare_environments, races
from bench.on_cluster import on_cluster, run_campaign
from bench.rows import Row, printed
from records.run.interims import Interim, asked_blocks
from records.run.plan import Sequential
from reports.load.loading import Run, load_run
from reports.notation.labels import check_labels
from virtual_cluster import ClusterSpec

CLUSTER = "designs"
#: mpi-choice with fewer lengths and smaller systems: some 8 minutes on an idle machine.
CAMPAIGN = """
schema: 1
name: mpi-choice-fixed
question: Which MPI library should be given?
environments: [mpich, openmpi, openmpi-long-eager, lam]
variants:
  openmpi-long-eager: {of: openmpi, settings: {short_message_bytes: 262144}}
blocks: 12
seed: 20042
cases:
  - check: hpl
    fixed: {n: 3000, p: 1, q: 2, nb: 128, ranks_per_node: 1}
  - check: pt2pt
    fixed:
      placement: between-nodes
      constructs: [Send/Recv]
      sizes: [8, 1024, 16384, 65536, 131072, 524288]
      iterations: 15
      warmup: 3
  - check: startup
    fixed: {ranks: 2, ranks_per_node: 1}
weights: {hpl: 6, pt2pt: 3, startup: 1}
"""
_LEAST = 6
_AGREES = {"faster": ("faster", "not slower"), "slower": ("slower", "not faster")}


def rows(run: Run) -> Iterator[Row]:
    """What both designs say of the run's questions, and the launches of each."""
    fixed = compare_environments(run, check_labels(run.plan.cases))
    design = sequential_design(Blocks(least=_LEAST, greatest=run.plan.blocks))
    turned = by_turns(design, lambda interims: part_of(run, design, interims))
    one, other = (best_choice(found) or "none" for found in (fixed, turned.found))
    yield Row("the best choice, fixed blocks", "", one)
    yield Row("the best choice, by turns", one, other, one == other)
    words, fixed_words = (
        {
            (race.title, *pair): judged.word if judged else "not resolved"
            for race in races(one, design.until)
            for pair, judged in race.pairs.items()
        }
        for one in (turned.found, fixed)
    )
    against = [
        f"{race}, {a} against {b}: {word}, not {fixed_words[race, a, b]}"
        for (race, a, b), word in words.items()
        if word in _AGREES and fixed_words[race, a, b] not in _AGREES[word]
    ]
    decided = sum(word in (*_AGREES, "equivalent") for word in words.values())
    what = f"words of {len(words)} questions, {decided} decided by turns, that the fixed contradict"
    yield Row(what, "none", "; ".join(against) or "none", not against)
    whole, used = len(run.launches.places()), turned.launches
    yield Row("launches, fixed blocks", "", f"{whole}")
    yield Row("launches, by turns", "", f"{used}, {1 - used / whole:.0%} saved")
    ended = "all known" if turned.answered else "not all known"
    yield Row("blocks, by turns", "", f"{turned.blocks} of {run.plan.blocks}, {ended}")


def part_of(run: Run, design: Sequential, interims: list[Interim]) -> Run:
    """What a sequential design would have of the run, as far as its judgements asked for it."""
    plan = msgspec.structs.replace(run.plan, sequential=design)
    asked = asked_blocks(plan, interims)
    last = [asked[case.environment, case.check] for case in plan.cases]
    series = [
        msgspec.structs.replace(item, blocks=item.blocks[here], values=item.values[here])
        for item in run.series
        if (here := item.blocks <= last[item.case]).any()
    ]
    launches = run.launches.part(run.launches.block <= np.array(last)[run.launches.case])
    return replace(run, plan=plan, interims=tuple(interims), series=series, launches=launches)


def main(arguments: list[str]) -> int:
    """Entry point; see the module's docstring."""
    if arguments:
        return printed(rows(load_run(Path(arguments[0]))))
    spec = ClusterSpec(name=CLUSTER, nodes=4, network="fast-ethernet")
    with on_cluster(spec) as (_, folder):
        return printed(rows(load_run(run_campaign(folder, CAMPAIGN, CLUSTER))))
