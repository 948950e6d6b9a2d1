# SPDX-License-Identifier: Apache-2.0
"""`assay checks`: every check is listed, and explained with all that it can be asked."""

import pytest
import yaml

from assay.cli.main import main
from assay.schema import campaign_from_text
from assay.tests.published_forms import published
from checks.common.registry import CHECKS
from records.errors import ExitStatus


def told(capsys, *words: str, status: ExitStatus = ExitStatus.PASS) -> str:
    assert main(["checks", *words]) == status
    return str(capsys.readouterr().out)


@pytest.mark.plugins("papers")
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
    check, page = CHECKS[name], told(capsys, name)
    for one in (*check.parameters.model_fields, *check.metrics_by_name):
        assert f"\n  {one}" in page
    example = yaml.safe_load(page.partition("example, in a campaign file\n")[2])
    head = {"schema": 1, "name": "x", "question": "?", "environments": ["mpich"]}
    campaign = campaign_from_text("x.yaml", yaml.safe_dump({**head, **example}))
    assert [entry.check for entry in campaign.cases] == [name]


@pytest.mark.plugins("papers")
def test_an_unknown_check_is_told_what_there_is(capsys):
    assert main(["checks", "rings"]) == ExitStatus.BAD_INPUT
    told = "no check 'rings' (did you mean ring?); there are alltoall_pairs, "
    assert told in capsys.readouterr().err
