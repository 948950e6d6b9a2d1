# SPDX-License-Identifier: Apache-2.0
"""The storage program on a disk and in memory: right answers, and what it refuses."""

import math
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checks.common.answer import difference, other_settings
from checks.common.registry import CHECKS
from checks.common.sources import LAUNCH_SCRIPTS
from checks.common.tests.program_runs import (
    ProgramRun,
    built_programs,
    library_of,
    ran,
    run_each,
    written_script,
)
from checks.storage import StorageParameters

STORAGE = CHECKS["storage"]
MEMORY = Path("/dev/shm")  # noqa: S108
FEW: dict[str, Any] = {"sizes": [4096, 65536], "part_bytes": 131072, "files": 5, "repetitions": 2}


@pytest.fixture(scope="module")
def out() -> Path:
    return built_programs("mpich", ["storage"])


@pytest.fixture
def disk(out) -> Iterator[Path]:
    """A folder that a launch makes; a test that lets it leave it removes it as session.sh does."""
    folder = out / "disk"
    folder.mkdir()
    yield folder / "assay-storage-0-test"
    folder.rmdir()


def run(out: Path, folder: Path, ranks: int = 2, kernel: str = "", **more: str):
    """A launch on a folder, with more options and a source here that stands in for the kernel: its
    parameters, and what it did."""
    params = StorageParameters(ranks=ranks, target="disk", **FEW)
    asked = ["findmnt", "--noheadings", "--output", "FSTYPE", "--target", f"{folder.parent}"]
    options = {"folder": folder, "file-system": ran(asked).stdout.split()[-1]}
    options |= {"limit-bytes": STORAGE.bytes_stored(params), **more}
    given = " ".join(f"--{k}={v}" if v != "" else f"--{k}" for k, v in options.items())
    command = f"{ranks} {' '.join(STORAGE.command(params, Path()))} {given}"
    preloaded = [library_of(out, Path(__file__).with_name(kernel))] if kernel else []
    return params, run_each("mpich", out, [command], *preloaded)[command]


def said(found: ProgramRun) -> str:
    return " ".join(str(line["message"]) for line in found.lines("error"))


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_every_rate_is_reported_and_nothing_is_left(out, disk, ranks):
    params, found = run(out, disk, ranks)
    assert found.status == 0, found.text
    output, metrics = found.output, found.output.metrics
    hosts = [next(one.at["node"] for one in metrics if one.at and "node" in one.at)] * ranks
    assert difference(STORAGE.expected(params, hosts), metrics, {}, params) is None
    assert other_settings(STORAGE.options(params), output.program) is None
    assert output.ended


def test_memory_has_no_caches_to_avoid(out):
    folder = MEMORY / f"assay-storage-0-{os.getpid()}"
    _, found = run(out, folder)
    assert found.status == 0, found.text
    assert found.output.notes["caches"] == "none avoided: tmpfs is memory"
    assert not folder.exists()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"inject-fault": ""}, "of transfer"),
        ({"caches": "dropped", "kernel": "dropped_advice.c"}, "a cached read"),
    ],
)
def test_a_wrong_byte_and_a_read_that_memory_answers_are_wrong_answers(out, disk, asked, message):
    _, found = run(out, disk, **asked)
    assert found.lines("error")[0]["wrong"] is True
    assert message in said(found)
    shutil.rmtree(disk)


def test_the_clock_stops_after_what_was_written_is_on_the_disk(out, disk):
    _, found = run(out, disk, kernel="slow_sync.c")
    assert found.status == 0, found.text
    written = {"storage_write_rate": 2 * FEW["part_bytes"], "storage_create_rate": 2}
    for metric in found.output.metrics:
        assert metric.value <= written.get(metric.name, math.inf) / 0.05


@pytest.mark.parametrize(
    ("option", "value", "reason"),
    [
        ("file-system", "lustre", "declared is lustre"),
        ("limit-bytes", "1000", "--limit-bytes allows 1000"),
    ],
)
def test_what_may_not_be_written_is_refused(out, disk, option, value, reason):
    _, found = run(out, disk, **{option: value})
    assert found.status != 0
    assert reason in said(found)
    assert not disk.exists() or not list(disk.iterdir())
    shutil.rmtree(disk, ignore_errors=True)


def test_more_than_there_is_room_for_is_refused(out):
    folder = MEMORY / f"assay-storage-0-{os.getpid()}"
    asked = {"part-bytes": f"{10**15}", "sizes": f"{2**30}", "transfers": f"{10**6}"}
    _, found = run(out, folder, **asked, **{"limit-bytes": f"{10**18}"})
    assert "nothing was written" in said(found)
    assert not list(folder.iterdir())
    folder.rmdir()


def test_what_a_killed_launch_left_is_removed_by_the_next_one_of_its_cluster(tmp_path):
    answer = 'case $* in *=7) echo RUNNING ;; *) echo "Invalid job id" ;; esac'
    written_script(tmp_path / "squeue", answer)
    for name, note in (("dead", "c 6"), ("runs", "c 7"), ("other", "d 6"), ("young", None)):
        (tmp_path / f"assay-storage-0-{name}" / "small.0").mkdir(parents=True)
        if note:
            (tmp_path / f"assay-storage-0-{name}.job").write_text(f"{note}\n")
    own = tmp_path / "assay-storage-0-own"
    variables = {"ASSAY_SCRATCH": str(own), "SLURM_CLUSTER_NAME": "c", "SLURM_JOB_ID": "8"}
    variables["PATH"] = f"{tmp_path}:{os.environ['PATH']}"

    def scratch(word: str) -> set[str]:
        ran([LAUNCH_SCRIPTS / "scratch.sh", word], variables, env={})
        return {path.name.removeprefix("assay-storage-0-") for path in tmp_path.glob("assay-*")}

    left = {"runs", "runs.job", "other", "other.job", "young"}
    assert scratch("begin") == left | {"own.job"}
    own.mkdir()
    (own / "data").write_text("")
    assert scratch("end") == left


def test_a_plan_knows_what_is_stored():
    params = StorageParameters(ranks=3, target="disk", sizes=[4096, 2**20], part_bytes=2**24)
    assert STORAGE.bytes_stored(params) == 3 * 2**24
    few = StorageParameters(ranks=3, target="disk", sizes=[4096], transfers=10, files=100)
    assert STORAGE.bytes_stored(few) == 3 * 100 * 4096
