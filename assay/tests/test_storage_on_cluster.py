# SPDX-License-Identifier: Apache-2.0
"""Storage on a virtual cluster: a disk and memory, and a planted slow disk."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import virtual_cluster
from assay.tests.test_run_on_cluster import ASSAY, SITE
from assay.tests.test_run_on_cluster import of_full as on_cluster
from records.run.record import Record, read_records

pytestmark = [*on_cluster, pytest.mark.usefixtures("cluster")]
slows_disks = pytest.mark.skipif(
    not os.access("/sys/fs/cgroup", os.W_OK),
    reason="the machine's control groups slow a disk: run with sudo",
)

STORAGE = """
schema: 1
name: few
question: How fast is the disk?
environments: [mpich]
blocks: 1
cases:
  - check: storage
    fixed: {ranks: 2, ranks_per_node: 1, target: disk, sizes: [1048576], part_bytes: %d, files: 4}
limits: {launch_s: %g}
"""


def records_of(folder: Path, campaign: str, *options: str, status: int = 0) -> list[Record]:
    command = [ASSAY, "run", campaign, "--site", SITE, "--blocks", "1", "--no-report", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    newest = max(folder.glob("results/*/*/"), key=lambda path: path.stat().st_mtime_ns)
    return [*read_records(newest / "records.jsonl")]


def few(folder: Path, part_bytes: int = 2**22, limit_s: float = 120) -> str:
    (folder / "few.yaml").write_text(STORAGE % (part_bytes, limit_s))
    return "few.yaml"


def node_rates(records: list[Record]) -> dict[str, float]:
    (record,) = records
    assert record.status == "ok", record.reason
    named = {one.at["node"]: one.value for one in record.metrics if one.at and "node" in one.at}
    assert named.keys() == {"n1", "n2"}
    return named


def test_a_disk_and_memory_are_measured(tmp_path: Path) -> None:
    options = ("--environments", "mpich", "--scale", "small")
    records = records_of(tmp_path, "storage", *options)
    assert {one.params["target"]: one.status for one in records} == {"disk": "ok", "memory": "ok"}


@slows_disks
def test_a_slow_disk_is_named(tmp_path: Path) -> None:
    cluster = virtual_cluster.load(SITE.partition(":")[2])
    cluster.degrade("n2", disk_bytes_per_s=2e6)
    try:
        rates = node_rates(records_of(tmp_path, few(tmp_path)))
    finally:
        cluster.mend("n2")
    # A busy machine's disk may be as slow for n1 as for n2, but not as even.
    assert rates["n2"] < 3e6
    assert rates["n2"] != rates["n1"]


@slows_disks
def test_a_launch_that_is_killed_at_its_limit_leaves_no_file(tmp_path: Path) -> None:
    cluster = virtual_cluster.load(SITE.partition(":")[2])
    cluster.degrade("n2", disk_bytes_per_s=3e5)
    try:
        records = records_of(tmp_path, few(tmp_path, limit_s=15), status=1)
    finally:
        cluster.mend("n2")
    assert [one.status for one in records] == ["failed"], [one.reason for one in records]
    assert not [*Path(cluster.site_facts()["work_dir"]).glob("assay-storage-*")]
