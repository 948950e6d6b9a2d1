# SPDX-License-Identifier: Apache-2.0
"""What of a folder the jobs' user must be able to read before a command is shown it."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from records.errors import InfrastructureError
from virtual_cluster.view import command, may

NOBODY = 65534


@pytest.fixture
def suite() -> Iterator[Path]:
    """A folder that all may read, with a run's folder whose raw output is private."""
    with tempfile.TemporaryDirectory(prefix="assay-view-") as name:
        Path(name).chmod(0o755)
        (Path(name) / "results" / "run" / "raw").mkdir(parents=True, mode=0o700)
        (Path(name) / "results" / "run" / "plan.json").touch()
        yield Path(name)


def test_a_private_folder_of_sources_is_named_and_what_a_run_keeps_is_not(suite: Path) -> None:
    assert command([suite], NOBODY, NOBODY, suite / "aside") == []
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


@pytest.mark.parametrize(
    ("mode", "whose", "rights", "allowed"),
    [
        (0o500, "owner", 5, True),
        (0o400, "owner, group", 5, False),
        (0o077, "owner, group", 1, False),
        (0o050, "group", 5, True),
        (0o707, "group", 4, False),
        (0o005, "", 5, True),
        (0o770, "", 4, False),
    ],
)
def test_the_modes_of_the_owner_the_group_or_all_others_count(
    tmp_path: Path, mode: int, whose: str, rights: int, allowed: bool
) -> None:
    (tmp_path / "file").touch(mode=0o600)
    found = (tmp_path / "file").stat()
    (tmp_path / "file").chmod(mode)
    uid, gid = found.st_uid + ("owner" not in whose), found.st_gid + ("group" not in whose)
    assert may(tmp_path / "file", uid, gid, rights) is allowed
    assert may(tmp_path / "none", uid, gid, rights)
