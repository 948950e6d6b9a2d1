# SPDX-License-Identifier: Apache-2.0
"""The examples of continuous integration: they are YAML, and their commands are Assay's."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from assay.cli.main import make_parser

FOLDER = Path(__file__).parents[1] / "examples"
FILES = sorted(FOLDER.glob("*.yml"))
#: Keys below which commands stand.
COMMANDS = ("script", "before_script", "after_script", "run")


def commands(node: Any) -> list[str]:
    """Every line of shell of a pipeline."""
    if isinstance(node, list):
        return [line for one in node for line in commands(one)]
    found: list[str] = []
    for key, value in node.items() if isinstance(node, dict) else ():
        if key in COMMANDS:
            texts = value if isinstance(value, list) else [value]
            found += "\n".join(texts).splitlines()
        else:
            found += commands(value)
    return found


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_command_is_one_of_assay(file: Path) -> None:
    lines = commands(yaml.safe_load(file.read_text()))
    ours = [line for line in lines if re.match(r"(\S*/)?assay ", line)]
    assert {shlex.split(line)[1] for line in ours} >= {"run", "report", "nightly", "export"}
    for line in ours:
        words = shlex.split(line.partition(" || ")[0])[1:]
        arguments = make_parser([words[0]]).parse_args(words)
        assert arguments.command == words[0]
    others = {shlex.split(line)[0] for line in lines if line not in ours}
    assert others <= {"make", "export", "cat", "[", "}"}


def test_the_readme_names_every_example() -> None:
    text = (FOLDER / "README.md").read_text()
    assert len(FILES) == 2
    assert set(re.findall(r"`([\w.-]+\.(?:yml|json))`", text)) == {
        file.name for file in FOLDER.iterdir() if file.suffix in (".yml", ".json")
    }
