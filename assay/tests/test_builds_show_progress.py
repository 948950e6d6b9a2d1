# SPDX-License-Identifier: Apache-2.0
"""What builds for long says at times what it builds, since when, and its output's last line."""

import re
from types import SimpleNamespace

import pytest

from assay.build import commands
from assay.build.commands import SpackCommands
from assay.build.spack import Spack
from assay.probe import probe
from assay.probe.probe import Probes
from assay.probe.trials import trial_of
from assay.run.driver import Driver
from assay.run.progress import QUIET_S, Progress
from assay.run.work_folder import WorkFolder
from assay.sites.site_file import chosen, read_site_file
from assay.sites.slurm import SlurmSite
from assay.terminal import said_meanwhile
from checks.common.session.outcome import CompleteBuild, Outcome
from records.errors import AssayError, InfrastructureError
from setup.tests.needs import needs
from virtual_cluster.host import tries


@pytest.mark.parametrize("error", [OSError, AssayError, InfrastructureError])
def test_it_is_said_again_and_again_until_the_end_also_after_a_fault(error):
    said, told = [], iter(["1", error("gone for a moment"), "2"])

    def next_line():
        if isinstance(line := next(told, "3"), Exception):
            raise line
        return line

    with said_meanwhile(said.append, next_line, 0.01):
        for _ in tries(30, 0.01):
            if len(said) >= 2:
                break
    assert said[:2] == ["1", "2"]


def test_a_spack_build_that_is_silent_is_told_of_by_its_own_log(tmp_path, monkeypatch):
    stage = tmp_path / "stage" / "me" / "spack-stage-lam-7"
    stage.mkdir(parents=True)
    (stage / "spack-build-out.txt").write_text("checking\n  CC coll.lo\n\n")
    until = 'until [ -e "$0.go" ]; do sleep 0.05; done'
    (tmp_path / "spack").write_text(f'#!/bin/sh\necho "==> Installing lam-7 [1/2]"\n{until}\n')
    (tmp_path / "spack").chmod(0o755)
    monkeypatch.setattr(commands, "SAID_EVERY_S", 0.05)
    said = []

    def say(line):
        said.append(line)
        if "Installing" in line and "so far" in line:
            (tmp_path / "spack.go").touch()

    SpackCommands(Spack(tmp_path / "spack", None, tmp_path), tmp_path, say, False).run("it", "x")
    assert any(
        re.fullmatch(r"  Installing lam-7 \[1/2\], \d+ s so far: CC coll\.lo", x) for x in said
    )


@needs("make", "mpicc")
def test_a_proof_that_compiles_slowly_is_told_of(tmp_path, monkeypatch):
    compiler = tmp_path / "slowcc"
    compiler.write_text(
        f'#!/bin/sh\nuntil [ -e {tmp_path}/go ]; do sleep 0.05; done; exec mpicc "$@"\n'
    )
    compiler.chmod(0o755)
    monkeypatch.setattr(probe, "SAID_EVERY_S", 0.05)
    described = chosen(read_site_file("virtual"))
    name, one = next(iter(described.environments.items()))
    slow = one.model_copy(update={"compiler": str(compiler)})
    site = SlurmSite(described.model_copy(update={"environments": {name: slow}}))
    said = []

    def say(line):
        said.append(line)
        if "no output yet" not in line:
            (tmp_path / "go").touch()

    with Probes(site, str(tmp_path), lambda _: None) as probes:
        probes.build_on_login([trial_of(site, name, 1, 1)], say)
    first = next(line for line in said if "no output yet" not in line)
    assert re.fullmatch(rf"compiling a program for {name}, \d+ s: .*\.(c|o|so)( .*)?", first)


def test_a_run_says_what_its_session_builds(tmp_path, capsys):
    site = SlurmSite(chosen(read_site_file("virtual")))
    with WorkFolder(site, tmp_path) as work:
        work.fresh_session()
        output = work.session / "rfm_build.out"
        output.write_text("cc -c ring.c\ncc -c halo.c\n")
        driver = Driver.__new__(Driver)
        driver.progress, driver.work = Progress(live=False), work
        driver.waiting = SimpleNamespace(waits=False)
        driver._kept_builds = SimpleNamespace(take_in=lambda _: None)
        driver._heed_notice(Outcome(progress="building Programs for lam", output=str(output)), {})
        driver.progress._spoke -= QUIET_S + 1
        driver.tick()
        built = CompleteBuild("lam", "Programs", str(work.session), [])
        driver._heed_notice(Outcome(built=built), {})
        driver.progress._spoke -= QUIET_S + 1
        driver.tick()
    first, during, after = capsys.readouterr().err.splitlines()
    assert first == "building Programs for lam"
    assert re.search(r", building Programs for lam, \d+ s: cc -c halo\.c$", during)
    assert "building" not in after
