# SPDX-License-Identifier: Apache-2.0
"""Storage on a virtual cluster: a disk and memory."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from assay.tests.test_run_on_cluster import ASSAY, SITE
from assay.tests.test_run_on_cluster import of_full as on_cluster
from records.run.record import Record, read_records

pytestmark = [*on_cluster, pytest.mark.usefixtures("cluster")]


def records_of(folder: Path, campaign: str, *options: str, status: int = 0) -> list[Record]:
    command = [ASSAY, "run", campaign, "--site", SITE, "--blocks", "1", "--no-report", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    newest = max(folder.glob("results/*/*/"), key=lambda path: path.stat().st_mtime_ns)
    return [*read_records(newest / "records.jsonl")]


def test_a_disk_and_memory_are_measured(tmp_path: Path) -> None:
    options = ("--environments", "mpich", "--scale", "small")
    records = records_of(tmp_path, "storage", *options)
    assert {one.params["target"]: one.status for one in records} == {"disk": "ok", "memory": "ok"}
