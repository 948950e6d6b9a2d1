# SPDX-License-Identifier: Apache-2.0
"""Tells what a second rank gains and to what it loses: the lattice's size, the cores, messages.

usage: scaling.py SU3_RMD_SINGLE ROOFLINE mpich|openmpi [REPETITIONS]
Of each lattice four runs take turns, each process on a core of its own: the whole lattice on one
rank and on two; its half (in t) by one program alone, and by two programs at once. Then
  efficiency = whole on one / (2 × whole on two) = size × cores × messages:
  size      whole on one / (2 × half alone): a smaller lattice gains in cache, loses at its ends
  cores     half alone / half beside another: what two cores share, as memory
  messages  half beside another / whole on two: halos, sums, waits
  weak      half alone / whole on two: efficiency with as many sites a rank.
Peak: multiply-adds in registers. Triad: bandwidth on as many bytes as links and momenta take, on
one core, and together on both with half of them each. Bytes: every link and momentum read and
written once a step (kernels.h). bound: the efficiency that two ranks cannot exceed, if nothing but
peak and triad of both cores limited them. Medians over the repetitions; of the efficiency also the
quartiles. The exit status is 1 if two ranks on 16³×32 are below 90 % and below the bound.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

LAUNCH = {
    "mpich": ["mpiexec.mpich"],
    "openmpi": ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"],
}
SITE_BYTES = 4 * (72 + 32)  # links and momenta, single precision
GOAL = 0.9


class Shape(NamedTuple):
    """A lattice nx³ × nt, and trajectories that it is run for after one that warms up."""

    nx: int
    nt: int
    trajectories: int

    @property
    def sites(self) -> int:
        """Of the lattice."""
        return self.nx**3 * self.nt

    @property
    def half(self) -> Shape:
        """Half as long in t."""
        return self._replace(nt=self.nt // 2)

    def input(self) -> str:
        """The program's input."""
        sizes = f"nx {self.nx}\nny {self.nx}\nnz {self.nx}\nnt {self.nt}\niseed 5682304\n"
        steps = "microcanonical_time_step 0.01\nsteps_per_trajectory 4\nfresh\nforget\n"
        counts = f"warms 1\ntrajecs {self.trajectories}\ntraj_between_meas 1\nbeta 6.0\n"
        return f"prompt 0\n{sizes}{counts}{steps}"


#: Each takes a third of a second on one fast core.
SHAPES = (Shape(8, 16, 31), Shape(8, 32, 15), Shape(16, 32, 1))
GOAL_SHAPE = SHAPES[2]


class Work(NamedTuple):
    """Of one run: s; operations by the original's count, done ones and bytes of the lattice."""

    time_s: float
    original_flop: float
    done_flop: float
    moved_bytes: float


class Limits(NamedTuple):
    """Of one core, or of two at once."""

    flop_per_s: float
    bytes_per_s: float

    def least_s(self, work: Work) -> float:
        """The time that the work takes at least."""
        return max(work.done_flop / self.flop_per_s, work.moved_bytes / self.bytes_per_s)


def started(words: list[str]) -> subprocess.Popen[str]:
    """The process, its output kept."""
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen[str]) -> list[dict[str, Any]]:
    """Its JSON lines; a failed run ends the bench."""
    text, _ = process.communicate()
    if process.returncode != 0:
        sys.exit(f"scaling.py: {process.args!r} ended with status {process.returncode}")
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def work_of(process: subprocess.Popen[str]) -> Work:
    """What the program says of its run."""
    lines = ended(process)
    time_s = next(line["value"] for line in lines if line.get("name") == "program_time")
    work = next(line["value"] for line in lines if line.get("key") == "kernels")
    return Work(time_s, work["original_flop"], work["done_flop"], work["moved_bytes"])


