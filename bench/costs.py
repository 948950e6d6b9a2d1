# SPDX-License-Identifier: Apache-2.0
"""Costs of commands on this machine: start, plan, report and import at scale; a launch.

A report on up to 1,000,000 values takes 8 s and 1 GiB at most, in three shapes: few launches of
many values (message sizes), many of eight (one message size), and four times as many of two (HPL);
without the PDF. The page of campaign measurements has 5 MB and 1,000 lines of text at most.

Overhead of a launch is the time from the end of one launch's session to the beginning of the next,
on a virtual cluster; builds and the start of ReFrame are not in it.
"""

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from assay.plan.planner import make_plan
from assay.plan.render import render_plan
from assay.schema.loading import campaign_from_text
from assay.sites.site import SiteFacts
from bench.rows import Row
from bench.tests.simulated.reframe_logs import write_logs
from records.run.record import read_records
from records.values import utc_seconds
from reports.statistics.descriptive import median_intervals
from reports.tests.synthetic import CONSTRUCTS, ENVIRONMENTS, HPL_FIXED, SIZES, case, write_run
from virtual_cluster.api import down, up
from virtual_cluster.spec import ClusterSpec

ASSAY = Path(sys.executable).with_name("assay")
TIMES, HELP_GOAL_S, LAUNCHES = 11, 0.05, 160
#: Commands, how often each is run, and the most seconds that its median may take.
COMMANDS: dict[str, tuple[list[str], int, float | None]] = {
    "assay --help": (["--help"], TIMES, HELP_GOAL_S),
    "assay checks": (["checks"], TIMES, None),
    "assay plan quick": (["plan", "quick", "--site", "virtual"], TIMES, None),
    f"assay status of a run of {LAUNCHES} launches": (["status", "RUN"], TIMES, None),
    "assay report of it, HTML": (["report", "RUN", "--format", "html"], 3, None),
}
GIB = 2**30
#: Most seconds and bytes of a report on so many values at most, and of an import with its report.
REPORT_LIMITS = {1_000_000: (8.0, GIB), 10_000_000: (60.0, 4 * GIB)}
IMPORT_S, PLAN_S = 30.0, 10.0
PAGE_BYTES, TEXT_LINES, BLOCKS = 5_000_000, 1_000, 5
#: All formats of a report but the PDF.
FORMATS = [f"--format={name}" for name in ("html", "md", "csv", "junit", "json", "parquet")]
#: Values of a launch, by shape.
SHAPES = {"wide": 8 * len(SIZES) * len(CONSTRUCTS), "many": 8, "long": 2}


class Used(NamedTuple):
    """Time and memory that a command took."""

    seconds: float
    peak_bytes: int
    status: int


def used_by(words: list[str], folder: Path) -> Used:
    """Run `assay` with these words in a folder. Raises RuntimeError where it could not do so."""
    begun = time.monotonic()
    process = subprocess.Popen([ASSAY, *words], stdout=subprocess.DEVNULL, cwd=folder)
    _, status, used = os.wait4(process.pid, 0)
    seconds, code = time.monotonic() - begun, os.waitstatus_to_exitcode(status)
    if code not in (0, 1, 3):
        raise RuntimeError(f"assay {' '.join(words)}: exit status {code}")
    return Used(seconds, used.ru_maxrss * 1024, code)


def start() -> Iterator[Row]:
    """Median wall time of commands (goal: `assay --help` in 0.05 s)."""
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as name:
        folder = Path(name)
        made = write_run(folder / "run", cases("long", 2 * LAUNCHES), blocks=BLOCKS)
        for what, (words, times, most_s) in COMMANDS.items():
            given = [str(made) if word == "RUN" else word for word in words]
            took_s = [used_by(given, folder).seconds for _ in range(times)]
            median_s = statistics.median(took_s)
            kept = most_s is None or median_s <= most_s
            text = f"{median_s:.3f} s ({min(took_s):.3f} … {max(took_s):.3f}) of {times}"
            yield Row(what, "" if most_s is None else f"≤ {most_s:g} s", text, kept, kept)


_CAMPAIGN = """
schema: 1
name: bench
question: how long does planning take?
environments: [a, b, c, d]
cases:
  - check: hpl
    matrix:
      grid: [{grids}]
      n: [{sizes}]
"""


def plan() -> Iterator[Row]:
    """Plan of 100,000 cases, from the campaign's text to the rendered plan (goal: 10 s)."""
    grids = ", ".join(f"{{p: {p}, q: {q}}}" for p in range(1, 6) for q in range(1, 6))
    sizes = ", ".join(str(1000 + n) for n in range(1000))
    site = SiteFacts("bench", 64, 8, 2**37, {name: {"mpi"} for name in "abcd"})
    begun = time.perf_counter()
    text = _CAMPAIGN.replace("{grids}", grids).replace("{sizes}", sizes)
    made = make_plan(campaign_from_text("bench.yaml", text), site)
    render_plan(made)
    took_s = time.perf_counter() - begun
    what = f"plan of {made.totals.cases:,} cases"
    yield Row(what, f"≤ {PLAN_S:g} s", f"{took_s:.2f} s", took_s <= PLAN_S)


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


