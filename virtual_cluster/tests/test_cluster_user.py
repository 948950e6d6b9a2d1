# SPDX-License-Identifier: Apache-2.0
"""The ordinary user of a real cluster: whose jobs they are, and what commands and jobs see."""

import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from records.errors import AssayError, InfrastructureError
from virtual_cluster.api import Cluster
from virtual_cluster.tests.clusters import NEEDS_CLUSTER, as_user

pytestmark = NEEDS_CLUSTER


@pytest.fixture
def private(tmp_path: Path) -> Path:
    """A folder that anybody could read, but for the private one that it lies in."""
    shown = tmp_path / "private" / "a b" / "shown"
    shown.mkdir(parents=True)
    for file in (shown / "text.py", shown.parent / "other"):
        file.write_text("text")
    (tmp_path / "private").chmod(0o700)
    return shown


def status_of(command: list[str]) -> int:
    return subprocess.run(command, cwd="/", capture_output=True, check=False).returncode


def test_a_command_sees_what_it_reads_below_private_folders_and_nothing_else(
    shared: Cluster, private: Path
) -> None:
    cat, other = ["cat", str(private / "text.py")], ["cat", str(private.parent / "other")]
    link = private.parent.parent / "link"
    link.symlink_to(private)
    assert status_of(shared.user_command(cat)) == 1
    assert status_of(shared.user_command(cat, reads=[private])) == 0
    assert status_of(shared.user_command(["cat", str(link / "text.py")], reads=[link])) == 0
    assert status_of(shared.user_command(other, reads=[private])) == 1
    assert status_of(shared.user_command(["srun", *cat], reads=[private])) == 1
    private.chmod(0o777)
    written = shared.user_command(["touch", str(private / "new")], reads=[private])
    assert status_of(written) == 1
    assert str(private) not in Path("/proc/self/mountinfo").read_text()


def test_jobs_see_what_is_shown_below_tmp_and_nothing_else_and_cannot_change_it(
    shared: Cluster, private: Path
) -> None:
    text, other = private / "text.py", private.parent / "other"

    def in_job(*argv: str) -> int:
        return status_of(shared.user_command(["srun", "-N2", *argv]))

    assert in_job("cat", str(text)) != 0
    shared.show([private])
    assert in_job("cat", str(text)) == 0
    assert in_job("cat", str(other)) != 0
    private.chmod(0o777)
    assert in_job("touch", str(private / "new")) != 0
    assert not (private / "new").exists()
    # A folder made anew under the same name, and a node that was without power.
    private.rename(private.parent / "away")
    private.mkdir()
    text.write_text("anew")
    shared.show([private])
    node = shared.site_facts()["nodes"][0]
    shared.kill_node(node)
    shared.restore_node(node)
    assert in_job("grep", "anew", str(text)) == 0


def test_nothing_is_shown_through_a_link_that_a_job_has_made(shared: Cluster) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as top:
        folder = Path(top, "shown")
        folder.mkdir()
        link = ["srun", "-w", shared.site_facts()["nodes"][0], "ln", "-s", "/etc", top]
        assert status_of(shared.user_command(link)) == 0
        with pytest.raises(InfrastructureError, match="is in the way"):
            shared.show([folder])
    assert not Path("/etc/shown").exists()


def test_nothing_is_shown_that_the_jobs_user_could_exchange(shared: Cluster) -> None:
    """Neither when it is shown nor when a node that showed it has power again."""
    node = shared.site_facts()["nodes"][0]
    with (
        tempfile.TemporaryDirectory(dir="/tmp") as top,
        tempfile.TemporaryDirectory(dir="/var/tmp") as private,
    ):
        name, secret = Path(top, "name"), Path(private, "open")
        for folder in (name, secret):
            folder.mkdir()
        (secret / "text").touch()
        Path(top).chmod(0o1777)
        shared.show([name])
        name.rmdir()
        as_user(shared, "ln", "-s", str(secret), str(name))
        with pytest.raises(AssayError, match="belongs to uid"):
            shared.show([name])
        shared.kill_node(node)
        shared.restore_node(node)
        for file in (name / "text", secret / "text"):
            assert status_of(shared.user_command(["srun", "-w", node, "cat", str(file)])) != 0


def test_a_folder_in_a_shown_one_is_shown_with_it_whoever_owns_it(shared: Cluster) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as top:
        inner = Path(top, "inner")
        inner.mkdir()
        os.chown(inner, 4321, 4321)
        Path(top).chmod(0o755)
        for folders in ([Path(top), inner], [inner]):
            shared.show(folders)
            assert status_of(shared.user_command(["srun", "ls", str(inner)])) == 0


@pytest.mark.parametrize(("name", "mode"), [("text.py", 0o600), ("", 0o711)])
def test_a_file_that_the_jobs_user_may_not_read_is_named(
    shared: Cluster, private: Path, name: str, mode: int
) -> None:
    (private / name).chmod(mode)
    with pytest.raises(InfrastructureError, match="chmod -R go") as caught:
        shared.user_command(["true"], reads=[private])
    assert str(private / name).rstrip("/") in str(caught.value)


def test_a_command_has_no_capability_whatever_it_reads(shared: Cluster, private: Path) -> None:
    for reads in ([], [private]):
        command = shared.user_command(["cat", "/proc/self/status"], reads=reads)
        status = subprocess.run(command, cwd="/", capture_output=True, text=True, check=True).stdout
        rights = [line.split()[1] for line in status.splitlines() if line.startswith("Cap")]
        assert {int(mask, 16) for mask in rights[:3]} == {0}  # inheritable, permitted, effective
        assert "NoNewPrivs:\t1" in status


def test_commands_start_with_a_clean_environment_and_the_callers_time_zone(
    shared: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SURPRISE", "1")
    monkeypatch.setenv("TZ", "<+1345>-13:45")
    assert as_user(shared, "date", "+%z").strip() == "+1345"
    command = shared.user_command(["env"], env={"GIVEN": "a b"})
    done = subprocess.run(command, capture_output=True, text=True, cwd="/", check=True)
    assert "GIVEN=a b" in done.stdout.splitlines()
    assert "SURPRISE" not in done.stdout
