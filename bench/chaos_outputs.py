# SPDX-License-Identifier: Apache-2.0
"""Changed outputs of every check: which are believed (goal: none that says what is not so).

Each good output is changed at random by one or more mutations, and judged. What is believed though
something asked or redundant was changed is a miss; so is an exception.
"""

from __future__ import annotations

import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from bench.output_meaning import same_meaning
from bench.output_mutations import MUTATIONS
from bench.output_samples import Sample, samples
from checks.common.json_lines import OutputError

#: Mutated outputs of a whole run.
TIMES = 100_000
#: Misses that are printed.
SHOWN = 20

REFUSED, BELIEVED, UNTOLD, MISSED, RAISED = "refused", "unchanged", "not told", "MISSED", "RAISED"


@dataclass
class Counts:
    """How often what came out, by check and by mutation; the first misses."""

    by_check: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    by_mutation: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    misses: list[str] = field(default_factory=list)

    def add(self, sample: Sample, mutation: str, found: str, said: str) -> None:
        """Count one output."""
        self.by_check[sample.definition.name][found] += 1
        self.by_mutation[mutation][found] += 1
        if found in (MISSED, RAISED):
            self.misses.append(f"{found}: {sample.name}, {mutation}: {said}")


def mutated(sample: Sample, dice: Random, others: list[str]) -> tuple[str, str]:
    """The mutation's name, and the sample's text changed by it; now and then by two of them."""
    while True:
        mutate, lines = dice.choice(MUTATIONS), sample.text.split("\n")
        if mutate(lines, dice, others) and lines:
            break
    if dice.random() < 0.1:
        dice.choice(MUTATIONS)(lines, dice, others)
    return mutate.__name__, "\n".join(lines)


def outcome(sample: Sample, text: str) -> tuple[str, str]:
    """What judging makes of a changed text, and what is to be said of it."""
    try:
        reading = sample.judge(text)
    except OutputError as error:
        return REFUSED, str(error)
    except Exception as error:
        return RAISED, f"{type(error).__name__}: {error}"
    if reading.wrong:
        return REFUSED, reading.wrong
    if not same_meaning(sample, text):
        return MISSED, _difference(sample.text, text)
    same = reading.metrics == sample.judge(sample.text).metrics
    return (BELIEVED if same else UNTOLD), ""


def _difference(before: str, after: str) -> str:
    """The first lines that only one of two texts has."""
    old, new = before.split("\n"), after.split("\n")
    gone = [line for line in old if line not in new][:2]
    come = [line for line in new if line not in old][:2]
    return f"{gone!r:.400} -> {come!r:.400}"


def trials(times: int, seed: int) -> Iterator[tuple[Sample, str, str]]:
    """So many changed outputs, of each sample in turn."""
    dice, good = Random(seed), samples()  # noqa: S311  not for secrets
    others = [sample.text for sample in good]
    for turn in range(times):
        sample = good[turn % len(good)]
        yield sample, *mutated(sample, dice, others)


def run(times: int, seed: int) -> Counts:
    """Judge so many changed outputs."""
    counts = Counts()
    for sample, mutation, text in trials(times, seed):
        counts.add(sample, mutation, *outcome(sample, text))
    return counts


def main() -> int:
    """Judge the changed outputs, print the counts; 1 where one was missed."""
    times, seed = [*map(int, sys.argv[1:]), TIMES, 1][:2]
    begun = time.perf_counter()
    counts = run(times, seed)
    for what, by in (("check", counts.by_check), ("mutation", counts.by_mutation)):
        kinds = (REFUSED, BELIEVED, UNTOLD, MISSED, RAISED)
        print(f"{what:<28}" + "".join(f"{kind:>11}" for kind in kinds))
        for name, found in sorted(by.items()):
            print(f"{name:<28}" + "".join(f"{found[kind]:>11}" for kind in kinds))
    total = sum((found for found in counts.by_check.values()), Counter())
    print(
        f"{times} outputs, seed {seed}, {time.perf_counter() - begun:.0f} s:"
        f" {total[MISSED]} believed wrongly, {total[RAISED]} exceptions"
    )
    for miss in counts.misses[:SHOWN]:
        print(miss)
    return bool(counts.misses)


if __name__ == "__main__":
    sys.exit(main())
