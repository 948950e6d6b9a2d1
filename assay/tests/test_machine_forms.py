# SPDX-License-Identifier: Apache-2.0
"""What `--json` prints is one object of the form that docs/schemas describes, for every command."""

from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.cli.main import COMMANDS, make_parser, plugin_commands
from assay.cli.report import end
from assay.run.status import run_status
from assay.tests.campaign_texts import CRITERIA
from assay.tests.published_forms import published
from records.errors import ExitStatus
from records.run.run_directory import open_run
from reports.tests import acceptance_runs, synthetic
from reports.tests.test_nightly_history import write_night

pytestmark = pytest.mark.usefixtures("believed")

#: The form that a command's words print: `told(words, status, form)`; by default the first word.
Told = Callable[..., Any]


def a_run(name: str, *, slower: float = 1.0) -> Path:
    placed = {"ranks": 2, "ranks_per_node": 1}
    cases = [synthetic.case("startup", name, placed) for name in ("mpich", "lam")]
    return synthetic.write_run(Path("results/quick") / name, cases, slower=slower)


def test_forms_of_a_run(told: Told, capsys, monkeypatch) -> None:
    monkeypatch.setattr("reports.render.html.svg_of", lambda *_: "")
    first, second = a_run("a"), a_run("b", slower=1.3)
    assert told(f"status {first}")["counts"]["lost"] == 0
    made = told(f"report {first} --format csv")
    assert made["files"] == {"csv": f"{first}/report/summary.csv"}
    assert len(made["ranking"]) == 2
    changes = told(f"compare {first} {second}")["changes"]
    assert {one["reading"] for one in changes} <= {"beyond launches", "not resolved"}
    assert changes[0]["ratio"] > 1.2
    for with_report in (False, True):
        capsys.readouterr()
        end(run_status(open_run(str(first))), ExitStatus.PASS, report=with_report, as_json=True)
        assert bool(published("run", capsys.readouterr().out)["report"]) is with_report
    older_plan = Path(__file__).parents[2] / "reports/tests/stored_run"
    assert told(f"status {older_plan}")["state"] == "stopped"


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
    accept = f"nightly accept-change {shown['changes'][0]['id']} --author me --reason new"
    assert told(accept, form="nightly-accept-change")["author"] == "me"
    states = [one["state"] for one in told("nightly show", form="nightly-show")["changes"]]
    assert states == ["accepted", "open"]


def test_forms_of_plans_and_an_acceptance(told: Told) -> None:
    Path("mine.yaml").write_text(CRITERIA)
    assert told("plan quick --site virtual:t-none")["campaign"] == "quick"
    run = acceptance_runs.write_run(Path("results/acceptance/r"), slow_node={"n2": 0.7})
    assert told(f"accept {run} --criteria mine.yaml", 3)["verdict"] in ("SUSPECT", "INCONCLUSIVE")
    assert told(f"verify {run}")["checks"]


#: Commands that act, or print what is a file itself; what they say is for people.
WITHOUT = {
    *("build", "checks", "schema", "nightly schedule", "cluster", "image", "export", "site folder"),
    *("site init", "site reframe", "reframe references", "reframe export"),
}


def options(parser: ArgumentParser, words: str = "") -> dict[str, set[str]]:
    """The options of a command, or of each of its subcommands."""
    for action in parser._actions:
        if isinstance(choices := action.choices, dict):
            below = (options(one, f"{words} {name}".strip()) for name, one in choices.items())
            return {name: found for each in below for name, found in each.items()}
    return {words: {name for action in parser._actions for name in action.option_strings}}


def test_every_command_that_tells_something_has_a_machine_form() -> None:
    found = options(make_parser({*COMMANDS, *plugin_commands()}))
    lacking = {words for words, named in found.items() if "--json" not in named}
    assert not {words for words in lacking if not {words, words.split()[0]} & WITHOUT}
