# SPDX-License-Identifier: Apache-2.0
"""A driver writes to files and folders of its own; a waiting launch is told in words."""

import os
from pathlib import Path

import msgspec
import pytest

from records.errors import AssayError, ExitStatus
from records.run.queue_state import FILE, CurrentJob, QueueState, read_current, write_current
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


STATE = QueueState(
    state="pending",
    launch=3,
    job_id="17",
    reason="Resources",
    since="2026-11-22T08:00:00.120Z",
    waited_s=12.5,
    expected_start="2026-11-22T09:30:00.000Z",
)
CURRENT = CurrentJob(what="ring-0123abcd, block 2", queue=STATE)


def changed(**members):
    return msgspec.structs.replace(STATE, **members)


def test_it_is_kept_until_there_is_nothing_to_tell(tmp_path):
    assert read_current(tmp_path) is None
    write_current(tmp_path, CURRENT)
    assert read_current(tmp_path) == CURRENT
    write_current(tmp_path, None)
    write_current(tmp_path, None)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("state", "told"),
    [
        (STATE, "waits {} (job 17): Resources; estimated start: 2026-11-22 09:30:00 UTC"),
        (changed(expected_start=None, reason=""), "waits {} (job 17); estimated start: not known"),
        (
            changed(state="not-taken", job_id=None, reason="AssocMaxSubmitJobLimit"),
            "waits {} for Slurm to take its job: AssocMaxSubmitJobLimit",
        ),
        (changed(state="running"), "runs {} (job 17)"),
    ],
)
def test_it_is_told_in_words(state, told):
    assert state.told() == told.format("since 2026-11-22 08:00:00 UTC")


ODD = msgspec.json.encode(CurrentJob(what="x", queue=changed(reason="\x1b[2J")))


@pytest.mark.parametrize("content", [b"", b"[1]", b"{", b"[" * 100_000, b'{"what": 1}', ODD])
def test_what_is_damaged_or_cannot_be_printed_is_not_told(tmp_path, content):
    (tmp_path / FILE).write_bytes(content)
    assert read_current(tmp_path) is None
