# SPDX-License-Identifier: Apache-2.0
"""Checks of a folder outside the tree: found, refused, planned and launched like our own."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from assay.cli.main import main
from assay.sites import site_file
from assay.tests.campaign_texts import SITE_FILE
from checks.common import registry
from checks.common.registry import CHECKS, FOLDERS, add_folder
from checks.common.sources import FURTHER_CHECKS
from records.errors import AssayError, ExitStatus
from records.run.plan import Plan

HELLO = '''
"""A sum over all ranks, timed."""

from checks.common.answer import Asked, least_of
from checks.common.definition import RANK_ALLOWANCE_BYTES
from checks.common.messages import ManyRanksDefinition
from checks.common.parameters import Parameters, quantity

from .metrics import METRICS


class HelloParameters(Parameters):
    ranks: int = quantity("Ranks that take part.", "ranks", 2, ge=1, le=1000)
    ranks_per_node: int = quantity("Ranks on each node.", "ranks", 1, ge=1, le=8)
    sums: int = quantity("Sums.", "sums", 10, ge=1, le=1000)
    label: str = quantity("A word that the program prints.", "none", "plain")


class HelloDefinition(ManyRanksDefinition[HelloParameters]):
    name = "hello"
    title = "Hello"
    deciding = shown = "sum_time"
    parameters = HelloParameters
    metrics = METRICS

    def expected(self, params, hosts):
        yield Asked("sum_time", samples=params.sums)

    def memory_bytes_per_node(self, params, cores_per_node):
        return RANK_ALLOWANCE_BYTES

    def estimate_s(self, params, layout, site):
        return site.launch_overhead_s


CHECK = HelloDefinition()
'''
METRICS = """
from records.metric import MetricDefinition

METRICS = (MetricDefinition("sum_time", "s", "lower", "a sum over all ranks"),)
"""
CAMPAIGN = """
schema: 1
name: hello
question: how long does a sum take?
environments: [lam]
cases:
  - check: hello
"""


def write_check(folder: Path, name: str = "hello", definition: str = HELLO) -> Path:
    package = folder / name
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(definition)
    (package / "metrics.py").write_text(METRICS)
    return folder


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the check hello; what a test adds is taken out again."""
    monkeypatch.setenv(FURTHER_CHECKS, "")
    ours = dict(CHECKS)
    yield write_check(tmp_path / "mine")
    for name in CHECKS.keys() - ours.keys():
        del registry._CHECKS[name]
    FOLDERS.clear()


def with_rate_in(unit: str) -> str:
    """The definition with a second metric."""
    own = "from records.metric import MetricDefinition as M\nMETRICS = "
    own += f'(M("sum_time", "s", "lower", ""), M("rate", "{unit}", "lower", ""))'
    return HELLO.replace("from .metrics import METRICS", own)


def test_a_check_outside_the_tree_is_one_like_ours(folder):
    add_folder(folder)
    add_folder(f"{folder}/../mine")
    hello = CHECKS["hello"]
    assert (hello.folder, FOLDERS) == (folder / "hello", [folder])
    assert type(hello).__name__ == "HelloDefinition"
    assert os.environ[FURTHER_CHECKS] == str(folder)
    params = hello.parameters.model_validate({})
    assert hello.command(params, Path("/out")) == ["/out/hello", "--sums=10", "--label=plain"]
    assert [one.metric for one in hello.expected(params, [])] == ["sum_time"]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ("CHECK = 1 / 0\n", "cannot be imported: ZeroDivisionError"),
        ("CHECK = 3\n", "CHECK is 3; it must be a CheckDefinition"),
        ("", "holds no check"),
        (HELLO.replace('name = "hello"', 'name = "ring"'), "the check's name is 'ring'"),
        (HELLO.replace('title = "Hello"', ""), "CHECK has no title"),
        (HELLO.replace('shown = "sum_time"', 'shown = "sum"'), "is 'sum', none of its metrics"),
        (with_rate_in("furlong"), "metric rate: unit 'furlong'; allowed is 's', "),
        (with_rate_in("s"), "metric rate is defined otherwise by another check"),
    ],
)
def test_a_faulty_check_is_refused_by_name_and_nothing_is_added(folder, tmp_path, changed, said):
    known = dict(CHECKS)
    other = write_check(tmp_path / "other", definition=changed)
    with pytest.raises(AssayError) as refused:
        add_folder(other)
    assert said in str(refused.value)
    assert str(other) in str(refused.value)
    assert (known, FOLDERS) == (CHECKS, [])


@pytest.mark.plugins("papers")
def test_a_name_that_is_taken_is_refused_with_both_places(folder, tmp_path):
    add_folder(folder)
    for name in ("hello", "ring"):
        again = write_check(tmp_path / f"of {name}", name, HELLO.replace('"hello"', f'"{name}"'))
        with pytest.raises(AssayError, match=f"of {name}/{name}: there is a check {name} in"):
            add_folder(again)


def test_a_folder_that_cannot_be_handed_on_is_refused(folder, tmp_path):
    (tmp_path / "a:b").mkdir()
    with pytest.raises(AssayError, match="cannot be handed on"):
        add_folder(tmp_path / "a:b")


def test_commands_take_a_folder_and_say_what_is_wrong_with_it(folder, capsys):
    assert main(["schema", "--checks", f"{folder}/x"]) == ExitStatus.BAD_INPUT
    assert f"--checks {folder}/x: no such folder" in capsys.readouterr().err
    assert main(["schema", "--checks", str(folder)]) == ExitStatus.PASS
    schema = json.loads(capsys.readouterr().out)
    assert "hello" in schema["$defs"]["CaseEntry"]["properties"]["check"]["enum"]


def test_a_site_brings_its_own_checks_and_the_plan_names_their_folder(
    folder, tmp_path, monkeypatch, capsys
):
    (tmp_path / "sites" / "here").mkdir(parents=True)
    (tmp_path / "sites" / "here" / "site.yaml").write_text(f"{SITE_FILE}checks: [$MINE]\n")
    monkeypatch.setattr(site_file, "SITES", tmp_path / "sites")
    monkeypatch.setenv("MINE", str(folder))
    campaign = tmp_path / "hello.yaml"
    campaign.write_text(CAMPAIGN)
    assert main(["plan", str(campaign), "--site", "here", "--json"]) == ExitStatus.PASS
    plan = Plan.from_json(capsys.readouterr().out)
    assert [case.check for case in plan.cases] == ["hello"]
    assert plan.checks_folders == [str(folder)]
    assert plan.register.check_title("hello") == "Hello"
    monkeypatch.setenv("MINE", "/none")
    assert main(["plan", str(campaign), "--site", "here"]) == ExitStatus.BAD_INPUT
    assert "site here: checks /none: no such folder" in capsys.readouterr().err
