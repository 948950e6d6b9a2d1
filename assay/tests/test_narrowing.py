# SPDX-License-Identifier: Apache-2.0
"""What is left of a campaign: by the environments that a site has, and by the command line."""

import argparse
import dataclasses
import json

import pytest

from assay.cli import main
from assay.cli.arguments import NARROWING
from assay.cli.campaign import narrowing_of
from assay.plan.planner import make_plan
from assay.plan.render import render_plan
from assay.run.status import run_status
from assay.schema.loading import campaign_names, load_campaign
from assay.screens.screen import Screen
from assay.screens.status import show_status
from assay.sites.site import SiteFacts
from assay.tests.campaign_texts import GOOD, MPI, SITE, plan_of, spoiled
from records.errors import AssayError
from records.run.plan import Plan
from records.run.provenance import Provenance
from records.run.run_directory import create_run

SITES = [
    SiteFacts("wide", 16, 128, 256 * 10**9, {"mpich": MPI, "openmpi": MPI}),
    SiteFacts("narrow", 12, 2, 2**29, {"openmpi": MPI}),
    SiteFacts("three", 3, 4, 8 * 10**9, {"mpich": MPI}),
    SiteFacts("two", 2, 2, 4 * 10**9, {"openmpi": MPI, "mpich": MPI}),
]


@pytest.mark.parametrize("site", SITES, ids=lambda site: site.name)
@pytest.mark.parametrize("name", campaign_names())
def test_every_shipped_campaign_plans_on_sites_without_its_environments(name, site) -> None:
    campaign = load_campaign(name)
    if name == "mix" and "mpich" not in site.environments:  # a mix is of one library
        with pytest.raises(AssayError, match=r"none of its environments is there: .* narrow has"):
            make_plan(campaign, site)
        return
    plan = Plan.from_json(make_plan(campaign, site).to_json())
    assert plan.environments
    used = {case.environment for case in plan.cases}
    assert used <= set(plan.environments) <= {*site.environments}
    assert set(campaign.environments) - set(plan.environments) <= set(plan.absent)
    table = render_plan(plan)
    for environment, why in plan.absent.items():
        assert table.count(f"not on site {site.name}: {environment} ({why})") == 1
    skipped = [case for case in plan.cases if case.skipped is not None]
    assert all(case.skipped for case in skipped)
    assert table.count("skipped (") == bool(skipped)


@pytest.mark.parametrize("site", SITES, ids=lambda site: site.name)
def test_the_acceptance_takes_the_nodes_there_are(site) -> None:
    plan = make_plan(load_campaign("acceptance"), site)
    assert [case.skipped for case in plan.cases if case.skipped] == []
    assert plan.left_out == []
    nodes = {case.check: case.nodes for case in plan.cases}
    assert [nodes[check] for check in ("node", "alltoall_pairs", "hpl")] == [site.nodes] * 3
    ranks = {case.check: case.ranks for case in plan.cases}
    assert ranks["hpl"] == ranks["node"] == site.nodes * site.cores_per_node


def test_nodes_that_share_cores_rehearse_the_acceptance_on_the_cores_there_are() -> None:
    cores = {"n1": [0], "n2": [1], "n3": [0], "n4": [1]}
    site = dataclasses.replace(SITE, memory_bytes_per_node=11 * 10**9, shared_cores=cores)
    plan = make_plan(load_campaign("acceptance"), site)
    found = {case.check: (case.nodes, case.params.get("turns")) for case in plan.cases}
    assert found["node"] == (4, True)
    assert found["alltoall_pairs"] == (4, True)
    assert found["hpl"] == (2, None)
    assert all(case.estimate_s <= 60 for case in plan.cases)


@pytest.mark.plugins("papers")
def test_what_makes_no_case_on_a_site_is_left_out_and_told() -> None:
    plan = make_plan(load_campaign("acceptance"), dataclasses.replace(SITE, nodes=1))
    assert {case.check for case in plan.cases} == {"node", "hpl", "su3_rmd"}
    (told,) = plan.left_out
    assert told.startswith("cases[1] (alltoall_pairs): ranks: found 1")
    # Of a range, what makes no case is left out alone.
    text = GOOD.replace("check: pt2pt", "check: bisection").replace("pt2pt: 0.5", "bisection: 0.5")
    sizes = "matrix: {nodes: [{from: 1, to: all, per_octave: 1}]}"
    plan = plan_of(text.replace("fixed: {sizes: [300, 600]}", sizes))
    assert [case.ranks for case in plan.cases if case.check == "bisection"] == [2, 4]
    assert [told.split(":")[0] for told in plan.left_out] == ["cases[1] (bisection)"]


