# SPDX-License-Identifier: Apache-2.0
"""`assay checks`: every check is listed, and explained with all that it can be asked."""

import pytest
import yaml

from assay.cli.main import main
from assay.schema import campaign_from_text
from assay.tests.published_forms import published
from checks.common.registry import CHECKS
from plugins.reframe.foreign import children
from records.errors import ExitStatus


def told(capsys, *words: str, status: ExitStatus = ExitStatus.PASS) -> str:
    assert main(["checks", *words]) == status
    return str(capsys.readouterr().out)


def test_every_check_is_listed_with_its_needs(capsys):
    lines = told(capsys).splitlines()
    begun = [line.split()[0] for line in lines[1:-1] if line[2:3].strip()]
    assert begun == list(CHECKS)
    assert any(line.startswith("  pvm_echo  ") and line.endswith(" PVM") for line in lines)
    assert any("the site's osu" in line for line in lines)
    checks = published("checks", told(capsys, "--json"))["checks"]
    found = {check["name"]: check for check in checks}
    kinds = {name: (check["program"], check["needs"]) for name, check in found.items()}
    assert kinds["osu"] == ("the site's osu", ["mpi", "program:osu"])
    assert kinds["pvm_echo"] == ("our own", ["pvm"])
    assert found["ring"]["measures"].startswith("A message round a ring of all ranks")


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_is_explained_with_parameters_metrics_and_an_example_that_is_a_case(capsys, name):
    check = CHECKS[name]
    machine = published("check", told(capsys, name, "--json"))
    assert [one["name"] for one in machine["parameters"]] == list(check.parameters.model_fields)
    assert all(one["meaning"] and one["unit"] and one["allowed"] for one in machine["parameters"])
    assert [one["name"] for one in machine["metrics"]] == list(check.metrics_by_name)
    assert machine["purpose"]
    assert all(machine["layout"].values())
    page = told(capsys, name)
    for one in (*machine["parameters"], *machine["metrics"]):
        assert f"\n  {one['name']}" in page
    example = yaml.safe_load(machine["example"])
    head = {"schema": 1, "name": "x", "question": "?", "environments": ["mpich"]}
    campaign = campaign_from_text("x.yaml", yaml.safe_dump({**head, **example}))
    assert [entry.check for entry in campaign.cases] == [name]


def test_an_unknown_check_is_told_what_there_is(capsys):
    assert main(["checks", "rings"]) == ExitStatus.BAD_INPUT
    told = "no check 'rings' (did you mean ring?); there are alltoall_pairs, "
    assert told in capsys.readouterr().err


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
    words = ("--reframe", str(files), "--site", "virtual")
    text = " ".join(told(capsys, *words, status=ExitStatus.FAIL).split())
    assert "exits.py refused: ends the process that loads it, with status 3" in text
    assert "give it with --env SCRATCH=VALUE" in text
    assert "2 files, 2 refused; 0 classes, 0 run here" in text
    text = " ".join(told(capsys, *words, "--env", "SCRATCH=/scratch").split())
    assert "Island: run, 1 variant; runs here in mpich, mpich-hydra," in text
    assert "Remote: run, 1 variant; not here: asks for system daint:gpu; virtual:all has" in text
    assert "2 files, 1 refused; 2 classes, 1 run here" in text


def test_a_suite_is_listed_where_namespaces_are_refused_and_that_is_said_once(
    capsys, files, monkeypatch
):
    words = ("--reframe", str(files), "--env", "SCRATCH=/scratch")
    assert "namespaces" not in told(capsys, *words)
    monkeypatch.setattr(children, "_UNSHARE", ("unshare", "--refused"))
    text = " ".join(told(capsys, *words).split())
    assert "Island: run, 1 variant" in text
    assert text.count("namespaces are refused here: the files could write and connect") == 1


def test_a_suite_is_listed_for_no_site(capsys, files):
    words = ("--reframe", str(files / "island.py"), "--env", "SCRATCH=/scratch")
    text = " ".join(told(capsys, *words).split())
    assert "Remote: run, 1 variant; asks for systems daint:gpu; environments +mpi" in text
    found = published("reframe-suite", told(capsys, *words, "--json"))
    assert [one["name"] for one in found["classes"]] == ["Island", "Remote"]
    assert found["files"][0]["classes"][1]["variants"][0]["valid_systems"] == ["daint:gpu"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--reframe", "/nonexistent"), "--reframe /nonexistent: no such file"),
        (("--reframe", "/", "--env", "SCRATCH"), "allowed is NAME=VALUE"),
    ],
)
def test_a_wrong_suite_is_refused(capsys, words, said):
    assert main(["checks", *words]) == ExitStatus.BAD_INPUT
    assert said in capsys.readouterr().err
