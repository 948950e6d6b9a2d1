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
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median

#: Library, precision, lattice, ranks and kernels of a run.
Key = tuple[str, str, str, str, str]
HEADS = "library precision lattice ranks kernels µs Gflop/s done ×plain ×1rank flop/B of_roof"


def read_lines(path: Path) -> tuple[dict[Key, list[float]], dict[Key, str]]:
    """Medians over the repetitions: µs a site and step, Gflop/s by both counts, flop a byte; and
    the set of kernels that ran."""
    runs: dict[Key, list[tuple[float, ...]]] = defaultdict(list)
    kernels: dict[Key, str] = {}
    for line in path.read_text().splitlines():
        library, precision, lattice, ranks, kernel, text = line.split(" ", 5)
        key = (library, precision, lattice, ranks, kernel)
        entries = json.loads(text)
        values = {e["name"]: e["value"] for e in entries if e["assay"] == "metric"}
        notes = {e["key"]: e["value"] for e in entries if e["assay"] == "note"}["kernels"]
        rate, share = values["rate"] / 1e9, notes["done_flop"] / notes["original_flop"]
        us, intensity = values["site_step_time"] * 1e6, notes["intensity_flop_per_byte"]
        runs[key].append((us, rate, rate * share, intensity))
        kernels[key] = notes["set"]
    return {
        k: [median(one) for one in zip(*found, strict=True)] for k, found in runs.items()
    }, kernels


def row(key: Key, table: dict[Key, list[float]], limits: dict[str, float]) -> list[str]:
    """The numbers of one line."""
    library, precision, lattice, ranks, kernel = key
    us, rate, done, intensity = table[key]
    cells = [f"{us:.3f}", f"{rate:.1f}", f"{done:.1f}"]
    if ranks != "1":
        alone = table.get((library, precision, lattice, "1", kernel))
        return [*cells, "", f"{alone[0] / us:.2f}" if alone else "", "", ""]
    plain = table.get(("mpich", precision, lattice, ranks, "plain"))
    peak = limits[f"{precision}_flop_per_s"]
    roof = min(peak, intensity * limits["triad_bytes_per_s"]) / 1e9
    times = f"{plain[0] / us:.1f}" if plain else ""
    return [*cells, times, "", f"{intensity:.2f}", f"{100 * done / roof:.0f} %"]


def main(lines: str, roofline: str, most_us: str = "") -> int:
    """Print the table; judge the goal if there is one."""
    table, kernels = read_lines(Path(lines))
    limits = json.loads(Path(roofline).read_text())
    print(
        f"one core: peak {limits['single_flop_per_s'] / 1e9:.0f} Gflop/s single,"
        f" {limits['double_flop_per_s'] / 1e9:.0f} double; triad"
        f" {limits['triad_bytes_per_s'] / 1e9:.1f} GB/s"
    )
    rows = [HEADS.split()]
    for key in table:
        named = [*key[:2], key[2].replace("x", "³×"), key[3], kernels[key]]
        rows.append([*named, *row(key, table, limits)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for line in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)))
    if not most_us:
        return 0
    best = min(run[0] for key, run in table.items() if key[1:] == ("single", "8x16", "1", "auto"))
    met = best <= float(most_us)
    said = "met" if met else "NOT MET"
    print(f"goal: at most {most_us} µs a site and step on 8³×16, single: {best:.3f} {said}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