def test_sizes_that_come_to_the_same_are_kept_once() -> None:
    text = spoiled(
        "  fixed: {sizes: [300, 600]}\n  environments: [lam]\n", "  fixed: {sizes: [8]}\n"
    )
    text = text.replace(
        "limits:",
        "- check: startup\n  matrix: {nodes: [1, half, all, {from: 1, to: all, per_octave: 1}]}\n"
        "  fixed: {ranks_per_node: 1}\nlimits:",
    )
    for nodes, ranks in [(4, [1, 2, 4]), (3, [1, 3, 2]), (1, [1])]:
        plan = plan_of(text, dataclasses.replace(SITE, nodes=nodes))
        found = [c.ranks for c in plan.cases if c.check == "startup" and c.environment == "lam"]
        assert found == ranks
    site = dataclasses.replace(SITE, nodes=2)
    assert plan_of(text.replace("from: 1", "from: 4"), site).left_out == [
        "cases[2] (startup): site virtual has 2 nodes (with ranks_per_node=1 nodes={'from': 4,"
        " 'to': 'all', 'per_octave': 1})"
    ]


def test_an_entry_in_absent_environments_only_goes_with_them() -> None:
    mpich = dataclasses.replace(SITE, environments={"mpich": MPI})
    plan = plan_of(GOOD.replace("openmpi", "lam"), mpich)
    assert {case.check for case in plan.cases} == {"hpl"}
    assert plan.weights == {"hpl": 2}
    assert list(json.loads(plan.to_json())["absent"]) == ["lam"]


def test_an_entry_once_is_measured_in_the_first_environment_that_can() -> None:
    once = spoiled("  environments: [lam]\n", "  once: true\n")
    site = dataclasses.replace(SITE, environments={"mpich": frozenset({"pvm"}), "lam": MPI})
    assert [c.environment for c in plan_of(once).cases if c.check == "pt2pt"] == ["mpich"]
    assert [c.environment for c in plan_of(once, site).cases if c.check == "pt2pt"] == ["lam"]


def test_others_are_taken_where_no_environment_is_there() -> None:
    text = spoiled("  environments: [lam]\n", "").replace(
        "environments: [mpich, lam]\n", "environments: [mpich, lam]\notherwise: [pvm, openmpi]\n"
    )
    plan = plan_of(text, dataclasses.replace(SITE, environments={"openmpi": MPI}))
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


def test_status_names_what_was_left_out(folder, capsys) -> None:
    site = dataclasses.replace(SITE, environments={"mpich": MPI})
    run = create_run(GOOD, plan_of(GOOD, site, blocks=2))
    run.provenance_file.write_bytes(Provenance(run_id=run.run_id).to_json())
    show_status(Screen(), run_status(run))
    told = " ".join(capsys.readouterr().out.split())
    assert "not on site virtual: lam (site virtual has no environment 'lam')" in told
    assert "narrowed by the command line: --blocks 2" in told


def test_a_resumed_run_is_not_narrowed_again(capsys) -> None:
    assert main(["run", "--resume", "x", "--blocks", "3", "--environments", "mpich"]) == 2
    assert "--environments: a run goes on as it was begun" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("checks", "said"),
    [
        ("./here", "./here: holds no check"),
        ("here", "here: holds no check"),
        ("hpl,pt2pt", "nowhere"),
    ],
)
def test_checks_of_the_command_line_are_names_or_a_folder(checks, said, folder, capsys) -> None:
    for name in ("hpl", "here"):
        (folder / name).mkdir()
    assert main(["plan", "quick", "--site", "nowhere", "--checks", checks]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("words", ["--blocks=0", "--nodes=two", "--blocks=15000"])
def test_numbers_of_the_command_line_have_limits_of_their_own(words, capsys) -> None:
    parser = argparse.ArgumentParser()
    for one in NARROWING:
        parser.add_argument(one.name, **one.options)
    assert narrowing_of(parser.parse_args(["--nodes=15000", "--blocks=10000"])).nodes == 15000
    with pytest.raises(SystemExit) as ended:
        parser.parse_args([words])
    assert ended.value.code == 2
    assert "allowed is a number from 1 to" in capsys.readouterr().err
