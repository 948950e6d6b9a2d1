# SPDX-License-Identifier: Apache-2.0
"""What builds for long says at times what it builds; killed, it leaves nothing behind; a Spack home
is changed by one build at a time, and by none while a run uses it."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from assay import ROOT
from assay.build.spack import locked
from assay.run.driver import Driver
from assay.run.progress import QUIET_S, Progress
from assay.sites import builds
from checks.common.session.outcome import CompleteBuild, Outcome
from records.errors import InfrastructureError


def program(path, script):
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_a_run_says_what_its_session_builds(capsys):
    driver = Driver.__new__(Driver)
    driver.progress = Progress(live=False)
    driver._kept_builds = SimpleNamespace(take_in=lambda _: None)
    for notice in (
        Outcome(progress="building Programs for lam"),
        Outcome(built=CompleteBuild("lam", "Programs")),
    ):
        driver._heed_notice(notice, {})
        driver.progress._spoke -= QUIET_S + 1
        driver.progress.tick()
    first, during, after = capsys.readouterr().err.splitlines()
    assert first == "building Programs for lam"
    assert during.endswith(", building Programs for lam")
    assert "building" not in after


HOLDER = """
import sys
from pathlib import Path
from assay.build.spack import locked
with locked(Path(sys.argv[1])):
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
    with locked(home):
        pass


def test_runs_use_a_home_together_and_keep_builds_out(home):
    refused = pytest.raises(InfrastructureError, match="a run")
    with locked(home, shared=True), locked(home, shared=True), refused, locked(home):
        pass
    refused = pytest.raises(InfrastructureError, match="a build is under way")
    with locked(home), refused, locked(home, shared=True):
        pass


def test_a_home_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InfrastructureError, match=builds.HOME), locked(tmp_path / "file" / "x"):
        pass