def report(*values: str) -> Iterator[Row]:
    """Report on so many values: time and peak memory (goal: 8 s, 1 GiB for a million)."""
    for shape in SHAPES:
        for count in map(int, values or ("10000", "100000", "300000", "1000000")):
            with tempfile.TemporaryDirectory(prefix="assay-bench-") as name:
                directory = write_run(
                    Path(name) / "bench", cases(shape, count), blocks=BLOCKS, raw=False
                )
                used = used_by(["report", str(directory), *FORMATS], directory)
            limits = [limit for most, limit in REPORT_LIMITS.items() if count <= most][:1]
            yield _limited(f"{shape}: report on {count:,} values", used, *limits)
    yield weighed()


def _limited(what: str, used: Used, limits: tuple[float, int] | None = None) -> Row:
    text = f"{used.seconds:.2f} s, peak {used.peak_bytes / 2**20:.0f} MiB"
    if limits is None:
        return Row(what, "", text)
    kept = used.seconds <= limits[0] and used.peak_bytes <= limits[1]
    return Row(what, f"≤ {limits[0]:g} s, {limits[1] >> 30} GiB", text, kept)


def weighed(campaign: str = "measurements") -> Row:
    """Weight of the page of a whole campaign and length of its text: all its cases and points,
    with seeded values."""
    from reports.tests.whole_campaigns import write_campaign  # slow: loads every check

    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        directory = write_campaign(Path(folder) / "run", campaign, blocks=3)
        used_by(["report", str(directory), *FORMATS], directory)
        page = (directory / "report" / "index.html").stat().st_size
        lines = len((directory / "report" / "report.md").read_text().splitlines())
    what, target = f"{campaign}: page, lines of text", f"≤ {PAGE_BYTES / 1e6:g} MB, {TEXT_LINES}"
    kept = page <= PAGE_BYTES and lines <= TEXT_LINES
    return Row(what, target, f"{page / 1e6:.2f} MB, {lines}", kept)


def history(tests: str = "463", nights: str = "720", repeats: str = "3") -> Iterator[Row]:
    """Import of 10^6 lines of ReFrame's logs and the report on them: 30 s together, 1 GiB."""
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as name:
        folder = Path(name)
        logs = write_logs(folder / "logs", int(tests), int(nights), int(repeats))
        asked = (["import", str(logs)], ["survey"])
        both = [used_by(["reframe", *words], folder) for words in asked]
    used = Used(sum(one.seconds for one in both), max(one.peak_bytes for one in both), 0)
    count = int(tests) * int(nights) * int(repeats)
    yield _limited(f"import of {count:,} launches and their report", used, (IMPORT_S, GIB))


def assay(folder: Path, *words: str) -> str:
    """Run assay in `folder`; its output. Raises RuntimeError where it could not do its work."""
    done = subprocess.run([ASSAY, *words], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode in (2, 4):
        raise RuntimeError(f"assay {' '.join(words)}: {done.stderr or done.stdout}")
    return done.stdout


_SHORT_LAUNCHES = """
schema: 1
name: overhead
question: what does a launch cost beside its own work?
environments: [mpich]
blocks: 40
seed: 1
cases:
  - check: startup
    fixed: {ranks: 2, ranks_per_node: 1}
"""
#: Most seconds a launch.
GOAL_S = 0.3


def overhead() -> Iterator[Row]:
    """Cost of a launch beyond its own run time, on a virtual cluster (goal: 0.3 s)."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the cluster is taken down
    cluster = up(ClusterSpec(name=f"bench-{os.getpid()}", nodes=2))
    try:
        with tempfile.TemporaryDirectory(prefix="assay-bench-") as name:
            folder = Path(name)
            (folder / "campaign.yaml").write_text(_SHORT_LAUNCHES)
            site = f"virtual:{cluster.name}"
            assay(folder, "run", "campaign.yaml", "--site", site, "--no-report")
            values = gaps_s(next(folder.glob("results/*/*")))
    finally:
        down(cluster.name)
    found = statistics.median(values)
    (interval,) = median_intervals(np.sort(np.array([values])))
    ends = "" if interval is None else f" ({interval.low:.3f} … {interval.high:.3f})"
    text = f"{found:.3f} s{ends}, greatest {max(values):.3f} s, n = {len(values)}"
    kept = found <= GOAL_S
    yield Row("a launch in a job of its own", f"≤ {GOAL_S:g} s", text, kept, kept)


def gaps_s(run: Path) -> list[float]:
    """Seconds from the end of each launch of a run to the beginning of the next."""
    ends = sorted(
        tuple(utc_seconds(text or "") or 0.0 for text in (one.started_at, one.ended_at))
        for one in read_records(run / "records.jsonl")
        if one.started_at
    )
    return [after[0] - before[1] for before, after in pairwise(ends)]
