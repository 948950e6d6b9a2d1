# SPDX-License-Identifier: Apache-2.0
"""A Spack home is changed by one build at a time, and by none while a run uses it."""

import subprocess
import sys

import pytest

from assay import ROOT
from assay.build.home_lock import building, in_use
from assay.cli.main import main
from assay.sites import builds
from records.errors import InfrastructureError

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


def test_a_second_build_is_refused_until_the_first_is_gone_even_killed(home, capsys):
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, home],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert main(["mirror", "create", "--site", "virtual"]) == 4
        assert "another build, or a run on its libraries, is under way" in capsys.readouterr().err
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


def test_a_home_without_a_lock_can_be_used(tmp_path):
    with in_use(tmp_path):
        assert not list(tmp_path.iterdir())


def test_a_home_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InfrastructureError, match=builds.HOME), building(tmp_path / "file" / "x"):
        pass
