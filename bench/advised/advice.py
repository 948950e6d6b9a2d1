# SPDX-License-Identifier: Apache-2.0
"""`assay advise` against programs that ran: order, ratios and 90 % intervals of pairs.

python -m bench advice RUN … PROFILE … [--write]: each RUN is of advised/validation.yaml, on nodes
of one core or on one node; each PROFILE is of a case with factor 1, a file with the names of the
program and of its environment (halo.openmpi.json). Cases with longer messages have no profile of
their own. Those of `BLIND` were drawn by `SEED` before any of them ran: no constant of the advice
was chosen by them. --write: the table of docs/advice.md anew.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import median

from bench.rows import Row, share
from records.application_profile import ApplicationProfile, read_profile
from records.files import write_whole
from records.run.plan import PlannedCase
from reports.analysis.run import Analysis, analyse
from reports.checks.common.blocks import ByBlock, together
from reports.load.loading import load_run
from reports.show.mpi_profile import case_profiles
from reports.verdicts.advice.advise import advise
from reports.verdicts.advice.outcome import LikelyPart

SEED = 2036
#: Programs and how many times as long their messages are.
BLIND = random.Random(SEED).sample(  # noqa: S311
    [*product(("halo", "sums", "spectral", "master", "exchange"), (3, 6, 14))], 10
)
PAGE = Path(__file__).resolve().parents[2] / "docs" / "advice.md"
#: Measured differences from which on an order must be right.
LEAST_DIFFERENCE = 0.05
#: Of other programs the time is that of their profile, from MPI_Init to MPI_Finalize.
_METRICS = {
    "proxy": "proxy_time",
    "algorithms": "proxy_time",
    "su3_rmd": "program_time",
    "hpl": "time",
    "lammps": "loop",
}


@dataclass(frozen=True)
class ProgramVariant:
    """A program with messages so many times as long on so many ranks, of one node or several: its
    times by environment."""

    program: str
    sizes: int
    ranks: int
    time_s: dict[str, ByBlock]
    within: bool = False

    @property
    def name(self) -> str:
        """In a table."""
        place = " in a node" * self.within
        return f"{self.program}{place} | {self.sizes} | {self.ranks}"


@dataclass(frozen=True)
class ComparedPair:
    """An environment over that of the profile: predicted and measured ratio of the times. `noise`
    is the relative error of the measured one: half of what its even and odd blocks differ by."""

    variant: ProgramVariant
    environments: tuple[str, str]
    blind: bool
    predicted: LikelyPart | None
    measured: float
    refused: str = ""
    noise: float | None = None

    @property
    def error(self) -> float:
        """Relative error of the predicted ratio."""
        assert self.predicted
        return abs(self.predicted.value / self.measured - 1)

    @property
    def inside(self) -> bool:
        """Whether the interval holds what was measured."""
        return self.predicted is not None and (
            self.predicted.low <= self.measured <= self.predicted.high
        )

    @property
    def separated(self) -> bool:
        """Whether the two are said to be apart."""
        return self.predicted is not None and not self.predicted.tied

    @property
    def must_be_right(self) -> bool:
        """Whether the order was said and the measured difference counts."""
        return self.separated and not self.refused and abs(self.measured - 1) > LEAST_DIFFERENCE

    @property
    def right(self) -> bool:
        """Whether the order is the measured one."""
        return self.predicted is not None and (self.predicted.value > 1) == (self.measured > 1)


def variants(analysis: Analysis) -> list[ProgramVariant]:
    """Every program of the run, by name, size, ranks, place and case."""
    found: dict[tuple[str, int, int, bool, str], dict[str, ByBlock]] = {}

    def add(case: PlannedCase, times: ByBlock) -> None:
        name, factor = str(case.params.get("mix", case.check)), int(case.params.get("factor", 1))
        key = name, factor, case.ranks, case.nodes == 1, case.check
        found.setdefault(key, {})[case.environment] = times

    for check, metric in _METRICS.items():
        for row in analysis.rows_of(check, metric):
            add(analysis.case(row), row.series.by_block())
    for one in case_profiles(analysis):
        times = {n: max(rank.elapsed_s for rank in ranks) for n, ranks in enumerate(one.launches)}
        add(analysis.run.plan.cases[one.case], times)
    return [
        ProgramVariant(name, factor, ranks, times, within)
        for (name, factor, ranks, within, _), times in sorted(found.items())
    ]


def pairs(
    analysis: Analysis,
    profiles: dict[tuple[str, bool], ApplicationProfile],
    every: Sequence[ProgramVariant],
    blind: Sequence[ProgramVariant],
) -> Iterator[ComparedPair]:
    """Each variant that has a profile, in each environment but that of the profile, by the curves
    of a run; profiles are by program and whether on one node, `blind` some of the variants."""
    for variant in every:
        profile = profiles.get((variant.program, variant.within))
        own = variant.time_s.get(profile.environment) if profile else None
        if profile is None or own is None:
            continue
        advice = advise(analysis, profile, sizes=variant.sizes, ranks=variant.ranks)
        whole = {one.environment: one.whole_s for one in advice.predicted}
        for name, times in variant.time_s.items():
            both = together(times, own)
            if name == profile.environment or not both:
                continue
            known = {name, profile.environment} <= whole.keys()
            ratio = LikelyPart.of(whole[name] / whole[profile.environment]) if known else None
            why = "; ".join(advice.refused) or ("" if known else "no curves")
            ratios = [a / b for a, b in both]
            halves = [median(ratios[first::2]) for first in range(min(2, len(ratios)))]
            noise = abs(halves[0] / halves[1] - 1) / 2 if len(halves) == 2 else None
            names = name, profile.environment
            measured = median(ratios)
            yield ComparedPair(variant, names, variant in blind, ratio, measured, why, noise)


def summary(found: Sequence[ComparedPair]) -> Iterator[Row]:
    """What must hold over all pairs, and over the blind ones."""
    for what, some in (("all pairs", found), ("blind pairs", [one for one in found if one.blind])):
        if not some:
            continue
        known = [one for one in some if one.predicted and not one.refused]
        said = [one for one in known if one.must_be_right]
        right = sum(one.right for one in said)
        title = f"{what}: order right where it is said and the difference is > 5 %"
        yield Row(title, "all", f"{right} of {len(said)}", right == len(said))
        errors = sorted(one.error for one in known)
        if errors:
            ends = f"{median(errors):.1%}, greatest {errors[-1]:.1%} of {len(errors)}"
            yield Row(f"{what}: median error of the ratio", "≤ 5 %", ends, median(errors) <= 0.05)
        values = [one for one in known if one.predicted and one.predicted.stated]
        text = f"{len(values)}; {sum(one.error <= 0.1 for one in values)} of them within 10 %"
        yield Row(f"{what}: a value is said, not the interval alone", "all within 10 %", text)
        noise = [one.noise for one in some if one.noise is not None]
        if noise:
            title = f"{what}: error of the measured ratio itself, by its even and odd blocks"
            yield Row(title, "", f"median {median(noise):.1%}")
        inside = sum(one.inside for one in known)
        yield share(f"{what}: measured ratio in its 90 % interval", inside, len(known), least=0.85)
        lost = [one for one in some if one.refused]
        held = sum(one.inside for one in lost)
        text = f"{len(lost)} of {len(some)}; {held} of them would be in their intervals"
        yield Row(f"{what}: refused", "", text)


def trials(found: Sequence[ComparedPair]) -> Iterator[Row]:
    """Of each program the tuning of a library that is advised: what is said to be faster than the
    default, else the default itself."""
    tried: dict[int, list[ComparedPair]] = {}
    for one in found:
        if one.environments[0].startswith(f"{one.environments[1]}-"):
            tried.setdefault(id(one.variant), []).append(one)
    advised = []
    for some in tried.values():
        faster = [
            one for one in some if not one.refused and one.predicted and one.predicted.high < 1
        ]
        advised += sorted(faster, key=lambda one: one.predicted.value if one.predicted else 1)[:1]
    slower = sum(one.measured > 1.03 for one in advised)
    text = f"{slower} of {len(tried)} trials; another than the default in {len(advised)}"
    if tried:
        title = "tunings: the advised one is slower than the default by > 3 %"
        yield Row(title, "none", text, not slower)


def table(found: Sequence[ComparedPair], heading: str) -> str:
    """The Markdown of all pairs."""
    lines = [
        heading,
        "",
        "| program | × size | ranks | pair | blind | predicted (90 %) | measured | |",
        "|---|---:|---:|---|---|---|---:|---|",
    ]
    for one in found:
        head = f"| {one.variant.name} | {' / '.join(one.environments)} | {'yes' * one.blind} |"
        if one.predicted is None:
            lines.append(f"{head} – | {one.measured:.2f} | refused |")
            continue
        ends = f"{one.predicted.value:.2f} ({one.predicted.low:.2f} … {one.predicted.high:.2f})"
        words = ["refused"] * bool(one.refused) + ["inside" if one.inside else "**outside**"]
        words += ["**wrong order**"] if one.must_be_right and not one.right else []
        lines.append(f"{head} {ends} | {one.measured:.2f} | {', '.join(words)} |")
    refused = {one.variant.name: one.refused for one in found if one.refused}
    lines += ["", *(f"- {name.replace(' | ', ', ')}: {why}" for name, why in refused.items())]
    kept = [*summary(found), *trials(found)]
    rows = [f"| {row.what} | {row.target or '–'} | {row.found} |" for row in kept]
    return "\n".join([*lines, "", "| over | target | found |", "|---|---|---|", *rows])


def show(found: Sequence[ComparedPair], heading: str, place: str) -> None:
    """Print the table of pairs; and write it into its place of the page, where one is given."""
    print(made := table(found, heading))
    if place:
        first, last = (f"<!-- {word} of the pairs: {place} -->" for word in ("begin", "end"))
        before, rest = PAGE.read_text(encoding="utf-8").split(first)
        text = f"{before}{first}\n{made}\n{last}{rest.split(last)[1]}"
        write_whole(PAGE, text.encode())


def main(arguments: list[str]) -> int:
    """Entry point; see the module's docstring."""
    given = [Path(word) for word in arguments if word != "--write"]
    runs, files = ([one for one in given if one.is_dir() is kind] for kind in (True, False))
    if not runs or not files:
        print((__doc__ or "").split("\n\n")[1], file=sys.stderr)
        return 2
    launches: dict[tuple[str, bool], list[ApplicationProfile]] = {}
    for path in files:
        (program, environment, *_), profile = path.name.split("."), read_profile(path)
        profile.environment = environment
        launches.setdefault((program, profile.nodes == 1), []).append(profile)
    profiles = {
        key: sorted(some, key=lambda one: one.elapsed_s.mean)[len(some) // 2]
        for key, some in launches.items()
    }
    found, blocks = list[ComparedPair](), set[int]()
    for analysis in (analyse(load_run(run)) for run in runs):
        every = variants(analysis)
        blind = [one for one in every if (one.program, one.sizes) in BLIND]
        found += pairs(analysis, profiles, every, blind)
        blocks.add(max(len(times) for one in every for times in one.time_s.values()))
    heading = f"`python -m bench advice`, {' and '.join(map(str, sorted(blocks)))} blocks:"
    show(found, heading, "cluster" if "--write" in arguments else "")
    return 0 if all(row.kept for row in summary(found)) else 1
