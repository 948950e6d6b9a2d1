# SPDX-License-Identifier: Apache-2.0
"""Every `next:`: made in one module, from what made the run, and taken by parser and planner."""

import inspect
import re
import shlex
from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from assay.cli.campaign import narrowing_of
from assay.cli.main import COMMANDS, make_parser, plugin_commands
from assay.plan.planner import make_plan
from assay.schema.loading import load_campaign
from assay.tests.campaign_texts import SITE
from checks.common.registry import CHECKS
from checks.common.tests.test_folders import CAMPAIGN, folder
from records.run.provenance import AsAsked, Provenance, SiteAsRun
from reports import commands
from reports.analysis.run import analyse
from reports.load.loading import Run, load_run
from reports.tests.synthetic import case, write_run
from reports.verdicts.choice.answer import answer_of

__all__ = ["folder"]
ROOT = Path(__file__).parents[2]
HISTORY = "my history/h.sqlite"
#: A call of each function that makes a command.
CALLS: dict[str, Callable[[Run], str]] = {
    "run_again": commands.run_again,
    "plan": commands.plan,
    "more_blocks": lambda run: commands.more_blocks(run, 5),
    "resume": lambda run: commands.resume("results/a b/c", run.provenance.asked.checks),
    "doctor": lambda run: commands.doctor(run.plan.site),
    "remedy": lambda run: commands.remedy(run, "time limit: ended"),
    "accept": lambda run: commands.accept(run, run.run_id, rerun=True),
    "verify": lambda run: commands.verify(run, run.run_id),
    "night_status": lambda run: commands.night_status(run.run_id),
    "night_again": lambda run: commands.night_again(run.provenance, "hello", "virtual", HISTORY),
    "rerun_suspects": lambda run: commands.rerun_suspects(run.provenance, "a", "b", HISTORY),
    "accept_changes": lambda _: commands.accept_changes([3, 4], HISTORY),
    "site_init": lambda _: commands.site_init("my site"),
    "first_run": lambda _: commands.first_run("virtual"),
}


@pytest.fixture
def asked(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run of a campaign file with a check from outside the tree, on a named cluster, of a part of
    the campaign with builds of its own."""
    monkeypatch.chdir(tmp_path)
    path = Path("my campaigns") / "hello.yaml"
    path.parent.mkdir()
    path.write_text(CAMPAIGN.replace("[lam]", "[mpich, openmpi]"))
    run = load_run(
        write_run(tmp_path / "results/hello/r1", [case("startup", "mpich", {"ranks": 2})])
    )
    provenance = msgspec.structs.replace(
        run.provenance,
        asked=AsAsked(campaign=str(path), checks=[folder.name]),
        site=SiteAsRun(name="virtual", asked_as="virtual:demo", builds="spack"),
    )
    narrowed = {"environments": ["openmpi"], "checks": ["hello"], "nodes": 2, "scale": ["small"]}
    plan = msgspec.structs.replace(run.plan, narrowed=narrowed)
    return replace(run, plan=plan, provenance=provenance)


def parsed(command: str) -> Namespace:
    program, *words = shlex.split(command.removeprefix("cd 'my site' && "))
    assert program == "assay"
    return make_parser({*COMMANDS, *plugin_commands()}).parse_args(words)


def test_every_function_that_makes_a_command_is_run_here() -> None:
    made = {
        name
        for name, one in inspect.getmembers(commands, inspect.isfunction)
        if one.__annotations__.get("return") == "NextCommand" and not name.startswith("_")
        if name != "command"
    }
    assert made == {*CALLS}


def test_no_other_module_makes_or_shows_one() -> None:
    found = {
        str(file.relative_to(ROOT))
        for room in ("assay", "reports", "records", "virtual_cluster", "checks", "setup")
        for file in (ROOT / room).rglob("*.*")
        if file.suffix in (".py", ".sh") and "tests" not in file.parts
        if re.search(r"\bNextCommand\(|[\"'(]next: |[Nn]ext: (`|assay)", file.read_text())
    }
    shown = {"reports/render/terminal.py", "reports/render/markdown.py"}
    assert found == {"reports/commands.py", *shown}


@pytest.mark.parametrize("name", CALLS)
def test_the_parser_takes_every_command(name: str, asked: Run) -> None:
    told = parsed(CALLS[name](asked))
    assert ("hello" in CHECKS) == bool(getattr(told, "checks", None))


@pytest.mark.parametrize("name", ["run_again", "plan", "remedy"])
def test_a_campaign_is_planned_again_as_it_was(name: str, asked: Run) -> None:
    told = parsed(CALLS[name](asked))
    narrowing = narrowing_of(told)
    plan = make_plan(load_campaign(told.campaign), SITE, narrowing)
    assert [(one.check, one.environment) for one in plan.cases] == [("hello", "openmpi")]
    assert (told.site, told.builder, told.nodes) == ("virtual:demo", "spack", 2)
    assert narrowing.scale == "small"


def test_a_night_keeps_path_cluster_checks_and_history(asked: Run) -> None:
    told = parsed(CALLS["night_again"](asked))
    assert (told.campaign, told.site) == ("my campaigns/hello.yaml", "virtual:demo")
    assert load_campaign(told.campaign).name == "hello"
    assert told.history == Path(HISTORY)


def test_the_same_run_is_extended(asked: Run) -> None:
    told = parsed(CALLS["more_blocks"](asked))
    assert (told.resume, told.blocks, told.campaign) == ("r1", 5, None)


def test_a_run_of_an_earlier_assay_is_named_by_its_campaign(asked: Run) -> None:
    told = parsed(commands.run_again(replace(asked, provenance=Provenance())))
    assert (told.campaign, told.site) == (asked.plan.campaign, asked.plan.site)


@pytest.mark.parametrize(
    ("campaign", "blocks", "judged_by", "leads_to"),
    [("mine", 3, {"real": "standard"}, "assay accept "), ("mine", 1, {}, "assay run --resume ")],
)
def test_a_run_leads_on_by_its_kind(tmp_path, campaign, blocks, judged_by, leads_to) -> None:
    cases = [case("startup", name, {"ranks": 2}) for name in ("mpich", "lam")]
    run = load_run(write_run(tmp_path / "run", cases, blocks=blocks))
    plan = msgspec.structs.replace(run.plan, campaign=campaign, judged_by=judged_by)
    site = msgspec.structs.replace(run.provenance.site, virtual=False)
    provenance = msgspec.structs.replace(run.provenance, site=site)
    command = answer_of(analyse(replace(run, plan=plan, provenance=provenance))).command
    assert command.startswith(leads_to)
    assert "--criteria" not in command
    parsed(command)


def test_the_least_blocks_that_can_decide_are_proposed(tmp_path: Path) -> None:
    cases = [case("startup", name, {"ranks": 2}) for name in ("mpich", "lam")]
    run = load_run(write_run(tmp_path / "run", cases, blocks=1))
    assert parsed(answer_of(analyse(run)).command).blocks == 5
