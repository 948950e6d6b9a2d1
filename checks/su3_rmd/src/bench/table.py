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
HEADS = "library precision lattice ranks kernels µs Gflop/s done ×plain ×1rank flop/B of_roof"


class Key(NamedTuple):
    """One line of the table."""

    library: str
    precision: str
    lattice: str
    ranks: int
    kernel: str


class Run(NamedTuple):
    """Of one run: µs a site and step, Gflop/s by both counts, flop a byte."""

    us: float
    rate: float
    done: float
    intensity: float


def read_lines(path: Path) -> tuple[dict[Key, Run], dict[Key, str]]:
    """Median of each number over the repetitions, and the set of kernels that ran."""
    runs: dict[Key, list[Run]] = defaultdict(list)
    kernels: dict[Key, str] = {}
    for line in path.read_text().splitlines():
        library, precision, lattice, ranks, kernel, text = line.split(" ", 5)
        key = Key(library, precision, lattice, int(ranks), kernel)
        entries = json.loads(text)
        values = {e["name"]: e["value"] for e in entries if e["assay"] == "metric"}
        notes = {e["key"]: e["value"] for e in entries if e["assay"] == "note"}["kernels"]
        rate, share = values["rate"] / 1e9, notes["done_flop"] / notes["original_flop"]
        us, intensity = values["site_step_time"] * 1e6, notes["intensity_flop_per_byte"]
        runs[key].append(Run(us, rate, rate * share, intensity))
        kernels[key] = notes["set"]
    table = {
        key: Run(*map(statistics.median, zip(*found, strict=True))) for key, found in runs.items()
    }
    return table, kernels


def row(key: Key, table: dict[Key, Run], limits: dict[str, float]) -> list[str]:
    """The numbers of one line."""
    run, alone = table[key], table.get(key._replace(ranks=1))
    cells = [f"{run.us:.3f}", f"{run.rate:.1f}", f"{run.done:.1f}"]
    if key.ranks > 1:
        return [*cells, "", f"{alone.us / run.us:.2f}" if alone else "", "", ""]
    plain = table.get(key._replace(library="mpich", kernel="plain"))
    peak = limits[f"{key.precision}_flop_per_s"]
    roof = min(peak, run.intensity * limits["triad_bytes_per_s"]) / 1e9
    times = f"{plain.us / run.us:.1f}" if plain else ""
    return [*cells, times, "", f"{run.intensity:.2f}", f"{100 * run.done / roof:.0f} %"]


def main(arguments: list[str]) -> int:
    """Print the table; judge the goal if there is one."""
    table, kernels = read_lines(Path(arguments[0]))
    limits = json.loads(Path(arguments[1]).read_text())
    print(
        f"one core: peak {limits['single_flop_per_s'] / 1e9:.0f} Gflop/s single,"
        f" {limits['double_flop_per_s'] / 1e9:.0f} double; triad"
        f" {limits['triad_bytes_per_s'] / 1e9:.1f} GB/s"
    )
    rows = [HEADS.split()]
    for key in table:
        named = [key.library, key.precision, key.lattice.replace("x", "³×"), str(key.ranks)]
        rows.append([*named, kernels[key], *row(key, table, limits)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
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