class Bench:
    """The programs, and the two cores."""

    def __init__(self, program: str, roofline: str, library: str, folder: Path) -> None:
        self.program, self.roofline, self.launch = program, roofline, LAUNCH[library]
        self.folder, self.cores = folder, sorted(os.sched_getaffinity(0))[:2]

    def program_on(self, shape: Shape, cores: list[int]) -> subprocess.Popen[str]:
        """One program, a rank on each of these cores."""
        file = self.folder / f"{shape.nx}x{shape.nt}"
        file.write_text(shape.input())
        words = [*self.launch]
        for core in cores:
            words += [":"] if core != cores[0] else []
            words += ["-n", "1", "taskset", "-c", str(core), self.program]
            words += ["--input", str(file), "--json", "-"]
        return started(words)

    def limits(self, set_bytes: float, cores: int) -> Limits:
        """So many cores at once, which share so many bytes."""
        words = [self.roofline, f"{set_bytes / cores / 2**20:.3f}", "0.1"]
        processes = [started(["taskset", "-c", str(c), *words]) for c in self.cores[:cores]]
        found = [ended(process)[0] for process in processes]
        names = "single_flop_per_s", "triad_bytes_per_s"
        return Limits(*(sum(one[name] for one in found) for name in names))

    def turn(self, shape: Shape) -> Turn:
        """Each kind of run once: alone on one core and on both, a half of it alone, and two."""
        one, two = (work_of(self.program_on(shape, self.cores[:n])) for n in (1, 2))
        half_s = work_of(self.program_on(shape.half, self.cores[:1])).time_s
        pair = [self.program_on(shape.half, [core]) for core in self.cores]
        beside_s = statistics.mean([work_of(process).time_s for process in pair])
        roofs = [self.limits(shape.sites * SITE_BYTES, n) for n in (1, 2)]
        return Turn((one, two), half_s, beside_s, roofs)


class Turn(NamedTuple):
    """What one turn over a lattice gave, on one core and on two."""

    works: tuple[Work, Work]
    half_s: float
    beside_s: float
    roofs: list[Limits]

    def shares(self) -> dict[str, float]:
        """What is printed as %."""
        (one_s, two_s), (roof_one, roof_both) = (
            [work.time_s for work in self.works],
            [roof.least_s(work) for roof, work in zip(self.roofs, self.works, strict=True)],
        )
        return {
            "efficiency": one_s / (2 * two_s),
            "size": one_s / (2 * self.half_s),
            "cores": self.half_s / self.beside_s,
            "messages": self.beside_s / two_s,
            "weak": self.half_s / two_s,
            "of_roof_0": roof_one / one_s,
            "of_roof_1": roof_both / two_s,
            "bound": min(1.0, one_s / (2 * roof_both)),
        }


def show(shape: Shape, turns: list[Turn]) -> bool:
    """Prints a lattice's results; whether they meet the goal."""
    shares = {key: [one.shares()[key] for one in turns] for key in turns[0].shares()}
    low, efficiency, high = statistics.quantiles(shares["efficiency"], n=4)
    percent = {key: f"{key} {100 * statistics.median(shares[key]):.0f} %" for key in shares}
    work = turns[0].works[0]
    print(
        f"\n{shape.nx}³×{shape.nt}: links and momenta {shape.sites * SITE_BYTES / 1e6:.1f} MB,"
        f" {work.done_flop / work.moved_bytes:.1f} flop a byte"
    )
    for place, name in enumerate(("one", "two")):
        time_s = statistics.median(one.works[place].time_s for one in turns)
        roofs = zip(*(one.roofs[place] for one in turns), strict=True)
        peak, triad = map(statistics.median, roofs)
        share = statistics.median(shares[f"of_roof_{place}"])
        print(
            f"  {name}: {work.original_flop / time_s / 1e9:6.1f} Gflop/s by the original's count,"
            f" {work.done_flop / time_s / 1e9:6.1f} done,"
            f" {work.moved_bytes / time_s / 1e9:5.2f} GB/s; peak {peak / 1e9:.0f} Gflop/s,"
            f" triad {triad / 1e9:.1f} GB/s; {100 * share:.0f} % of the roof"
        )
    bound = statistics.median(shares["bound"])
    print(
        f"  efficiency {100 * efficiency:.1f} % [{100 * low:.1f}, {100 * high:.1f}]"
        f" = {percent['size']} × {percent['cores']} × {percent['messages']}; {percent['weak']};"
        f" bound by peak and triad {100 * bound:.0f} %"
    )
    return efficiency >= min(GOAL, bound)


def main(arguments: list[str]) -> int:
    """Measures in turns, prints."""
    program, roofline, library = arguments[:3]
    repetitions = int(arguments[3]) if len(arguments) > 3 else 9
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(program, roofline, library, Path(name))
        if len(bench.cores) < 2:
            print("skipped: one core")
            return 0
        turns = [[bench.turn(shape) for shape in SHAPES] for _ in range(repetitions)]
    print(f"single precision, {library}, cores {bench.cores}, n = {repetitions}")
    met = {
        shape: show(shape, list(found))
        for shape, found in zip(SHAPES, zip(*turns, strict=True), strict=True)
    }
    print(
        f"\ngoal: efficiency of two ranks on {GOAL_SHAPE.nx}³×{GOAL_SHAPE.nt} at least"
        f" {100 * GOAL:.0f} %, or the bound: {'met' if met[GOAL_SHAPE] else 'NOT MET'}"
    )
    return 0 if met[GOAL_SHAPE] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
