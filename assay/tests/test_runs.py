# SPDX-License-Identifier: Apache-2.0
"""Which run a command takes where it names none, and what it proposes where that is open."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.cli import main
from assay.schema.loading import campaign_names
from assay.sites.site import Site
from records.errors import AssayError
from records.run.interims import read_plan
from records.run.plan import Plan
from records.run.run_directory import open_run
from reports.tests.synthetic import case, chained, write_run

Capture = pytest.CaptureFixture[str]
pytestmark = pytest.mark.usefixtures("folder")


def small_run(
    name: str | Path, *, campaign: str = "quick", failed: bool = False, **plan: Any
) -> Path:
    """A run of two start-ups in two environments, two blocks each."""

    def edit(record: dict[str, Any]) -> dict[str, Any]:
        return {**record, "status": "failed", "reason": "gone", "metrics": []} if failed else record

    folder = Path("results", campaign, name)
    sizes = ({"ranks": ranks, "ranks_per_node": 1} for ranks in (2, 4))
    cases = [case("startup", name, size) for size in sizes for name in ("mpich", "lam")]
    write_run(folder, cases, blocks=2, edit=edit)
    file = folder / "plan.json"
    file.write_text(msgspec.structs.replace(read_plan(file), campaign=campaign, **plan).to_json())
    return chained(folder)


def refused(capsys: Capture, *words: str) -> list[str]:
    assert main(list(words)) == 2
    answer = capsys.readouterr()
    assert not answer.out
    return answer.err.splitlines()


def test_without_a_name_the_newest_run_is_taken_and_named(capsys: Capture) -> None:
    small_run("20260101T000000Z-0001")
    newest = small_run("20260102T000000Z-0002", campaign="nightly")
    assert main(["status"]) == 0
    answer = capsys.readouterr()
    assert "nightly on virtual" in answer.out
    assert answer.err == f"the newest run: {newest}\n"
    assert main(["status", "--json"]) == 0
    assert capsys.readouterr().out.startswith("{")


@pytest.mark.plugins("papers")
def test_the_newest_run_of_the_right_kind_is_taken(capsys: Capture, monkeypatch) -> None:
    monkeypatch.setattr("reports.render.html.svg_of", lambda *_: "")
    old = small_run("20260101T000000Z-0001", campaign="wyeast-2003")
    small_run("20260102T000000Z-0002")
    assert main(["paper", "2003", "--json"]) == 0
    assert f"the newest run of wyeast-2003: {old}" in capsys.readouterr().err
    (said,) = refused(capsys, "paper", "1996-ornl")
    assert "there is no study" in said
    (said,) = refused(capsys, "paper", "ornl-1996")
    assert said.endswith("make one, e.g. with: assay run ornl-1996")
    (said,) = refused(capsys, "verify")
    assert said.endswith("make one, e.g. with: assay accept")
    (said,) = refused(capsys, "predict", "--nodes", "9")
    assert "no run of su3_rmd or hpl" in said


def test_the_beginning_of_a_runs_id_is_enough_where_it_is_the_only_one() -> None:
    small_run("20260101T000000Z-0001")
    small_run("20260102T000000Z-0002")
    assert open_run("20260101").path.name == "20260101T000000Z-0001"
    with pytest.raises(AssayError, match=r"2 runs begin with '2026010': .*-0001, .*-0002"):
        open_run("2026010")
    with pytest.raises(AssayError, match=r"no run '20260103': .*-0002"):
        open_run("20260103")


def test_a_site_that_is_named_wins_over_where_the_run_began(capsys: Capture) -> None:
    path = str(small_run("20260101T000000Z-0001"))
    (said,) = refused(capsys, "run", "--resume", path, "--site", "elsewhere")
    assert "'elsewhere': no such site" in said


def test_a_run_is_compared_with_the_newest_other_of_its_campaign(capsys: Capture) -> None:
    names = [f"2026010{day}T000000Z-000{day}" for day in (1, 2, 3)]
    for name in names[:2]:
        small_run(name)
    small_run(names[2], campaign="nightly")
    assert main(["compare", names[1]]) == 0
    assert f"the newest other run of quick: results/quick/{names[0]}" in capsys.readouterr().err
    (said_once,) = refused(capsys, "compare", names[2])
    assert "no other run of nightly" in said_once


@pytest.mark.plugins("papers")
def test_without_a_study_they_are_listed_with_the_command(capsys: Capture) -> None:
    small_run("20260101T000000Z-0001", campaign="wyeast-2003")
    commands = [line.split()[:3] for line in refused(capsys, "paper")[2:]]
    assert ["assay", "paper", "wyeast-2003"] in commands
    assert ["assay", "run", "ornl-1996"] in commands


def test_campaigns_are_listed_with_what_each_asks(capsys: Capture) -> None:
    assert main(["plan"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:-1] if line[2:3].strip()] == campaign_names()
    assert max(map(len, lines)) <= 80


def test_a_plan_needs_no_cluster_that_is_up(capsys: Capture, monkeypatch) -> None:
    monkeypatch.setattr(Site, "hpl_source", lambda _: __file__)
    assert main(["plan", "quick", "--site", "virtual:t-none", "--json"]) == 0
    answer = capsys.readouterr()
    plan = Plan.from_json(answer.out)
    assert (plan.totals.cases, plan.totals.skipped) == (16, 0)
    assert "; the plan assumes 4 nodes of " in answer.err
    assert "assay cluster up --name t-none" in answer.err
    assert main(["plan", "quick", "--site", "nowhere"]) == 2
