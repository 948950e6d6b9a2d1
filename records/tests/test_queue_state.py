# SPDX-License-Identifier: Apache-2.0
"""What is kept of a waiting launch is told in words; what is no such thing is not told."""

import msgspec
import pytest

from records.run.queue_state import FILE, CurrentJob, QueueState, read_current, write_current

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


def test_what_cannot_be_printed_is_not_told(tmp_path):
    write_current(tmp_path, CurrentJob(what="x", queue=changed(reason="\x1b[2J")))
    assert read_current(tmp_path) is None


@pytest.mark.parametrize("content", [b"", b"[1]", b"{", b"[" * 100_000, b'{"what": 1}'])
def test_damage_is_not_told(tmp_path, content):
    (tmp_path / FILE).write_bytes(content)
    assert read_current(tmp_path) is None
