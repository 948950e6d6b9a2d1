# SPDX-License-Identifier: Apache-2.0
"""What `--json` prints is one object of the form that docs/schemas describes, for every command."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.cli import main
from assay.cli.commands import COMMANDS
from assay.cli.parser import make_parser
from assay.cli.report import end
from assay.documents import acceptance_files as store
from assay.documents import report
from assay.run.status import run_status
from assay.tests.campaign_texts import CRITERIA
from assay.tests.published_forms import published
from plugins.predict.tests.scaling_machine import machine_run
from records.errors import ExitStatus
from records.run.run_directory import open_run
from reports.tests import acceptance_runs, synthetic
from reports.tests.test_nightly_history import write_night

pytestmark = pytest.mark.usefixtures("believed")

Capture = pytest.CaptureFixture[str]
#: The form that a command's words print: `told(words, status, form)`; by default the first word.
Told = Callable[..., Any]


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> Told:
    """A teller, in an empty working folder."""
    monkeypatch.chdir(tmp_path)
    for printer in (store, report):
        monkeypatch.setattr(printer, "find_browser", lambda: None)

    def form(words: str, status: int = 0, form: str = "") -> Any:
        capsys.readouterr()
        assert main([*words.split(), "--json"]) == status, words
        return published(form or words.split(maxsplit=1)[0], capsys.readouterr().out)

    return form


def a_run(name: str, *, slower: float = 1.0) -> Path:
    placed = {"ranks": 2, "ranks_per_node": 1}
    cases = [synthetic.case("startup", name, placed) for name in ("mpich", "lam")]
    return synthetic.write_run(Path("results/quick") / name, cases, slower=slower)


def test_forms_of_a_run(told: Told, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reports.render.html.svg_of", lambda *_: "")
    first, second = a_run("a"), a_run("b", slower=1.3)
    assert told(f"status {first}")["counts"]["lost"] == 0
    made = told(f"report {first} --format csv")
    assert made["files"] == {"csv": f"{first}/report/summary.csv"}
    assert len(made["ranking"]) == 2
    changes = told(f"compare {first} {second}")["changes"]
    assert {one["reading"] for one in changes} <= {"beyond launches", "not resolved"}
    assert changes[0]["ratio"] > 1.2
    assert told(f"paper 2003 {first}")["claims"]
    for with_report in (False, True):
        capsys.readouterr()
        status = run_status(open_run(str(first)))
        end(status, ExitStatus.PASS, report=with_report, as_json=True)
        assert bool(published("run", capsys.readouterr().out)["report"]) is with_report
    older_plan = Path(__file__).parents[2] / "reports/tests/stored_run"
    assert told(f"status {older_plan}")["state"] == "stopped"


def test_the_form_of_a_prediction(told: Told, capsys: Capture) -> None:
    words = f"predict {machine_run(Path('results/quick/machine'), (1, 2, 4))}"
    further = "--nodes 64 --leave-out 4 --pictures pictures"
    found = told(f"{words} {further}")
    assert (found["held_out"], len(found["pictures"])) == (2, 2)
    assert all(Path(path).stat().st_size > 1000 for path in found["pictures"])
    assert main(f"{words} {further}".split()) == 0
    assert f"{found['inside']} of 2 measured points that were left" in capsys.readouterr().out
    assert told(f"{words} --nodes 1000 --leave-out 2 --leave-out 4", 3)["missing"]
    for wrong in ("", "--nodes 0", "--leave-out 3", "--nodes 2 --environment x"):
        assert main(f"{words} {wrong}".split()) == 2


def test_forms_of_a_history(told: Told) -> None:
    def night(number: int, words: str = "", **how: Any) -> str:
        run = write_night(Path.cwd(), number, **how)
        added = told(f"nightly add {run} {words}", form="nightly-add")
        assert (added["campaign"], added["launches"]["ok"]) == ("quick", 10)
        return str(run.name)

    for number in range(1, 13):
        night(number)
    assert told("nightly check", form="night")["answer"]["state"] == "pass"
    slow = night(13, slower=1.2, kernel="6.2")
    assert told("nightly check", 3, "night")["findings"]
    night(13, f"--rerun-of {slow}", slower=1.2, kernel="6.2", suffix="b")
    assert told("nightly check", 1, "night")["findings"][0]["change"]
    shown = told("nightly show", form="nightly-show")
    assert [one["nights"] for one in shown["groups"]] == [13]
    assert [one["state"] for one in shown["changes"]] == ["open", "open"]
    assert told("nightly silent", 1, "nightly-silent")["campaigns"][0]["silent"]
    accept = f"nightly accept-change {shown['changes'][0]['id']} --author me --reason new"
    assert told(accept, form="nightly-accept-change")["author"] == "me"
    states = [one["state"] for one in told("nightly show", form="nightly-show")["changes"]]
    assert states == ["accepted", "open"]


def test_forms_of_plans_and_an_acceptance(told: Told) -> None:
    Path("mine.yaml").write_text(CRITERIA)
    assert told("plan quick --site virtual:t-none")["campaign"] == "quick"
    risks = "plan acceptance --site virtual:t-none --checks node --criteria mine.yaml"
    assert told(risks, form="plan-risks")["risks"]
    run = acceptance_runs.write_run(Path("results/acceptance/r"), slow_node={"n2": 0.7})
    judged = told(f"accept {run} --criteria mine.yaml", 3)
    assert judged["verdict"] in ("SUSPECT", "INCONCLUSIVE")
    assert told(f"verify {run}")["checks"]


#: Commands that act, or print what is a file itself; what they say is for people.
WITHOUT = {
    *("build", "mirror create", "schema", "completion", "nightly install", "cluster", "export"),
    "init",
}


def options(parser: ArgumentParser, words: str = "") -> dict[str, set[str]]:
    """The options of a command, or of each of its subcommands."""
    for action in parser._actions:
        if isinstance(choices := action.choices, dict):
            below = (options(one, f"{words} {name}".strip()) for name, one in choices.items())
            return {name: found for each in below for name, found in each.items()}
    return {words: {name for action in parser._actions for name in action.option_strings}}


def test_every_command_that_tells_something_has_a_machine_form() -> None:
    found = options(make_parser(COMMANDS))
    lacking = {words for words, named in found.items() if "--json" not in named}
    assert not {words for words in lacking if not {words, words.split()[0]} & WITHOUT}
    assert "cluster status" in {*found} - lacking
