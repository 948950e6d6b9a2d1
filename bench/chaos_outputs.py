# SPDX-License-Identifier: Apache-2.0
"""Changed outputs of every check: which are believed (goal: none that says what is not so).

Each good output is changed at random by one or more mutations, and judged. What is believed though
something asked or redundant was changed is a miss; so is an exception.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from pydantic.fields import FieldInfo

from bench.output_meaning import other_meaning
from bench.output_mutations import MUTATIONS
from bench.output_samples import Sample, samples
from checks.common.json_lines import OutputError
from checks.netpipe.output import schedule
from checks.osu import STARTUP_TESTS, UNSIZED_TESTS
from checks.osu.output import expected_sizes

#: Mutated outputs of a whole run.
TIMES = 100_000
#: Share of outputs that are not changed but judged as the answer to another question.
ASKED_OTHERWISE = 0.05
#: Parameters of the harness, or that say what is right; `fill` may be any number.
UNTOLD_PARAMETERS = frozenset(
    {"mpi_profile", "hops", "ranks_per_node", "placement", "plaquette", "plaquette_tolerance"}
    | {"implementation", "keep_measurements", "transport"}
)
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


def outcome(sample: Sample, mutation: str, text: str) -> tuple[str, str]:
    """What judging makes of a changed text, or of another question; and what there is to say."""
    try:
        reading = sample.judge(text)
    except OutputError as error:
        return REFUSED, str(error)
    except Exception as error:
        return RAISED, f"{type(error).__name__}: {error}"
    if reading.wrong:
        return REFUSED, reading.wrong
    other = other_meaning(sample, text)
    if mutation == "asked_otherwise":
        other = f"asked was {sample.params!r}"
    if other:
        return MISSED, other
    same = reading.metrics == sample.judge(sample.text).metrics
    return (BELIEVED if same else UNTOLD), ""


def asked_otherwise(sample: Sample, dice: Random) -> Sample | None:
    """The same output to another question: one parameter that the program is told is another."""
    fields = type(sample.params).model_fields
    told = sorted(fields.keys() - UNTOLD_PARAMETERS - untold(sample))
    if not told:
        return None
    name = dice.choice(told)
    value = _another(getattr(sample.params, name), fields[name], dice)
    try:
        params = type(sample.params).model_validate({**dict(sample.params), name: value})
    except ValueError:
        return None
    other = replace(sample, params=params)
    return None if params == sample.params or _sizes(other) == _sizes(sample) != [] else other


def untold(sample: Sample) -> set[str]:
    """Parameters on which the output of a foreign program does not depend."""
    if sample.definition.name == "osu":
        sizes = {"least_bytes", "greatest_bytes"} if sample.params.test in UNSIZED_TESTS else set()
        full = "iterations" if not sample.params.full or "_i" in sample.params.test else ""
        startup = {"validate_data", "tails"} if sample.params.test in STARTUP_TESTS else set()
        return {"warmup", "suite_sizes", full, *sizes, *startup}
    if sample.definition.name == "netpipe":
        return {"transport"}
    return set()


def _sizes(sample: Sample) -> list[int]:
    """The sizes that OSU's or NetPIPE's options ask for: others can mean the same."""
    asked = sample.params
    if sample.definition.name == "osu" and asked.test not in UNSIZED_TESTS:
        own = [
            asked.test,
            asked.ranks,
            asked.full,
            asked.validate_data,
            asked.tails,
            asked.iterations,
        ]
        return [*expected_sizes(asked.least_bytes, asked.greatest_bytes), *own]
    if sample.definition.name == "netpipe":
        bounds = asked.least_bytes, asked.greatest_bytes, asked.perturbation_bytes
        return [*schedule(*bounds), asked.repeats, asked.perturbation_bytes]
    return []


def _another(value: Any, field: FieldInfo, dice: Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return dice.choice([value + 1, value * 2, max(value - 1, 0)])
    if isinstance(value, list):
        kept = [one for one in value if dice.random() < 0.5]
        return kept or [*value, *value[-1:]]
    words = re.findall(r"'([^']+)'", str(field.annotation))
    return dice.choice(words or ["fill"])


def trials(times: int, seed: int) -> Iterator[tuple[Sample, str, str]]:
    """So many changed outputs, of each sample in turn."""
    dice, good = Random(seed), samples()  # noqa: S311  not for secrets
    others = [sample.text for sample in good]
    for turn in range(times):
        sample = good[turn % len(good)]
        other = asked_otherwise(sample, dice) if dice.random() < ASKED_OTHERWISE else None
        if other:
            yield other, "asked_otherwise", sample.text
        else:
            yield sample, *mutated(sample, dice, others)


def run(times: int, seed: int) -> Counts:
    """Judge so many changed outputs."""
    counts = Counts()
    for sample, mutation, text in trials(times, seed):
        counts.add(sample, mutation, *outcome(sample, mutation, text))
    return counts


def main() -> int:
    """Judge the changed outputs, print the counts; 1 where one was missed."""
    parser = argparse.ArgumentParser(prog="python -m bench chaos-outputs")
    parser.add_argument("--count", type=int, default=TIMES, help="changed outputs")
    parser.add_argument("--seed", type=int, default=1, help="of the changes")
    asked = parser.parse_args()
    times, seed = asked.count, asked.seed
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
