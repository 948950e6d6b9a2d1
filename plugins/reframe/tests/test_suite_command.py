# SPDX-License-Identifier: Apache-2.0
"""`assay reframe suite`: the classes of a suite, and which of them a site can run."""

import pytest

from assay.cli.main import main
from assay.tests.published_forms import published
from records.errors import ExitStatus


def told(capsys, *words: str, status: ExitStatus = ExitStatus.PASS) -> str:
    assert main(["reframe", "suite", *words]) == status
    return str(capsys.readouterr().out)


SUITE = """
import os
import reframe as rfm

@rfm.simple_test
class Island(rfm.RunOnlyRegressionTest):
    valid_systems = ['*']
    valid_prog_environs = ['+mpi']
    scratch = os.environ['SCRATCH']

@rfm.simple_test
class Remote(Island):
    valid_systems = ['daint:gpu']
"""


@pytest.fixture
def files(tmp_path):
    (tmp_path / "island.py").write_text(SUITE)
    (tmp_path / "exits.py").write_text("import reframe, os; os._exit(3)")
    return tmp_path


def test_a_suite_is_listed_with_what_the_site_can_run(capsys, files):
    words = (str(files), "--site", "virtual")
    text = " ".join(told(capsys, *words, status=ExitStatus.FAIL).split())
    assert "exits.py refused: ends the process that loads it, with status 3" in text
    assert "give it with --env SCRATCH=VALUE" in text
    assert "2 files, 2 refused; 0 classes, 0 run here" in text
    text = " ".join(told(capsys, *words, "--env", "SCRATCH=/scratch").split())
    assert "Island: run, 1 variant; runs here in mpich, mpich-hydra," in text
    assert "Remote: run, 1 variant; not here: asks for system daint:gpu; virtual:all has" in text
    assert "2 files, 1 refused; 2 classes, 1 run here" in text


def test_a_suite_is_listed_for_no_site(capsys, files):
    words = (str(files / "island.py"), "--env", "SCRATCH=/scratch")
    text = " ".join(told(capsys, *words).split())
    assert "Remote: run, 1 variant; asks for systems daint:gpu; environments +mpi" in text
    found = published("reframe-suite", told(capsys, *words, "--json"))
    assert [one["name"] for one in found["classes"]] == ["Island", "Remote"]
    assert found["files"][0]["classes"][1]["variants"][0]["valid_systems"] == ["daint:gpu"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("/nonexistent",), "/nonexistent: no such file"),
        (("/", "--env", "SCRATCH"), "allowed is NAME=VALUE"),
    ],
)
def test_a_wrong_suite_is_refused(capsys, words, said):
    assert main(["reframe", "suite", *words]) == ExitStatus.BAD_INPUT
    assert said in capsys.readouterr().err
