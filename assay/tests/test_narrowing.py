# SPDX-License-Identifier: Apache-2.0
"""What is left of a campaign: by the environments that a site has, and by the command line."""

from __future__ import annotations

import dataclasses
import json

import pytest

from assay.cli import main
from assay.plan import Narrowing, make_plan, render_plan
from assay.run.status import render_status, run_status
from assay.schema import campaign_from_text, campaign_names, load_campaign
from assay.sites.facts import SiteFacts
from assay.tests.campaign_texts import GOOD, MPI, SITE, spoiled
from records.errors import AssayError
from records.plan import Plan
from records.provenance import Provenance
from records.run_directory import create_run

OPEN_MPI_ONLY = dataclasses.replace(SITE, name="foreign", environments={"openmpi": MPI})
SITES = [
    SiteFacts("wide", 16, 128, 256 * 10**9, {"mpich": MPI, "openmpi": MPI}),
    SiteFacts("narrow", 12, 2, 2**29, {"openmpi": MPI}),
    SiteFacts("three", 3, 4, 8 * 10**9, {"mpich": MPI}),
    SiteFacts("two", 2, 2, 4 * 10**9, {"openmpi": MPI, "mpich": MPI}),
]


def plan_of(text: str, site: SiteFacts = SITE, **asked) -> Plan:
    return make_plan(campaign_from_text("c.yaml", text), site, Narrowing(**asked))


@pytest.mark.parametrize("site", SITES, ids=lambda site: site.name)
@pytest.mark.parametrize("name", campaign_names())
def test_every_shipped_campaign_plans_on_sites_without_its_environments(name, site) -> None:
    campaign = load_campaign(name)
    plan = Plan.from_json(make_plan(campaign, site).to_json())
    assert plan.environments
    assert (
        {case.environment for case in plan.cases} <= set(plan.environments) <= {*site.environments}
    )
    assert set(campaign.environments) - set(plan.environments) <= set(plan.absent)
    table = render_plan(plan)
    for environment, why in plan.absent.items():
        assert table.count(f"not on site {site.name}: {environment} ({why})") == 1
    skipped = [case for case in plan.cases if case.skipped is not None]
    assert all(case.skipped for case in skipped)
    assert table.count("skipped (") == bool(skipped)


def test_an_entry_in_absent_environments_only_is_told_once() -> None:
    plan = plan_of(
        GOOD.replace("openmpi", "lam"), dataclasses.replace(SITE, environments={"mpich": MPI})
    )
    assert {case.check for case in plan.cases} == {"hpl"}
    assert plan.left_out == ["cases[1] (pt2pt): only in lam, which is not there"]
    assert plan.weights == {"hpl": 2}


def test_an_entry_once_is_measured_in_the_first_environment_that_can() -> None:
    once = spoiled("  environments: [lam]\n", "  once: true\n")
    site = dataclasses.replace(SITE, environments={"mpich": frozenset({"pvm"}), "lam": MPI})
    assert [c.environment for c in plan_of(once).cases if c.check == "pt2pt"] == ["mpich"]
    assert [c.environment for c in plan_of(once, site).cases if c.check == "pt2pt"] == ["lam"]


def test_others_are_taken_where_no_environment_is_there() -> None:
    text = spoiled("  environments: [lam]\n", "").replace(
        "environments: [mpich, lam]\n", "environments: [mpich, lam]\notherwise: [pvm, openmpi]\n"
    )
    plan = plan_of(text, OPEN_MPI_ONLY)
    assert plan.environments == ["openmpi"]
    assert list(plan.absent) == ["mpich", "lam", "pvm"]
    assert plan_of(text).environments == ["mpich", "lam"]
    assert plan_of(text).absent == {}


def test_a_command_line_narrows_a_campaign() -> None:
    plan = plan_of(GOOD, environments=("lam",), checks=("hpl",), nodes=1, blocks=2)
    assert {(case.environment, case.check) for case in plan.cases} == {("lam", "hpl")}
    assert (plan.blocks, plan.totals.launches) == (2, 4)
    assert {case.skipped for case in plan.cases} == {
        None,
        "2 ranks at 1 a node need 2 nodes; site virtual has 1 by --nodes",
    }
    assert plan.absent == {}
    assert Plan.from_json(plan.to_json()).told() == [
        "narrowed by the command line: --environments lam --checks hpl --nodes 1 --blocks 2"
    ]
    whole = {case.id: case for case in plan_of(GOOD).cases}
    assert all(whole[case.id].params == case.params for case in plan.cases)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"environments": ("lan",)}, "--environments lan: .*did you mean lam.*it has mpich, lam"),
        ({"environments": ("openmpi",)}, "--environments openmpi: .*it has mpich, lam"),
        ({"checks": ("hlp",)}, r"--checks hlp: .*did you mean hpl.*it has hpl, pt2pt"),
        ({"checks": ("echo",)}, "--checks echo: .*it has hpl, pt2pt"),
        ({"nodes": 5}, "--nodes 5: site virtual has 4 nodes; give at most 4"),
        ({"environments": ("mpich",), "checks": ("pt2pt",)}, "nothing is left"),
    ],
)
def test_what_cannot_be_left_is_refused_with_the_list(asked, said) -> None:
    with pytest.raises(AssayError, match=said):
        plan_of(GOOD, **asked)


def test_status_names_what_was_left_out(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    site = dataclasses.replace(SITE, environments={"mpich": MPI})
    run = create_run(GOOD, plan_of(GOOD, site, blocks=2))
    run.provenance_file.write_bytes(Provenance(run_id=run.run_id).to_json())
    told = render_status(run_status(run))
    assert "not on site virtual: lam (site virtual has no environment 'lam')" in told
    assert "left out: cases[1] (pt2pt): only in lam, which is not there" in told
    assert "narrowed by the command line: --blocks 2" in told


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--blocks", "0"], "allowed is a number from 1 to"),
        (["--nodes", "two"], "allowed is a number from 1 to"),
    ],
)
def test_numbers_of_the_command_line_are_read_strictly(words, said, capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["plan", "quick", *words])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_a_resumed_run_is_not_narrowed_again(capsys) -> None:
    assert main(["run", "--resume", "x", "--blocks", "3", "--environments", "mpich"]) == 2
    assert "--environments, --blocks: a run goes on as it was begun" in capsys.readouterr().err


def test_checks_of_the_command_line_are_names_or_a_folder(tmp_path, monkeypatch, capsys) -> None:
    site = tmp_path / "here"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hpl").mkdir()
    site.mkdir()
    assert main(["plan", "quick", "--site", "nowhere", "--checks", "./here"]) == 2
    assert "./here: holds no check" in capsys.readouterr().err
    assert main(["plan", "quick", "--site", "nowhere", "--checks", "here"]) == 2
    assert "here: holds no check" in capsys.readouterr().err
    assert main(["plan", "quick", "--site", "nowhere", "--checks", "hpl,pt2pt"]) == 2
    assert "nowhere" in capsys.readouterr().err


def test_the_plan_as_json_names_what_is_absent() -> None:
    plan = plan_of(GOOD, dataclasses.replace(SITE, environments={"mpich": MPI}))
    assert list(json.loads(plan.to_json())["absent"]) == ["lam"]
