# SPDX-License-Identifier: Apache-2.0
"""What builds for long says at times what it builds; killed, it leaves nothing behind; a Spack home
is changed by one build at a time, and by none while a run uses it."""

import os
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest

from assay import ROOT
from assay.build import commands
from assay.build.commands import SpackCommands
from assay.build.home_lock import building, in_use
from assay.build.spack import Spack
from assay.run.driver import Driver
from assay.run.progress import QUIET_S, Progress
from assay.run.work_folder import WorkFolder
from assay.sites import builds
from assay.sites.loading import SlurmSite
from assay.sites.site_file import chosen, read_site_file
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


def program(path, script):
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_a_spack_build_that_is_silent_is_told_of_by_its_own_log(tmp_path, monkeypatch):
    stage = tmp_path / "stage" / "me" / "spack-stage-lam-7"
    stage.mkdir(parents=True)
    (stage / "spack-build-out.txt").write_text("checking\n  CC coll.lo\n\n")
    until = 'until [ -e "$0.go" ]; do sleep 0.05; done'
    program(tmp_path / "spack", f'echo "==> Installing lam-7 [1/2]"\n{until}')
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


def test_a_run_says_what_its_session_builds(tmp_path, capsys):
    site = SlurmSite(chosen(read_site_file("virtual")))
    work = WorkFolder(site, tmp_path)
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
    built = CompleteBuild("lam", "Programs")
    driver._heed_notice(Outcome(built=built), {})
    driver.progress._spoke -= QUIET_S + 1
    driver.tick()
    first, during, after = capsys.readouterr().err.splitlines()
    assert first == "building Programs for lam"
    assert re.search(r", building Programs for lam, \d+ s: cc -c halo\.c$", during)
    assert "building" not in after


RUN = """
from pathlib import Path
from assay.build.commands import SpackCommands
from assay.build.spack import Spack
home = Path({home!r})
SpackCommands(Spack(home / "spack", None, home), home, print, alone=True).run("building", "install")
"""

#: A Spack that has started a compiler and, as Spack's own builders do, another process group.
SPACK = """\
setsid sleep {mark} </dev/null >/dev/null 2>&1 &
echo "==> Installing compiler [1/1]"
wait
"""


def running(mark: str) -> bool:
    return not subprocess.run(
        ["pgrep", "-fx", f"sleep {mark}"], stdout=subprocess.DEVNULL, check=False
    ).returncode


@pytest.mark.skipif(os.geteuid() != 0, reason="a process namespace needs root: sudo make test")
@needs("pgrep")
def test_a_killed_build_leaves_no_compiler_behind(tmp_path):
    mark = f"{600 + os.getpid() / 1e7:.7f}"
    program(tmp_path / "spack", SPACK.format(mark=mark))
    command = [sys.executable, "-u", "-c", RUN.format(home=str(tmp_path))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as build:
        assert build.stdout is not None
        while "Installing compiler" not in build.stdout.readline():
            assert build.poll() is None
        assert any(running(mark) for _ in tries(300, 0.1))
        build.kill()
    assert any(not running(mark) for _ in tries(300, 0.1))


HOLDER = """
import sys
from pathlib import Path
from assay.build.home_lock import building
with building(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv(builds.HOME, str(tmp_path / "home"))
    return tmp_path / "home"


def test_a_second_build_is_refused_until_the_first_is_gone_even_killed(home, said):
    words = [sys.executable, "-c", HOLDER, home]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert "another build, or a run on its libraries, is under way" in said(
            4, "build", "--mirror", "distribution", "--site", "virtual"
        )
        holder.kill()
    with building(home):
        pass


def test_runs_use_a_home_together_and_keep_builds_out(home):
    with building(home):
        pass
    refused = pytest.raises(InfrastructureError, match="a run")
    with in_use(home), in_use(home), refused, building(home):
        pass
    refused = pytest.raises(InfrastructureError, match="a build is under way")
    with building(home), refused, in_use(home):
        pass


def test_a_home_without_a_lock_can_be_used_and_one_that_cannot_be_made_is_told(tmp_path):
    with in_use(tmp_path):
        assert not list(tmp_path.iterdir())
    (tmp_path / "file").touch()
    with pytest.raises(InfrastructureError, match=builds.HOME), building(tmp_path / "file" / "x"):
        pass
