# SPDX-License-Identifier: Apache-2.0
"""An empty value is an error of usage, and a defect is no verdict: exit statuses 2 and 4."""

import argparse
import sys

import pytest

from assay.cli import main
from assay.cli.parser import make_parser


def options(command):
    """Every option of a command that takes a value."""
    (below,) = [
        action.choices[command]
        for action in make_parser([command])._actions
        if isinstance(action, argparse._SubParsersAction)
    ]
    return [
        one.option_strings[-1] for one in below._actions if one.option_strings and one.nargs != 0
    ]


COMMANDS = ("run", "plan", "report", "compare", "accept", "export", "predict")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("form", [lambda o: [o, ""], lambda o: [f"{o}="]])
def test_no_option_takes_an_empty_value(command, form, capsys):
    found = options(command)
    assert found
    for option in found:
        assert main([command, *form(option)]) == 2
        assert f"assay: {option} has an empty value" in capsys.readouterr().err


def test_no_argument_is_empty(capsys):
    assert main(["run", ""]) == 2
    assert "an argument has an empty value" in capsys.readouterr().err


def test_a_defect_is_no_verdict(monkeypatch, capsys):
    def broken(_):
        raise KeyError("planted")

    monkeypatch.setattr(sys.modules["assay.cli.main"], "make_parser", broken)
    assert main(["status"]) == 4
    told = capsys.readouterr().err
    assert "KeyError: 'planted'" in told
    assert "a defect of assay, not a verdict" in told
