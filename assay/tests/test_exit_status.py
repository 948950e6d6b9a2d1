# SPDX-License-Identifier: Apache-2.0
"""Exit statuses: each is what a real command ends with, and the same in help and README; an empty
value is an error of usage, and a defect is no verdict."""

import argparse
import subprocess
import sys
from pathlib import Path

import pytest

from assay import ROOT
from assay.cli import main
from assay.cli.main import make_parser
from assay.tests.test_runs import small_run
from records.errors import ExitStatus

ASSAY = str(Path(sys.executable).with_name("assay"))


def ended(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ASSAY, *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (ExitStatus.PASS, ("status", "results/quick/good")),
        (ExitStatus.FAIL, ("status", "results/quick/bad")),
        (ExitStatus.BAD_INPUT, ("plan", "no-campaign")),
        (ExitStatus.BAD_INPUT, ("plan", "--no-option")),
        (ExitStatus.INCONCLUSIVE, ("predict", "results/quick/good", "--nodes", "64")),
        (ExitStatus.INFRASTRUCTURE, ("run", "quick", "--site", "virtual:t-none")),
    ],
)
@pytest.mark.plugins("contract", "papers", "predict", "profile", "reframe", "vetting")
def test_a_command_ends_with_this_status(tmp_path: Path, status, words) -> None:
    small_run(tmp_path / "results/quick/good")
    small_run(tmp_path / "results/quick/bad", failed=True)
    answer = ended(tmp_path, *words)
    assert answer.returncode == status, answer.stderr
    assert "Traceback" not in answer.stderr


def test_help_and_readme_say_the_same_of_each_status(tmp_path: Path) -> None:
    told = " ".join(ended(tmp_path, "--help").stdout.split())
    readme = " ".join((ROOT / "README.md").read_text().split())
    for status in ExitStatus:
        assert f"{status:d} {status.meaning}" in told
        assert f"{status:d} {status.meaning}" in readme


def options(command: str) -> list[str]:
    (below,) = [
        action.choices[command]
        for action in make_parser([command])._actions
        if isinstance(action, argparse._SubParsersAction)
    ]
    return [
        one.option_strings[-1] for one in below._actions if one.option_strings and one.nargs != 0
    ]


@pytest.mark.parametrize(
    "command", ["run", "plan", "report", "compare", "accept", "export", "predict"]
)
@pytest.mark.parametrize("form", [lambda o: [o, ""], lambda o: [f"{o}="]])
@pytest.mark.plugins("contract", "papers", "predict", "profile", "reframe", "vetting")
def test_no_option_takes_an_empty_value(command, form, said) -> None:
    assert "an argument has an empty value" in said(2, command, "")
    assert options(command)
    for option in options(command):
        assert f"assay: {option} has an empty value" in said(2, command, *form(option))


def test_a_defect_is_no_verdict(monkeypatch, capsys) -> None:
    def broken(_):
        raise KeyError("planted")

    monkeypatch.setattr(sys.modules["assay.cli.main"], "make_parser", broken)
    assert main(["status"]) == 4
    told = capsys.readouterr().err
    assert "KeyError: 'planted'" in told
    assert "a defect of assay, not a verdict" in told
