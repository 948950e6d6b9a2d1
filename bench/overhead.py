# SPDX-License-Identifier: Apache-2.0
"""Cost of a launch beyond its own run time, in a job of its own (goal: 0.3 s), on a virtual
cluster.

Overhead of a launch is the time from the end of one launch's session to the beginning of the next;
builds and the start of ReFrame are not in it. Slurm's share is measured by a series of empty jobs
on the same cluster: from `sbatch` until the job is known to be completed.
"""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from assay.commands import output_of
from bench.rows import Row
from records.run.record import read_records
from reports.statistics.descriptive import median_intervals
from virtual_cluster import ClusterSpec, up

_ASSAY = Path(sys.executable).parent / "assay"


def assay(folder: Path, *words: str) -> str:
    """Run assay in `folder`; its output. Raises RuntimeError where it could not do its work."""
    done = subprocess.run([_ASSAY, *words], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode in (2, 4):
        raise RuntimeError(f"assay {' '.join(words)}: {done.stderr or done.stdout}")
    return done.stdout


_CAMPAIGN = """
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
_EMPTY_JOBS = 40
#: Most seconds a launch.
GOAL_S = 0.3


def rows() -> Iterator[Row]:
    """Cost of a launch beyond its own run time, on a virtual cluster (goal: 0.3 s)."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the cluster is taken down
    cluster = up(ClusterSpec(name=f"bench-{os.getpid()}", nodes=2))
    try:
        with tempfile.TemporaryDirectory(prefix="assay-bench-") as name:
            folder = Path(name)
            (folder / "campaign.yaml").write_text(_CAMPAIGN)
            site = f"virtual:{cluster.name}"
            assay(folder, "run", "campaign.yaml", "--site", site, "--no-report")
            jobs = gaps_s(next(folder.glob("results/*/*")))
            empty = [_empty_job_s(cluster) for _ in range(_EMPTY_JOBS)]
    finally:
        cluster.down()
    yield gap_row("a launch in a job of its own", jobs, GOAL_S)
    yield gap_row("an empty job, from sbatch to completed (Slurm's share)", empty)


def gap_row(what: str, values: list[float], most_s: float | None = None) -> Row:
    """The median of times in s, its interval, the greatest."""
    found = statistics.median(values)
    (interval,) = median_intervals(np.sort(np.array([values])))
    ends = "" if interval is None else f" ({interval.low:.3f} … {interval.high:.3f})"
    text = f"{found:.3f} s{ends}, greatest {max(values):.3f} s, n = {len(values)}"
    kept = most_s is None or found <= most_s
    return Row(what, "" if most_s is None else f"≤ {most_s:g} s", text, kept, kept)


def gaps_s(run: Path) -> list[float]:
    """Seconds from the end of each launch of a run to the beginning of the next."""
    launches = [one for one in read_records(run / "records.jsonl") if one.started_at]
    launches.sort(key=lambda record: record.started_at or "")
    return [
        _seconds(after.started_at) - _seconds(before.ended_at)
        for before, after in pairwise(launches)
    ]


def _seconds(text: str | None) -> float:
    return datetime.fromisoformat(text or "").timestamp()


def _empty_job_s(cluster: Any) -> float:
    script = Path(cluster.site_facts()["work_dir"], "empty.sh")
    script.write_text("#!/bin/sh\n")
    begun = time.monotonic()
    submit = cluster.user_command(["sbatch", "--parsable", "-N2", "-o", "/dev/null", str(script)])
    job = output_of(submit, script.parent)
    show = cluster.user_command(["scontrol", "show", "job", "-o", job.split(";")[0]])
    while "COMPLETED" not in output_of(show, script.parent):
        time.sleep(0.02)
    return time.monotonic() - begun
