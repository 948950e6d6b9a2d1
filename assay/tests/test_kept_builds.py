# SPDX-License-Identifier: Apache-2.0
"""Builds are kept by their cluster and what they were made of; the provenance of a run has the
compiler of the place where its programs are compiled."""

import hashlib
import os
import shutil
import stat
from functools import cache
from pathlib import Path

import pytest
from msgspec.structs import replace

from assay.probe.trials import TrialResult
from assay.run import environments
from assay.run.environments import KeptBuilds, kept_folder
from assay.run.provenance import environment_as_run, with_facts
from assay.run.session import WorkFolder
from assay.sites.loading import SlurmSite, VirtualSite
from assay.sites.site_file import read_description
from assay.tests.campaign_texts import site_of_mpich, virtual_site
from assay.tests.test_driver import RUN
from checks.common.session.outcome import CompleteBuild
from records.run.provenance import EnvironmentAsRun, Provenance
from records.run.run_directory import RunDirectory
from virtual_cluster.api import Cluster, planned

NAME = "Programs-mpich"
DIGEST = hashlib.sha256(b"program").hexdigest()


class Owned(SlurmSite):
    cluster = "one"

    def identity(self) -> str:
        return self.cluster


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Owned:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    compiled_with(monkeypatch, "gcc 12")
    (tmp_path / "xhpl").write_text("the site's own")
    programs = {"hpl": str(tmp_path / "xhpl"), "osu": "osu_latency"}
    return Owned(site_of_mpich({"programs": programs}, work_dir=str(tmp_path)).description)


class Builds:
    """Builds of runs in one cache, each in a work folder of its own."""

    def __init__(self, site: Owned, folder: Path) -> None:
        self._site, self._folder = site, folder
        self.work: list[WorkFolder] = []

    def of(self, run: str) -> KeptBuilds:
        """Of a run that begins, with what is kept laid out."""
        folder = self._folder / run
        if not folder.exists():
            (folder / "raw").mkdir(parents=True)
            (folder / "provenance.json").write_bytes(Provenance(run_id=run).to_json())
        work = WorkFolder(self._site, folder)
        work.fresh_session()
        self.work.append(work)
        made = KeptBuilds(self._site, RunDirectory(folder), work, ["mpich"])
        made.lay_out()
        return made

    def built(self, content: bytes = b"program", program: str = "Programs") -> CompleteBuild:
        folder = self.programs / f"{program}-mpich"
        (folder / "library").mkdir(parents=True, exist_ok=True)
        (folder / "pt2pt").write_bytes(content)
        (folder / "pt2pt").chmod(0o700)
        return CompleteBuild("mpich", program)

    @property
    def programs(self) -> Path:
        return self.work[-1].programs


@pytest.fixture
def builds(site: Owned, tmp_path: Path) -> Builds:
    return Builds(site, tmp_path)


