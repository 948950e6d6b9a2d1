# SPDX-License-Identifier: Apache-2.0
"""Report on up to 1,000,000 metric values: time and peak memory (goal: 8 s, 1 GiB).

python -m bench report [VALUES …] [--shape SHAPE]. Each size runs in processes of its own, in three
shapes: few launches of many values (message sizes), many of eight (one message size), and four
times as many of two (HPL); once without the PDF and, where a browser is there, once with it, as
`assay report` makes it. The browser's memory is not counted. Then the page of campaign measurements
is weighed: 5 MB and 1,000 lines of text at most. Asked for 10000000, whose goal is 60 s and 4 GiB,
it takes minutes.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.rows import Row, printed
from reports.render.files import find_browser
from reports.tests.synthetic import CONSTRUCTS, ENVIRONMENTS, HPL_FIXED, SIZES, case, write_run

#: Up to so many values: seconds and bytes allowed.
LIMITS = {1_000_000: (8.0, 2**30), 10_000_000: (60.0, 4 * 2**30)}
LIMIT_PAGE_BYTES, LIMIT_LINES = 5_000_000, 1_000
BLOCKS = 5
#: Values of a launch, by shape.
SHAPES = {"wide": 8 * len(SIZES) * len(CONSTRUCTS), "many": 8, "long": 2}


def cases(shape: str, values: int) -> list[dict[str, Any]]:
    """Cases with about `values` values over all blocks."""
    count = max(1, round(values / (SHAPES[shape] * BLOCKS * len(ENVIRONMENTS))))
    sizes = SIZES[: max(1, min(len(SIZES), count // 10))]

    def params(n: int) -> dict[str, Any]:
        if shape == "long":
            return {"p": 1, "q": 2, "n": 1000 + n, **HPL_FIXED}
        if shape == "wide":
            asked: dict[str, Any] = {"constructs": list(CONSTRUCTS), "iterations": n + 1}
        else:
            asked = {"constructs": ["Send/Recv"], "sizes": [sizes[n % len(sizes)]]}
            asked["iterations"] = 10 + n // len(sizes)
        return {"placement": "between-nodes", **asked}

    check = "hpl" if shape == "long" else "pt2pt"
    return [case(check, name, params(n)) for n in range(count) for name in ENVIRONMENTS]


def measure(directory: Path, *, pdf: bool) -> None:
    """Build the report of `directory` and print what it took, as JSON."""
    started = time.monotonic()
    from assay.documents.report import FORMATS, build_report  # slow: part of what is measured

    build_report(directory, formats=[name for name in FORMATS if pdf or name != "pdf"])
    taken = {
        "time_s": time.monotonic() - started,
        "cpu_s": time.process_time(),
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }
    print(json.dumps(taken))


def reported(shape: str, values: int) -> Row:
    """Measure one size of one shape."""
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        directory = write_run(Path(folder) / "bench", cases(shape, values), blocks=BLOCKS)
        found = _measured(directory, "--measure")
        whole = _measured(directory, "--measure-pdf") if find_browser() else found
        size = sum(path.stat().st_size for path in (directory / "report").rglob("*.*"))
    slowest, greatest = (max(found[name], whole[name]) for name in ("time_s", "peak_bytes"))
    limits = next((limit for most, limit in LIMITS.items() if values <= most), None)
    pdf = f"{whole['time_s']:.2f} s with the PDF" if whole is not found else "no browser"
    return Row(
        f"{shape}: {values:,} values",
        f"≤ {limits[0]:g} s, {limits[1] >> 30} GiB" if limits else "",
        f"{found['time_s']:.2f} s (CPU {found['cpu_s']:.2f} s,"
        f" {found['cpu_s'] / values * 1e6:.1f} µs a value), {pdf},"
        f" peak {greatest / 2**20:.0f} MiB, report {size / 1e6:.1f} MB",
        limits is None or (slowest <= limits[0] and greatest <= limits[1]),
    )


def _measured(directory: Path, how: str) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.report", how, str(directory)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found: dict[str, float] = json.loads(output)
    return found


def weighed(campaign: str = "measurements") -> Row:
    """Weight of the page of a whole campaign and length of its text: all its cases and points,
    with seeded values."""
    from assay.documents.report import build_report  # slow: loads all formats
    from reports.tests.whole_campaigns import write_campaign  # slow: loads every check

    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        report = write_campaign(Path(folder) / "run", campaign, blocks=3) / "report"
        build_report(report.parent, formats=("html", "md"))
        page = (report / "index.html").stat().st_size
        lines = len((report / "report.md").read_text().splitlines())
    return Row(
        f"{campaign}: index.html, lines of report.md",
        f"≤ {LIMIT_PAGE_BYTES / 1e6:g} MB, {LIMIT_LINES}",
        f"{page / 1e6:.2f} MB, {lines}",
        page <= LIMIT_PAGE_BYTES and lines <= LIMIT_LINES,
    )


def rows(shapes: list[str], sizes: list[int]) -> Iterator[Row]:
    """All rows; see the module's docstring."""
    for shape in shapes:
        for values in sizes:
            yield reported(shape, values)
    yield weighed()


def main(arguments: list[str]) -> int:
    """Entry point; see the module's docstring."""
    parser = argparse.ArgumentParser(prog="python -m bench report")
    sizes = [10_000, 100_000, 300_000, 1_000_000]
    parser.add_argument("values", type=int, nargs="*", default=sizes)
    parser.add_argument("--shape", choices=SHAPES, action="append", help="all by default")
    asked = parser.parse_args(arguments)
    return printed(rows(asked.shape or [*SHAPES], asked.values))


if __name__ == "__main__":
    measure(Path(sys.argv[2]), pdf=sys.argv[1] == "--measure-pdf")
