# SPDX-License-Identifier: Apache-2.0
"""Builds are kept by what they were made of, private to the caller, and laid out for sessions."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from assay.run import kept_builds
from assay.run.kept_builds import KeptBuilds, kept_folder
from assay.run.provenance import environment_as_run
from assay.run.work_folder import WorkFolder
from assay.sites.site_file import read_description
from assay.sites.slurm import SlurmSite
from checks.common.outcome import Built
from records.provenance import Provenance
from records.run_directory import RunDirectory

NAME = "Programs-mpich.tar"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SlurmSite:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    described = read_description("virtual").model_copy(update={"work_dir": str(tmp_path)})
    return SlurmSite(described)


def made_run(folder: Path, name: str) -> RunDirectory:
    (folder / name / "raw").mkdir(parents=True)
    (folder / name / "provenance.json").write_bytes(Provenance(run_id=name).to_json())
    return RunDirectory(folder / name)


@pytest.fixture
def work(site: SlurmSite, tmp_path: Path) -> Iterator[WorkFolder]:
    with WorkFolder(site, made_run(tmp_path, "first").path) as folder:
        folder.fresh_session()
        (folder.session / "builds").mkdir()
        (folder.session / "builds" / NAME).write_bytes(b"programs")
        yield folder


def kept(site: SlurmSite, run: RunDirectory) -> KeptBuilds:
    return KeptBuilds(site, run, ["mpich"])


def compiled_with(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    """Let every environment say that it compiles with this version."""

    def told(site: SlurmSite, name: str):
        return replace(environment_as_run(site, name), compiler_version=version)

    monkeypatch.setattr(kept_builds, "environment_as_run", told)


def test_a_later_run_finds_what_an_earlier_one_built(site, work, tmp_path, monkeypatch) -> None:
    compiled_with(monkeypatch, "gcc 12")
    first, later = made_run(tmp_path, "one"), made_run(tmp_path, "two")
    assert kept(site, first).there() == {}
    kept(site, first).take_in(work, Built("mpich", "Programs"))
    found = kept(site, later).there()
    assert list(found) == [NAME]
    assert stat.S_IMODE(kept_folder().stat().st_mode) == 0o700
    with WorkFolder(site, later.path) as folder:
        folder.fresh_session()
        (folder.session / "builds" / "allocation").mkdir(parents=True)  # of a job that holds nodes
        folder.fresh_session(found)
        assert (folder.session / "builds" / "allocation").is_dir()
        assert (folder.session / "builds" / NAME).read_bytes() == b"programs"
        (folder.session / "builds" / NAME).write_bytes(b"of this run")
        folder.fresh_session(found)
        assert (folder.session / "builds" / NAME).read_bytes() == b"of this run"
    compiled_with(monkeypatch, "gcc 13")
    assert kept(site, later).there() == {}


def test_other_sources_are_another_build(site, work, tmp_path, monkeypatch) -> None:
    compiled_with(monkeypatch, "gcc 12")
    run = made_run(tmp_path, "one")
    kept(site, run).take_in(work, Built("mpich", "Programs"))
    assert kept(site, run).there()
    monkeypatch.setattr(kept_builds, "sources_digest", lambda _: "other")
    assert not kept(site, run).there()


def test_without_a_compilers_version_only_the_same_run_finds_it(
    site, work, tmp_path, monkeypatch
) -> None:
    compiled_with(monkeypatch, "")
    first, later = made_run(tmp_path, "one"), made_run(tmp_path, "two")
    kept(site, first).take_in(work, Built("mpich", "Programs"))
    assert kept(site, first).there()
    assert not kept(site, later).there()


@pytest.mark.parametrize(
    "built", [Built("mpich", "../x"), Built("other", "Programs"), Built("mpich", "Hpl")]
)
def test_what_is_not_asked_for_or_not_there_is_not_kept(site, work, tmp_path, built) -> None:
    kept(site, made_run(tmp_path, "one")).take_in(work, built)
    assert not [*kept_folder().glob("*")] if kept_folder().exists() else True


def test_links_are_not_followed(site, work, tmp_path, monkeypatch) -> None:
    compiled_with(monkeypatch, "gcc 12")
    run = made_run(tmp_path, "one")
    (tmp_path / "secret").write_text("secret")
    (work.session / "builds" / NAME).unlink()
    (work.session / "builds" / NAME).symlink_to(tmp_path / "secret")
    kept(site, run).take_in(work, Built("mpich", "Programs"))
    assert not kept(site, run).there()


def test_the_last_used_ones_are_kept(site, work, tmp_path, monkeypatch) -> None:
    compiled_with(monkeypatch, "gcc 12")
    monkeypatch.setattr(kept_builds, "MOST_KEPT", 3)
    kept_folder().mkdir(parents=True)
    for number in range(5):
        path = kept_folder() / f"{number}.tar"
        path.write_text("old")
        os.utime(path, (number, number))
    run = made_run(tmp_path, "one")
    kept(site, run).take_in(work, Built("mpich", "Programs"))
    assert {path.name for path in kept_folder().iterdir()} > {"3.tar", "4.tar"}
    assert kept(site, run).there()
    shutil.rmtree(kept_folder())
    assert not kept(site, run).there()
