# SPDX-License-Identifier: Apache-2.0
"""What `--json` prints is one object of the form that docs/schemas describes, for every command."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
import yaml

from assay.cli import main
from assay.cli.commands import COMMANDS
from assay.cli.parser import make_parser
from assay.cli.report import end
from assay.cli.schema import FORMS, form_schema
from assay.criteria.risks import PlanRisksForm, Risk
from assay.documents import acceptance_files as store
from assay.documents import report
from assay.onboarding.check import SiteChangePart, SiteCheckForm
from assay.onboarding.init import SiteInitForm
from assay.onboarding.proof import EnvironmentProof, PartitionProof, Proof
from assay.plan import make_plan
from assay.run.status import run_status
from assay.schema import load_campaign
from assay.sites.site_file import site_file
from assay.tests.campaign_texts import CRITERIA, SITE
from assay.tests.test_accept_every_campaign import stored_run
from records.errors import ExitStatus
from records.forms import as_text
from records.run.run_directory import open_run
from reports.tests import acceptance_runs, synthetic
from reports.tests.advice_machine import Machine, curves_run, profile_of
from reports.tests.scaling_machine import machine_run
from reports.tests.test_nightly_history import write_night

Capture = pytest.CaptureFixture[str]


def validated(form: str, text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    jsonschema.Draft202012Validator(form_schema(form)).validate(found)
    assert isinstance(found["schema"], int)
    return found


def told(capsys: Capture, form: str, *words: str, status: int = 0) -> dict[str, Any]:
    capsys.readouterr()
    assert main([*words, "--json"]) == status, capsys.readouterr().err
    return validated(form, capsys.readouterr().out)


def cases() -> list[dict[str, Any]]:
    return [
        synthetic.case("startup", name, {"ranks": 2, "ranks_per_node": 1})
        for name in ("mpich", "lam")
    ]


def a_run(name: str, *, slower: float = 1.0) -> str:
    run = synthetic.write_run(Path("results/quick") / name, cases(), slower=slower)
    (run / "campaign.yaml").write_text("schema: 1\n")
    return str(run)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for printer in (store, report):
        monkeypatch.setattr(printer, "find_browser", lambda: None)
    return tmp_path


def test_forms_of_a_run(place: Path, capsys: Capture) -> None:
    first, second = a_run("a"), a_run("b", slower=1.3)
    assert told(capsys, "status", "status", first)["counts"]["lost"] == 0
    made = told(capsys, "report", "report", first, "--format", "csv")
    assert made["files"] == {"csv": f"{first}/report/summary.csv"}
    assert len(made["ranking"]) == 2
    changes = told(capsys, "compare", "compare", first, second)["changes"]
    assert {one["reading"] for one in changes} <= {"beyond launches", "not resolved"}
    assert changes[0]["ratio"] > 1.2
    claims = told(capsys, "paper", "paper", "2003", first)["claims"]
    assert "cannot be tested here" in {one["verdict"] for one in claims}
    capsys.readouterr()
    end(run_status(open_run(first)), ExitStatus.PASS, report=False, as_json=True)
    assert validated("run", capsys.readouterr().out)["report"] is None
    end(run_status(open_run(first)), ExitStatus.PASS, report=True, as_json=True)
    assert validated("run", capsys.readouterr().out)["report"]["answer"]["sentence"]


def test_the_form_of_an_advice(place: Path, capsys: Capture) -> None:
    run = str(curves_run(Path("results/quick/curves")))
    (Path(run) / "campaign.yaml").write_text("schema: 1\n")
    Path("halo.json").write_text(as_text(profile_of()))
    words = ("advise", "halo.json", "--run", run)
    found = told(capsys, "advise", *words, "--html", "halo.html", "--pictures", "pictures")
    first, *others = found["environments"]
    assert {one["environment"] for one in found["environments"]} == {"openmpi", "lam", "mpich"}
    # They differ by less than curves of so few lengths tell.
    assert sorted(first["tied_with"]) == sorted(one["environment"] for one in others)
    assert found["confirm"]["command"].startswith("assay plan quick ")
    assert "wide-advice" in Path("halo.html").read_text()
    assert not told(capsys, "advise", *words, "--ranks", "999", status=3)["environments"]
    for wrong in (("--sizes", "0"), ("--sizes", "nan"), ("--ranks", "1"), ("--environment", "x")):
        assert main([*words, *wrong]) == 2


def test_tunings_of_a_library_are_ranked_like_libraries(place: Path, capsys: Capture) -> None:
    """By real curves, for messages between the limits of 64 and 128 KiB."""
    run = str(stored_run("wyeast-2003", place))
    slow = Machine(alpha_s=2e-3, beta_s_per_byte=0.0)
    mix = (("Send", 98304, 1000),)
    profile = profile_of(mix, slow, ranks=2, compute_s=0.1, environment="lam")
    Path("long.json").write_text(as_text(profile))
    found = told(capsys, "advise", "advise", "long.json", "--run", run)
    order = [one["environment"] for one in found["environments"]]
    assert {"mpich", "mpich-40k"} < {*order}
    assert order.index("lam-128k") < order.index("lam")


def test_the_form_of_a_prediction(place: Path, capsys: Capture) -> None:
    run = str(machine_run(Path("results/quick/machine"), (1, 2, 4)))
    (Path(run) / "campaign.yaml").write_text("schema: 1\n")
    words = ("predict", run, "--nodes", "64", "--leave-out", "4", "--pictures", "pictures")
    found = told(capsys, "predict", *words)
    assert (found["held_out"], len(found["pictures"])) == (2, 2)
    assert all(Path(path).stat().st_size > 1000 for path in found["pictures"])
    assert main(list(words)) == 0
    shown = capsys.readouterr().out
    assert f"{found['inside']} of 2 measured points that were left out lie in" in shown
    assert told(
        capsys,
        "predict",
        "predict",
        run,
        "--nodes",
        "1000",
        "--leave-out",
        "2",
        "--leave-out",
        "4",
        status=3,
    )["missing"]
    for wrong in (
        (),
        ("--nodes", "0"),
        ("--leave-out", "3"),
        ("--nodes", "2", "--environment", "x"),
    ):
        assert main(["predict", run, *wrong]) == 2


def test_forms_of_a_history(place: Path, capsys: Capture) -> None:
    for number in range(1, 13):
        run = write_night(place, number)
        added = told(capsys, "history-add", "history", "add", str(run))
        assert (added["campaign"], added["launches"]["ok"]) == ("quick", 10)
    assert told(capsys, "night", "history", "check")["answer"]["state"] == "pass"
    slow = write_night(place, 13, slower=1.2, kernel="6.2")
    told(capsys, "history-add", "history", "add", str(slow))
    assert told(capsys, "night", "history", "check", status=3)["findings"]
    again = write_night(place, 13, slower=1.2, kernel="6.2", suffix="b")
    told(capsys, "history-add", "history", "add", str(again), "--rerun-of", slow.name)
    assert told(capsys, "night", "history", "check", status=1)["findings"][0]["change"]
    shown = told(capsys, "history-show", "history", "show")
    assert [one["nights"] for one in shown["groups"]] == [13]
    assert [one["state"] for one in shown["changes"]] == ["open", "open"]
    numbers = [str(one["id"]) for one in shown["changes"]]
    silent = told(capsys, "history-silent", "history", "silent", status=1)["campaigns"]
    assert [one["silent"] for one in silent] == [True]
    accept = ["history", "accept-change", *numbers, "--author", "me", "--reason", "new"]
    assert told(capsys, "history-accept-change", *accept)["author"] == "me"
    assert told(capsys, "history-show", "history", "show")["changes"][0]["state"] == "accepted"


def test_forms_of_an_acceptance(place: Path, capsys: Capture) -> None:
    (place / "mine.yaml").write_text(CRITERIA)
    run = str(acceptance_runs.write_run(place / "results/acceptance/r", slow_node={"n2": 0.7}))
    judged = told(capsys, "accept", "accept", run, "--criteria", "mine.yaml", status=3)
    assert judged["verdict"] in ("SUSPECT", "INCONCLUSIVE")
    assert told(capsys, "verify", "verify", run)["checks"]


def test_forms_of_plans(capsys: Capture) -> None:
    plan = make_plan(load_campaign("quick"), SITE).to_json()
    validated("plan", plan)
    risk = Risk("good", True, 0.01, 19, 0, 0.5, 20, [])
    validated("plan-risks", as_text(PlanRisksForm(plan=json.loads(plan), risks=[risk])))


def test_forms_of_checks_and_requirements(capsys: Capture) -> None:
    checks = told(capsys, "checks", "checks")["checks"]
    for one in checks:
        told(capsys, "check", "checks", one["name"])
    capsys.readouterr()
    assert main(["doctor", "--json"]) in (0, 4)
    assert validated("doctor", capsys.readouterr().out)["findings"]


def test_forms_of_a_proven_site() -> None:
    batch = PartitionProof(nodes={}, environments={"mpich": EnvironmentProof()})
    proof = msgspec.to_builtins(Proof(work_dir="/scratch", partitions={"batch": batch}))
    changes = [SiteChangePart("library", None, "MPICH 4.1")]
    text = as_text(SiteCheckForm(site="x", faults=["fault"], changes=changes, proof=proof))
    assert validated("site-check", text)["changes"][0]["now"] == "MPICH 4.1"
    file = site_file("virtual")
    written = SiteInitForm(
        site="virtual",
        file=str(file),
        description=yaml.safe_load(file.read_text()),
        left_out={"lam": "mpicc: not found"},
        proof=proof,
    )
    assert validated("site-init", as_text(written))["site"] == "virtual"


def test_an_older_plan_is_still_read_by_status(capsys: Capture) -> None:
    stored = Path(__file__).parents[2] / "reports/tests/stored_run"
    assert told(capsys, "status", "status", str(stored))["state"] == "stopped"


#: Commands that act, or print what is a file itself; what they say is for people.
WITHOUT = {
    *("build", "mirror create", "schema", "completion", "nightly install", "cluster", "export"),
    "init",
}


def options(parser: ArgumentParser, words: str) -> dict[str, set[str]]:
    """The options of a command, or of each of its subcommands."""
    for action in parser._actions:
        if isinstance(choices := action.choices, dict):
            return {
                k: v for n, one in choices.items() for k, v in options(one, f"{words} {n}").items()
            }
    return {words: {name for action in parser._actions for name in action.option_strings}}


def test_every_command_that_tells_something_has_a_machine_form() -> None:
    parser = make_parser(COMMANDS)
    (commands,) = (a.choices for a in parser._actions if isinstance(a.choices, dict))
    lacking = {
        words
        for name, one in commands.items()
        for words, found in options(one, name).items()
        if "--json" not in found
    }
    left = {words for words in lacking if words not in WITHOUT and words.split()[0] not in WITHOUT}
    assert left == set()
    assert "cluster status" not in lacking
    assert len(FORMS) >= 20
