# SPDX-License-Identifier: Apache-2.0
"""What a launch costs beyond the job's own run time, on a virtual cluster (goal: 0.3 s).

Overhead of a launch is the time from the end of one job's session to the beginning of the next;
builds and the start of ReFrame are not in it. Slurm's share is measured by a series of empty jobs
on the same cluster: from `sbatch` until the job is known to be completed.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from assay.run.start import start_run
from records.record import read_records
from virtual_cluster import ClusterSpec, up

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


def main() -> None:
    """Bring up a cluster, run 40 short launches and 40 empty jobs, print the medians."""
    cluster = up(ClusterSpec(name="bench", nodes=2), print)
    try:
        with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
            os.chdir(folder)
            Path("overhead.yaml").write_text(_CAMPAIGN)
            start_run("overhead.yaml", "virtual:bench", live=False)
            gaps = sorted(_gaps(next(Path("results").glob("*/*/records.jsonl"))))
        empty = sorted(_empty_job_s(cluster) for _ in range(_EMPTY_JOBS))
    finally:
        os.chdir("/")
        cluster.down(print)
    print(f"{len(gaps)} launches: {_summary(gaps)} beyond the job's own run time")
    print(f"{len(empty)} empty jobs: {_summary(empty)} from sbatch to completed (Slurm's share)")
    rest = statistics.median(gaps) - statistics.median(empty)
    print(f"the rest, ReFrame and the harness: {rest:.3f} s by the medians")


def _summary(values: list[float]) -> str:
    return f"median {statistics.median(values):.3f} s, greatest {values[-1]:.3f} s"


def _gaps(records_file: Path) -> Iterator[float]:
    records = sorted(read_records(records_file), key=lambda record: record.started_at or "")
    for before, after in pairwise(records):
        yield _seconds(after.started_at) - _seconds(before.ended_at)


def _seconds(text: str | None) -> float:
    return datetime.fromisoformat(text or "").timestamp()


def _empty_job_s(cluster: Any) -> float:
    work = cluster.site_facts()["work_dir"]
    script = Path(work) / "empty.sh"
    script.write_text("#!/bin/sh\n")
    begun = time.monotonic()
    submit = cluster.user_command(["sbatch", "--parsable", "-N2", "-o", "/dev/null", str(script)])
    job = _output(submit, work)
    show = cluster.user_command(["scontrol", "show", "job", "-o", job.strip().split(";")[0]])
    while "COMPLETED" not in _output(show, work):
        time.sleep(0.02)
    return time.monotonic() - begun


def _output(argv: list[str], folder: str) -> str:
    answer = subprocess.run(argv, capture_output=True, text=True, cwd=folder, check=False)
    return answer.stdout


if __name__ == "__main__":
    main()