def compiled_with(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    """Let every environment say that it compiles with this version."""
    told = replace(as_run(), compiler_version=version)
    monkeypatch.setattr(environments, "environment_as_run", lambda *_: told)


@cache
def as_run() -> EnvironmentAsRun:
    return environment_as_run(virtual_site(), "mpich")


def kept_ones() -> list[Path]:
    return sorted(kept_folder().iterdir()) if kept_folder().exists() else []


def test_a_later_run_finds_what_was_built(builds: Builds, monkeypatch) -> None:
    first = builds.of("one")
    first.take_in(builds.built())
    first.lay_out()
    program = builds.programs / NAME / "pt2pt"
    assert first.executed([str(program)]) == ({"pt2pt": DIGEST}, None)
    assert stat.S_IMODE(kept_folder().stat().st_mode) == 0o700
    later = builds.of("two")
    copy = builds.programs / NAME / "pt2pt"
    assert copy != program and copy.stat().st_mode & stat.S_IXUSR
    assert later.executed([str(copy)]) == ({"pt2pt": DIGEST}, None)
    assert not (copy.parent / "library").exists()
    with monkeypatch.context() as patch:
        patch.setattr(environments, "sources_digest", lambda *_, **__: "other")
        builds.of("other")
        assert not [*builds.programs.iterdir()]
    with monkeypatch.context() as patch:
        patch.setattr(Owned, "cluster", "another")
        builds.of("elsewhere")
        assert not [*builds.programs.iterdir()]
    compiled_with(monkeypatch, "gcc 13")
    builds.of("three")
    assert not [*builds.programs.iterdir()]


def test_clusters_of_one_image_are_alike_others_brought_up_anew_are_not(monkeypatch) -> None:
    def identities() -> tuple[str, ...]:
        sites = (VirtualSite(read_description("virtual"), planned("anew")) for _ in range(2))
        return tuple(site.identity() for site in sites)

    first, second = identities()
    assert first != second
    facts = Cluster.site_facts
    monkeypatch.setattr(Cluster, "site_facts", lambda self: facts(self) | {"image_digest": "12"})
    assert identities() == ("12", "12")


def test_without_a_compilers_version_only_the_same_run_finds_it(builds, monkeypatch) -> None:
    compiled_with(monkeypatch, "")
    builds.of("one").take_in(builds.built())
    builds.of("one")
    assert (builds.programs / NAME).is_dir()
    builds.of("two")
    assert not [*builds.programs.iterdir()]


def test_what_a_check_brings_to_be_built_is_not_kept(builds) -> None:
    made = builds.of("one")
    made.take_in(builds.built(program="mine.run.Own"))
    program = builds.programs / "mine.run.Own-mpich" / "pt2pt"
    assert made.executed([str(program)]) == ({"pt2pt": DIGEST}, None)
    assert not kept_ones()


def test_what_is_no_file_of_a_build_is_neither_waited_for_nor_kept(builds) -> None:
    made = builds.of("one")
    built = builds.built()
    os.mkfifo(builds.programs / NAME / "fifo")
    made.take_in(built)
    builds.of("two")
    assert (builds.programs / NAME / "pt2pt").is_file()
    assert not (builds.programs / NAME / "fifo").exists()


def test_a_launch_runs_what_was_built_or_described(builds, tmp_path) -> None:
    made = builds.of("one")
    made.take_in(builds.built())
    own = str(tmp_path / "xhpl")
    digest = hashlib.sha256(b"the site's own").hexdigest()
    assert made.executed([own, "osu_latency"]) == ({"xhpl": digest, "osu_latency": None}, None)
    Path(own).write_text("a new one")
    found, wrong = made.executed([own])
    assert (found["xhpl"] not in (None, digest), wrong) == (True, None)
    program = builds.programs / NAME / "pt2pt"
    os.utime(program, (1, 1))  # what is written within a tick of the clock has another time
    assert made.executed([str(program)])[1] is None
    program.write_bytes(b"changed")
    assert "is not what was built" in str(made.executed([str(program)])[1])
    program.unlink()
    assert "is not what was built" in str(made.executed([str(program)])[1])


def test_what_a_program_has_become_has_another_digest(builds, tmp_path, monkeypatch) -> None:
    made, own = builds.of("one"), tmp_path / "xhpl"
    assert made.executed([str(own)])[0]["xhpl"] is not None
    monkeypatch.setattr(environments, "MOST_BYTES", 1 << 20)
    os.truncate(own, 1 << 40)
    for become in (lambda: None, own.unlink, lambda: os.mkfifo(own)):
        become()
        assert made.executed([str(own)]) == ({"xhpl": None}, None)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "osu_latency").write_text("another of this name")
    assert made.executed(["osu_latency"]) == ({"osu_latency": None}, None)


def test_the_last_used_ones_are_kept(builds, monkeypatch) -> None:
    monkeypatch.setattr(environments, "MOST_KEPT", 3)
    kept_folder().mkdir(parents=True)
    for number in range(5):
        path = kept_folder() / f"{number}.tar"
        path.write_text("old")
        os.utime(path, (number, number))
    builds.of("one").take_in(builds.built())
    assert {path.name for path in kept_ones()} > {"3.tar", "4.tar"}
    assert len(kept_ones()) == 3
    builds.of("two")
    assert (builds.programs / NAME).is_dir()
    shutil.rmtree(kept_folder())
    builds.of("three")
    assert not [*builds.programs.iterdir()]


@pytest.mark.parametrize(
    ("build_on", "version", "words"),
    [("login", "cc of the login node", "cc -login"), ("job", "cc of the node", "cc -node")],
)
def test_the_compiler_is_that_of_the_builds(tmp_path, build_on, version, words) -> None:
    compiler = tmp_path / "mpicc"
    said = 'echo "cc -login" || echo "cc of the login node"'
    compiler.write_text(f'#!/bin/sh\n[ "$1" = -show ] && {said}\n')
    compiler.chmod(0o755)
    site = site_of_mpich({"compiler": str(compiler)}, build_on=build_on)
    run = RunDirectory(RUN).provenance()
    known = replace(run, environments={"mpich": environment_as_run(site, "mpich")})
    node = TrialResult(name="mpich", compiler_version="cc of the node", compiles_with="cc -node")
    found = with_facts(known, {}, {"mpich": node}).environments["mpich"]
    assert (found.compiler_version, found.compiles_with) == (version, words)
