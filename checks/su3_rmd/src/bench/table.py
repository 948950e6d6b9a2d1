# SPDX-License-Identifier: Apache-2.0
"""Prints what run.sh measured as a table, against the plain kernels and the core's two limits.

usage: table.py LINES ROOFLINE.json [MOST_US_SINGLE]
Values are medians over the repetitions. Gflop/s: by the original's count of operations. done:
operations that the kernels really do. of roof: done over the lesser of the peak in registers and
intensity × triad bandwidth, one rank. Goal, with MOST_US_SINGLE: at most so many µs a site and step
on one rank, 8³ × 16, single precision; the exit status is 1 above it.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

GOAL_CASE = ("single", "8x16", 1, "auto")


class Key(NamedTuple):
    """One line of the table."""

    library: str
    precision: str
    lattice: str
    ranks: int
    kernel: str


class Run(NamedTuple):
    """Of one run: µs a site and step, Gflop/s by both counts, flop a byte, kernel set."""

    us: float
    rate: float
    done: float
    intensity: float
    kernels: str


def read_line(line: str) -> tuple[Key, Run]:
    """One line of run.sh."""
    library, precision, lattice, ranks, kernel, text = line.split(" ", 5)
    entries = json.loads(text)
    values = {e["name"]: e["value"] for e in entries if e["assay"] == "metric"}
    notes = {e["key"]: e["value"] for e in entries if e["assay"] == "note"}["kernels"]
    done = values["rate"] * notes["done_flop"] / notes["original_flop"]
    run = Run(
        values["site_step_time"] * 1e6,
        values["rate"] / 1e9,
        done / 1e9,
        notes["intensity_flop_per_byte"],
        notes["set"],
    )
    return Key(library, precision, lattice, int(ranks), kernel), run


def medians(path: Path) -> dict[Key, Run]:
    """Median of each number over the repetitions."""
    runs: dict[Key, list[Run]] = defaultdict(list)
    for line in path.read_text().splitlines():
        key, run = read_line(line)
        runs[key].append(run)
    return {
        key: Run(
            statistics.median(run.us for run in found),
            statistics.median(run.rate for run in found),
            statistics.median(run.done for run in found),
            statistics.median(run.intensity for run in found),
            found[0].kernels,
        )
        for key, found in runs.items()
    }


def roof(key: Key, run: Run, limits: dict[str, float]) -> float:
    """Gflop/s that one core could do at this intensity."""
    peak = limits[f"{key.precision}_flop_per_s"]
    return min(peak, run.intensity * limits["triad_bytes_per_s"]) / 1e9


def row(key: Key, table: dict[Key, Run], limits: dict[str, float]) -> list[str]:
    """The cells of one line."""
    run = table[key]
    plain = table.get(key._replace(library="mpich", ranks=1, kernel="plain"))
    alone = table.get(key._replace(ranks=1))
    single_rank = key.ranks == 1
    return [
        key.library,
        key.precision,
        key.lattice.replace("x", "³×"),
        str(key.ranks),
        run.kernels,
        f"{run.us:.3f}",
        f"{run.rate:.1f}",
        f"{run.done:.1f}",
        f"{plain.us / run.us:.1f}" if plain and single_rank else "",
        f"{alone.us / run.us:.2f}" if alone and not single_rank else "",
        f"{run.intensity:.2f}" if single_rank else "",
        f"{100 * run.done / roof(key, run, limits):.0f} %" if single_rank else "",
    ]


def main(arguments: list[str]) -> int:
    """Print the table; judge the goal if there is one."""
    table = medians(Path(arguments[0]))
    limits = json.loads(Path(arguments[1]).read_text())
    print(
        f"one core: peak {limits['single_flop_per_s'] / 1e9:.0f} Gflop/s single,"
        f" {limits['double_flop_per_s'] / 1e9:.0f} double; triad"
        f" {limits['triad_bytes_per_s'] / 1e9:.1f} GB/s"
    )
    heads = "library precision lattice ranks kernels µs Gflop/s done ×plain ×1rank flop/B of_roof"
    rows = [heads.split(), *(row(key, table, limits) for key in table)]
    widths = [max(len(line[i]) for line in rows) for i in range(len(rows[0]))]
    for line in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)))
    if len(arguments) < 3:
        return 0
    best = min(run.us for key, run in table.items() if key[1:] == GOAL_CASE)
    met = best <= float(arguments[2])
    print(
        f"goal: at most {arguments[2]} µs a site and step on 8³×16, single: {best:.3f}"
        f" {'met' if met else 'NOT MET'}"
    )
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
