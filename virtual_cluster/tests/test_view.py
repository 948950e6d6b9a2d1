# SPDX-License-Identifier: Apache-2.0
"""What of a folder the jobs' user must be able to read before a command is shown it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from records.errors import InfrastructureError
from virtual_cluster.view import command

NOBODY = 65534


@pytest.fixture
def suite() -> Iterator[Path]:
    """A folder that all may read, with a run's folder whose raw output is private."""
    with tempfile.TemporaryDirectory(prefix="assay-view-") as name:
        Path(name).chmod(0o755)
        (Path(name) / "results" / "run" / "raw").mkdir(parents=True, mode=0o700)
        (Path(name) / "results" / "run" / "plan.json").touch()
        yield Path(name)


def test_what_a_run_keeps_private_hinders_no_command(suite: Path) -> None:
    assert command([suite], NOBODY, NOBODY, suite / "aside") == []


def test_a_private_folder_of_sources_is_named_with_what_helps(suite: Path) -> None:
    (suite / "src").mkdir(mode=0o700)
    with pytest.raises(InfrastructureError, match=r"src: cannot be read .*chmod -R go\+rX"):
        command([suite], NOBODY, NOBODY, suite / "aside")


def test_a_folder_that_is_removed_meanwhile_hinders_no_command(
    suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, scan = suite / "gone", os.scandir
    gone.mkdir()

    def scandir(path: Any) -> Any:
        if Path(path) == gone:
            gone.rmdir()
        return scan(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert command([suite], NOBODY, NOBODY, suite / "aside") == []
    assert not gone.exists()
