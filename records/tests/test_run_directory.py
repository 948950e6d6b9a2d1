# SPDX-License-Identifier: Apache-2.0
"""What a driver writes to in a run directory is a file or a folder of its own, nothing else."""

import os
from pathlib import Path

import pytest

from records.errors import AssayError, ExitStatus
from records.run.run_directory import RunDirectory

FOLDERS, FILES = ("raw", "builds"), (".lock", "records.jsonl")
KINDS = {
    "link": lambda path: path.symlink_to("elsewhere"),
    "link to a file": lambda path: path.symlink_to("provenance.json"),
    "loop": lambda path: path.symlink_to(path.name),
    "FIFO": os.mkfifo,
    "folder": os.mkdir,
    "file": Path.touch,
}


@pytest.fixture
def run(tmp_path):
    (tmp_path / "provenance.json").write_text('{"schema": 1, "run_id": "r-1"}')
    return RunDirectory(tmp_path)


@pytest.mark.parametrize("name", [*FOLDERS, *FILES])
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_is_not_locked_through_anything_odd(run, name, kind):
    KINDS[kind](run.path / name)
    if kind == ("folder" if name in FOLDERS else "file"):
        os.close(run.lock())
        return
    with pytest.raises(AssayError, match=rf"{name} is a ") as refused:
        run.lock()
    assert refused.value.status == ExitStatus.BAD_INPUT
    assert not (run.path / "elsewhere").exists()


def test_a_copy_of_a_run_has_the_id_of_the_run(run, tmp_path):
    assert run.run_id == "r-1"
    assert RunDirectory(tmp_path / "begun").run_id == "begun"
