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
from typing import NamedTuple

LAUNCH = {
    "mpich": ["mpiexec.mpich"],
    "openmpi": ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"],
}
SITE_BYTES = 4 * (72 + 32)  # links and momenta, single precision
GOAL = 0.9


class Shape(NamedTuple):
    """A lattice nx³ × nt, and trajectories that it is run for beside one that warms up."""

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


def ended(process: subprocess.Popen[str]) -> str:
    """Its output; a failed run ends the bench."""
    text, _ = process.communicate()
    if process.returncode != 0:
        sys.exit(f"scaling.py: {process.args!r} ended with status {process.returncode}")
    return text


def read(text: str) -> Work:
    """What the program says of its run."""
    lines = [json.loads(line) for line in text.splitlines() if line.startswith('{"assay"')]
    time_s = next(line["value"] for line in lines if line.get("name") == "program_time")
    work = next(line["value"] for line in lines if line.get("key") == "kernels")
    return Work(time_s, work["original_flop"], work["done_flop"], work["moved_bytes"])


class Machine:
    """The programs, and the two cores."""

    def __init__(self, program: str, roofline: str, library: str, folder: Path) -> None:
        self.program, self.roofline, self.launch = program, roofline, LAUNCH[library]
        self.folder = folder
        self.cores = sorted(os.sched_getaffinity(0))[:2]

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

    def run(self, shape: Shape, ranks: int) -> Work:
        """One program alone."""
        return read(ended(self.program_on(shape, self.cores[:ranks])))

    def run_beside(self, shape: Shape) -> float:
        """Two programs of one rank at once: their mean time in s."""
        pair = [self.program_on(shape, [core]) for core in self.cores]
        return statistics.mean([read(ended(process)).time_s for process in pair])

    def limits(self, set_bytes: float, cores: int) -> Limits:
        """So many cores at once, which share so many bytes."""
        words = [self.roofline, f"{set_bytes / cores / 2**20:.3f}", "0.1"]
        processes = [started(["taskset", "-c", str(c), *words]) for c in self.cores[:cores]]
        found = [json.loads(ended(process)) for process in processes]
        return Limits(
            sum(one["single_flop_per_s"] for one in found),
            sum(one["triad_bytes_per_s"] for one in found),
        )


class Turn(NamedTuple):
    """What one turn over a lattice gave."""

    one: Work
    two: Work
    half_s: float
    beside_s: float
    limits: Limits
    limits_both: Limits

    def shares(self) -> dict[str, float]:
        """The columns in %."""
        one_s, two_s = self.one.time_s, self.two.time_s
        roof_one, roof_both = self.limits.least_s(self.one), self.limits_both.least_s(self.two)
        return {
            "efficiency": one_s / (2 * two_s),
            "size": one_s / (2 * self.half_s),
            "cores": self.half_s / self.beside_s,
            "messages": self.beside_s / two_s,
            "weak": self.half_s / two_s,
            "of_roof": roof_one / one_s,
            "of_roof_2": roof_both / two_s,
            "bound": min(1.0, one_s / (2 * roof_both)),
        }


def turn(machine: Machine, shape: Shape) -> Turn:
    """Each kind of run once."""
    return Turn(
        machine.run(shape, 1),
        machine.run(shape, 2),
        machine.run(shape.half, 1).time_s,
        machine.run_beside(shape.half),
        machine.limits(shape.sites * SITE_BYTES, 1),
        machine.limits(shape.sites * SITE_BYTES, 2),
    )


def show(shape: Shape, turns: list[Turn]) -> bool:
    """Prints a lattice's results; whether they meet the goal."""

    def middle(values: list[float]) -> float:
        return statistics.median(values)

    shares = {key: [one.shares()[key] for one in turns] for key in turns[0].shares()}
    low, efficiency, high = statistics.quantiles(shares["efficiency"], n=4)
    work = turns[0].one
    print(
        f"\n{shape.nx}³×{shape.nt}: links and momenta {shape.sites * SITE_BYTES / 1e6:.1f} MB,"
        f" {work.done_flop / work.moved_bytes:.1f} flop a byte"
    )
    for name, roof_name, share in (
        ("one", "limits", "of_roof"),
        ("two", "limits_both", "of_roof_2"),
    ):
        roofs: list[Limits] = [getattr(one, roof_name) for one in turns]
        time_s = middle([getattr(one, name).time_s for one in turns])
        print(
            f"  {name}: {work.original_flop / time_s / 1e9:6.1f} Gflop/s by the original's count,"
            f" {work.done_flop / time_s / 1e9:6.1f} done,"
            f" {work.moved_bytes / time_s / 1e9:5.2f} GB/s;"
            f" peak {middle([roof.flop_per_s for roof in roofs]) / 1e9:.0f} Gflop/s,"
            f" triad {middle([roof.bytes_per_s for roof in roofs]) / 1e9:.1f} GB/s;"
            f" {100 * middle(shares[share]):.0f} % of the roof"
        )
    parts = (f"{key} {100 * middle(shares[key]):.0f} %" for key in ("size", "cores", "messages"))
    bound = middle(shares["bound"])
    print(
        f"  efficiency {100 * efficiency:.1f} % [{100 * low:.1f}, {100 * high:.1f}]"
        f" = {' × '.join(parts)}; weak {100 * middle(shares['weak']):.0f} %;"
        f" bound by peak and triad {100 * bound:.0f} %"
    )
    return efficiency >= min(GOAL, bound)


def main(arguments: list[str]) -> int:
    """Measures in turns, prints."""
    program, roofline, library = arguments[:3]
    repetitions = int(arguments[3]) if len(arguments) > 3 else 9
    with tempfile.TemporaryDirectory() as name:
        machine = Machine(program, roofline, library, Path(name))
        if len(machine.cores) < 2:
            print("skipped: one core")
            return 0
        turns = [[turn(machine, shape) for shape in SHAPES] for _ in range(repetitions)]
    print(f"single precision, {library}, cores {machine.cores}, n = {repetitions}")
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
