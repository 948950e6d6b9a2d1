# SPDX-License-Identifier: Apache-2.0
"""Says what a second rank gains and to what it loses: the lattice's size, the cores, messages.

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
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import fmean, median, quantiles
from typing import Any

LAUNCH = {
    "mpich": ["mpiexec.mpich"],
    "openmpi": ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"],
}
SITE_BYTES = 4 * (72 + 32)  # links and momenta, single precision
COUNTED = ("original_flop", "done_flop", "moved_bytes")
GOAL = 0.9
#: nx, nt and trajectories after one that warms up; each takes 1/3 s on one fast core. The last one
#: has the goal.
SHAPES = ((8, 16, 31), (8, 32, 15), (16, 32, 1))
INPUT = """prompt 0\nnx {nx}\nny {nx}\nnz {nx}\nnt {nt}\niseed 5682304
warms 1\ntrajecs {trajectories}\ntraj_between_meas 1\nbeta 6.0
microcanonical_time_step 0.01\nsteps_per_trajectory 4\nfresh\nforget\n"""


def started(*words: str) -> subprocess.Popen[str]:
    """The process, its output kept."""
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen[str]) -> list[dict[str, Any]]:
    """Its JSON lines; a failed run ends the bench."""
    text, _ = process.communicate()
    if process.returncode != 0:
        sys.exit(f"scaling.py: {process.args!r} ended with status {process.returncode}")
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def work_of(process: subprocess.Popen[str]) -> dict[str, float]:
    """The run's time in s, operations by the original's count, done ones, bytes moved."""
    lines = ended(process)
    time_s = next(line["value"] for line in lines if line.get("name") == "program_time")
    kernels = next(line["value"] for line in lines if line.get("key") == "kernels")
    return {"time_s": time_s, **{name: kernels[name] for name in COUNTED}}


class Bench:
    """The programs, and the two cores."""

    def __init__(self, program: str, roofline: str, library: str, folder: Path) -> None:
        self.program, self.roofline, self.launch = program, roofline, LAUNCH[library]
        self.folder, self.cores = folder, sorted(os.sched_getaffinity(0))[:2]

    def run(self, nx: int, nt: int, trajectories: int, cores: list[int]) -> subprocess.Popen[str]:
        """Start one program, a rank on each of these cores."""
        file = self.folder / f"{nx}x{nt}"
        file.write_text(INPUT.format(nx=nx, nt=nt, trajectories=trajectories))
        words = [*self.launch]
        for core in cores:
            words += [":"] if core != cores[0] else []
            words += ["-n", "1", "taskset", "-c", str(core), self.program]
            words += ["--input", str(file), "--json", "-"]
        return started(*words)

    def limits(self, set_bytes: float, cores: list[int]) -> dict[str, float]:
        """Peak and triad of cores at once, which share so many bytes."""
        words = [self.roofline, f"{set_bytes / len(cores) / 2**20:.3f}", "0.1"]
        processes = [started("taskset", "-c", str(core), *words) for core in cores]
        found = [ended(process)[0] for process in processes]
        names = {"peak": "single_flop_per_s", "triad": "triad_bytes_per_s"}
        return {name: sum(one[key] for one in found) for name, key in names.items()}

    def turn(self, nx: int, nt: int, trajectories: int) -> dict[str, Any]:
        """Each kind of run once; shares, and of one rank and two their work and limits."""
        ranks = [self.cores[:1], self.cores]
        works = [work_of(self.run(nx, nt, trajectories, cores)) for cores in ranks]
        half_s = work_of(self.run(nx, nt // 2, trajectories, ranks[0]))["time_s"]
        pair = [self.run(nx, nt // 2, trajectories, [core]) for core in self.cores]
        beside_s = fmean([work_of(process)["time_s"] for process in pair])
        roofs = [self.limits(nx**3 * nt * SITE_BYTES, cores) for cores in ranks]
        one_s, two_s = (work["time_s"] for work in works)
        least_s = [
            max(work["done_flop"] / roof["peak"], work["moved_bytes"] / roof["triad"])
            for work, roof in zip(works, roofs, strict=True)
        ]
        return {
            "ranks": [{**work, **roof} for work, roof in zip(works, roofs, strict=True)],
            "efficiency": one_s / (2 * two_s),
            "size": one_s / (2 * half_s),
            "cores": half_s / beside_s,
            "messages": beside_s / two_s,
            "weak": half_s / two_s,
            "of_roof": [least_s[0] / one_s, least_s[1] / two_s],
            "bound": min(1.0, one_s / (2 * least_s[1])),
        }


def show(nx: int, nt: int, turns: list[dict[str, Any]]) -> bool:
    """Print a lattice's results; whether they meet the goal."""
    low, efficiency, high = quantiles([one["efficiency"] for one in turns], n=4)
    share = {k: median(one[k] for one in turns) for k in ("size", "cores", "messages", "weak")}
    percent = {name: f"{name} {100 * value:.0f} %" for name, value in share.items()}
    bound = median(one["bound"] for one in turns)
    work = turns[0]["ranks"][0]
    print(
        f"\n{nx}³×{nt}: links and momenta {nx**3 * nt * SITE_BYTES / 1e6:.1f} MB,"
        f" {work['done_flop'] / work['moved_bytes']:.1f} flop a byte"
    )
    for place, name in enumerate(("one", "two")):
        ranks = [one["ranks"][place] for one in turns]
        of = {key: median(one[key] for one in ranks) for key in ranks[0]}
        print(
            f"  {name}: {of['original_flop'] / of['time_s'] / 1e9:6.1f} Gflop/s by the original's"
            f" count, {of['done_flop'] / of['time_s'] / 1e9:6.1f} done,"
            f" {of['moved_bytes'] / of['time_s'] / 1e9:5.2f} GB/s; peak {of['peak'] / 1e9:.0f}"
            f" Gflop/s, triad {of['triad'] / 1e9:.1f} GB/s;"
            f" {100 * median(one['of_roof'][place] for one in turns):.0f} % of the roof"
        )
    print(
        f"  efficiency {100 * efficiency:.1f} % [{100 * low:.1f}, {100 * high:.1f}]"
        f" = {percent['size']} × {percent['cores']} × {percent['messages']}; {percent['weak']};"
        f" bound by peak and triad {100 * bound:.0f} %"
    )
    return bool(efficiency >= min(GOAL, bound))


def main(program: str, roofline: str, library: str, repetitions: str = "9") -> int:
    """Measure in turns, print."""
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(program, roofline, library, Path(name))
        if len(bench.cores) < 2:
            print("skipped: one core")
            return 0
        turns = [[bench.turn(*shape) for shape in SHAPES] for _ in range(int(repetitions))]
    print(f"single precision, {library}, cores {bench.cores}, n = {repetitions}")
    for (nx, nt, _), found in zip(SHAPES, zip(*turns, strict=True), strict=True):
        met = show(nx, nt, list(found))
    print(
        f"\ngoal: efficiency of two ranks on {nx}³×{nt} at least {100 * GOAL:.0f} %, or the bound:"
        f" {'met' if met else 'NOT MET'}"
    )
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
