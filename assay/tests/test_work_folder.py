# SPDX-License-Identifier: Apache-2.0
"""The work folder of a run: private, made anew, one for each run directory, in no other hands."""

import os
import shutil
import stat
from pathlib import Path

import pytest

from assay.run.session import WorkFolder
from assay.sites.loading import SlurmSite
from assay.sites.site_file import read_description
from records.errors import InfrastructureError
from records.input_files import RefusedFileError
from records.run.run_directory import RunDirectory

INSIDE = ["control", "session"]


@pytest.fixture
def shared(tmp_path):
    """A folder that everybody may write, and in which each renames only what is his own."""
    (tmp_path / "scratch").mkdir()
    (tmp_path / "scratch").chmod(0o1777)
    return tmp_path / "scratch"


@pytest.fixture
def work(tmp_path, shared):
    return work_folder(made_run(tmp_path), shared)


def made_run(folder, name="20261122T000000Z-aaaa"):
    (folder / name / "raw").mkdir(parents=True)
    return RunDirectory(folder / name)


def work_folder(run, shared):
    described = read_description("virtual").model_copy(update={"work_dir": str(shared)})
    return WorkFolder(SlurmSite(described), run.path)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_all_of_it_is_private_and_every_session_begins_empty(work, shared):
    work.fresh_session()
    (work.session / "file").write_text("text")
    work.write_control("site.json", "{}")
    for path in (work.path, work.control, work.programs, work.session):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    work.fresh_session()
    assert names(work.session) == []
    assert (work.control / "site.json").read_text() == "{}"
    for path in (work.control / "site.json", work.session / "../control/site.json", "out", ""):
        with pytest.raises(RefusedFileError):
            work.open(str(path))
    work.remove()
    assert names(shared) == []


def test_a_copied_run_directory_has_a_work_folder_of_its_own(tmp_path, shared):
    run = made_run(tmp_path)
    copy = tmp_path / "elsewhere" / run.path.name
    shutil.copytree(run.path, copy)
    first, second = work_folder(run, shared), work_folder(RunDirectory(copy), shared)
    assert first.name != second.name
    assert first.path != second.path
    moved = run.path.rename(tmp_path / "elsewhere" / "moved")
    assert work_folder(RunDirectory(moved), shared).name.endswith(first.name.split("-")[-1])


def test_what_a_link_of_a_job_leads_to_is_not_removed(tmp_path, work):
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("text")
    work.fresh_session()
    (work.session / "link").symlink_to(precious)
    work.fresh_session()
    assert names(work.session) == []
    assert names(precious) == ["file"]


def test_a_leftover_that_is_nested_beyond_all_limits_is_removed(work):
    work.fresh_session()
    before = Path.cwd()
    os.chdir(work.session)
    for _ in range(3000):
        Path("d").mkdir()
        os.chdir("d")
    os.chdir(before)
    work.fresh_session()
    assert names(work.path) == INSIDE


def test_a_work_folder_that_vanished_says_so(work):
    work.fresh_session()
    shutil.rmtree(work.path)
    for act in (work.fresh_session, lambda: work.write_control("site.json", "{}")):
        with pytest.raises(InfrastructureError, match="the work folder cannot be used"):
            act()
