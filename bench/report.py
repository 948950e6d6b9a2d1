# SPDX-License-Identifier: Apache-2.0
"""Report on up to 1,000,000 metric values: time and peak memory (goal: 8 s, 1 GiB).

python -m bench report [VALUES …]. Each size runs in processes of its own, in three shapes: few
launches of many values (message sizes), many of eight (one message size), and four times as many
of two (HPL); once without the PDF and, where a browser is there, once with it, as `assay report`
makes it. The browser's memory is not counted. Then the page of campaign measurements is weighed:
3 MB and 500 lines of text at most.
Asked for 10000000, whose goal is 60 s and 4 GiB, it takes minutes. Exits 1 when a goal is missed.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from reports.tests.synthetic import CONSTRUCTS, ENVIRONMENTS, HPL_FIXED, SIZES, case, write_run
from reports.write.pdf import find_browser

#: Up to so many values: seconds and bytes allowed.
LIMITS = {1_000_000: (8.0, 2**30), 10_000_000: (60.0, 4 * 2**30)}
LIMIT_PAGE_BYTES = 3_000_000
LIMIT_LINES = 500
BLOCKS = 5


def wide_cases(values: int) -> list[dict[str, object]]:
    """Point-to-point cases with about `values` values over all blocks."""
    a_launch = 8 * len(SIZES) * len(CONSTRUCTS)
    count = max(1, round(values / (a_launch * BLOCKS * len(ENVIRONMENTS))))
    return [
        case(
            "pt2pt",
            name,
            {"placement": "between-nodes", "constructs": list(CONSTRUCTS), "iterations": n},
        )
        for n in range(1, count + 1)
        for name in ENVIRONMENTS
    ]


def many_cases(values: int) -> list[dict[str, object]]:
    """Point-to-point cases of one construct and message size, eight values a launch."""
    count = max(1, round(values / (8 * BLOCKS * len(ENVIRONMENTS))))
    sizes = SIZES[: max(1, min(len(SIZES), count // 10))]
    return [
        case(
            "pt2pt",
            name,
            {
                "placement": "between-nodes",
                "constructs": ["Send/Recv"],
                "sizes": [sizes[n % len(sizes)]],
                "iterations": 10 + n // len(sizes),
            },
        )
        for n in range(count)
        for name in ENVIRONMENTS
    ]


def long_cases(values: int) -> list[dict[str, object]]:
    """HPL cases with about `values` values over all blocks."""
    count = max(1, round(values / (2 * BLOCKS * len(ENVIRONMENTS))))
    return [
        case("hpl", name, {"p": 1, "q": 2, "n": n, **HPL_FIXED})
        for n in range(1000, 1000 + count)
        for name in ENVIRONMENTS
    ]


SHAPES = {"wide": wide_cases, "many": many_cases, "long": long_cases}


def measure(directory: Path, *, pdf: bool) -> None:
    """Build the report of `directory` and print what it took, as JSON."""
    started = time.monotonic()
    from reports.write.report import FORMATS, build_report  # slow: part of what is measured

    build_report(directory, formats=[name for name in FORMATS if pdf or name != "pdf"])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    taken = {
        "time_s": time.monotonic() - started,
        "cpu_s": time.process_time(),
        "peak_bytes": peak,
    }
    print(json.dumps(taken))


def bench(shape: str, values: int) -> bool:
    """One size of one shape; whether it keeps the limits."""
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        directory = write_run(Path(folder) / "bench", SHAPES[shape](values), blocks=BLOCKS)
        found = _measured(directory, "--measure")
        whole = _measured(directory, "--measure-pdf") if find_browser() else found
        sizes = sum(path.stat().st_size for path in (directory / "report").rglob("*.*"))
    slowest, greatest = (max(found[name], whole[name]) for name in ("time_s", "peak_bytes"))
    kept = all(
        slowest <= limit_s and greatest <= limit_bytes
        for limit_s, limit_bytes in [limit for most, limit in LIMITS.items() if values <= most][:1]
    )
    printed = f"{whole['time_s']:6.2f} s with the PDF" if whole is not found else "no browser"
    print(
        f"{shape:5} {values:9,} values: {found['time_s']:6.2f} s"
        f" (CPU {found['cpu_s']:.2f} s, {found['cpu_s'] / values * 1e6:.1f} µs a value),"
        f" {printed}, peak {greatest / 2**20:.0f} MiB, report {sizes / 1e6:.1f} MB"
        f"{'' if kept else '  OVER THE LIMIT'}",
        flush=True,
    )
    return kept


def _measured(directory: Path, how: str) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.report", how, str(directory)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found: dict[str, float] = json.loads(output)
    return found


def weigh(campaign: str = "measurements") -> bool:
    """Weight of the page of a whole campaign and length of its text; whether they keep the limits.

    All its cases and points, with seeded values.
    """
    from bench.whole_campaigns import write_campaign  # slow: loads every check
    from reports.write.report import build_report

    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        report = write_campaign(Path(folder) / "run", campaign, blocks=3) / "report"
        build_report(report.parent, formats=("html", "md"))
        page = (report / "index.html").stat().st_size
        beside = sum(path.stat().st_size for path in report.glob("details/*.html"))
        lines = len((report / "report.md").read_text().splitlines())
    kept = page <= LIMIT_PAGE_BYTES and lines <= LIMIT_LINES
    print(
        f"{campaign}: index.html {page / 1e6:.2f} MB (goal {LIMIT_PAGE_BYTES / 1e6:g}), beside it"
        f" {beside / 1e6:.1f} MB, report.md {lines} lines (goal {LIMIT_LINES})"
        f"{'' if kept else '  OVER THE LIMIT'}",
        flush=True,
    )
    return kept


def main(arguments: list[str]) -> int:
    """Entry point; see the module's docstring."""
    if arguments[:1] in (["--measure"], ["--measure-pdf"]):
        measure(Path(arguments[1]), pdf=arguments[0] == "--measure-pdf")
        return 0
    parser = argparse.ArgumentParser(prog="python -m bench report")
    parser.add_argument(
        "values", type=int, nargs="*", default=[10_000, 100_000, 300_000, 1_000_000]
    )
    parser.add_argument("--shape", choices=SHAPES, action="append", help="all by default")
    asked = parser.parse_args(arguments)
    kept = [bench(shape, values) for shape in asked.shape or SHAPES for values in asked.values]
    return 0 if all([*kept, weigh()]) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
