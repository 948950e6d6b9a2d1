# SPDX-License-Identifier: Apache-2.0
"""What a session says of a wait is held against how long its run has been going."""

from types import SimpleNamespace

import pytest

from assay.run.progress import Waiting
from records.errors import AssayError
from records.run.queue_state import QueueState


def waiting(folder, limit_s=None):
    progress = SimpleNamespace(doing=lambda _: None, say=lambda _: None)
    return Waiting(SimpleNamespace(path=folder), progress, limit_s)


def pending(waited_s):
    return QueueState(state="pending", since="2026-11-24T08:00:00.000Z", waited_s=waited_s)


def test_nobody_has_waited_longer_than_the_run_has_been_going(tmp_path):
    told = waiting(tmp_path, limit_s=1000.0)
    told.heed(pending(1e300), "a build")
    assert told.seconds < 1000
    told.over()
    assert told.seconds < 1000


def test_the_limit_ends_a_run_that_has_waited(tmp_path):
    with pytest.raises(AssayError, match="queue_s = 0 is used up"):
        waiting(tmp_path, limit_s=0.0).heed(pending(1.0), "a build")
