# SPDX-License-Identifier: Apache-2.0
"""Command lines of campaigns: what is run, what is read, what is refused."""

import shlex
from pathlib import Path
from typing import Any

import msgspec
import pytest

from checks.common import command
from checks.common.answer import Reading
from checks.common.command import CommandDefinition, expression_fault, placeholders, read
from checks.common.json_lines import OutputError
from records.metric import MetricDefinition
from records.run.brought import BroughtFile, Caught, CommandLine

RATE = MetricDefinition("triad", "bytes/s", "higher", "x")
HOSTILE = ["a b", "$(touch x)", "`id`", "'", '"; rm -rf x', "{ranks}", "a\nb", "-n", "*"]


def line(command: str = "./x {text}", **others: object) -> CommandLine:
    given: dict[str, Any] = {"title": "x", "command": command, "build": "", "launch": "mpi"}
    given |= {"ranks": 2, "ranks_per_node": "fill", "right": [], "wrong": []}
    given |= {"files": [brought(b"a")], "names": placeholders(command), "metrics": [caught("only")]}
    return CommandLine(**given | others)


def caught(choice: Any) -> Caught:
    return Caught(metric=RATE, find=r"^Triad: +(\S+)", factor=1e6, of=choice)


def brought(content: bytes) -> BroughtFile:
    return BroughtFile(name="in.x", content=content, executable=False)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_value_is_one_word_whatever_it_holds(text: str) -> None:
    check = CommandDefinition("x", line())
    params = check.parameters.model_validate({"text": text})
    words = check.words(params, 0, 1)
    assert words == ["./x", text]
    assert shlex.split(" ".join(map(shlex.quote, words))) == words


@pytest.mark.parametrize("shell", ["sh -c", "bash -ec", "srun /bin/sh -c"])
def test_no_value_gets_into_the_script_of_a_shell(shell: str) -> None:
    with pytest.raises(ValueError, match="as an argument"):
        placeholders(f"{shell} 'echo {{text}}'")
    assert placeholders(f"{shell} 'echo \"$1\"' - {{text}}") == ["text"]


@pytest.mark.parametrize("command", ["./x {", "./x 'a", "./x {a.b}", "./x {a:3}", "./x {0}", " "])
def test_a_command_that_cannot_be_read_is_refused(command: str) -> None:
    with pytest.raises(ValueError, match=r"braces|empty"):
        placeholders(command)


def test_the_number_of_nodes_follows_the_ranks() -> None:
    check = CommandDefinition("x", line("./x {nodes} {ranks} {ranks_per_node} {cpus_per_task}"))
    params = check.parameters.model_validate({"ranks": 5})
    assert check.words(params, 3, 2) == ["./x", "3", "5", "2", "3"]


def test_other_content_of_a_file_is_another_case() -> None:
    other = line(files=[brought(b"b")])
    assert CommandDefinition("x", line()).digest != CommandDefinition("x", other).digest


@pytest.mark.parametrize(
    ("choice", "value"),
    [
        *(("first", 3e6), ("last", 2e6), ("min", 1e6), ("max", 3e6), ("sum", 6e6), ("mean", 2e6)),
        ("each", 2e6),
    ],
)
def test_one_of_several_matches_is_chosen(choice: str, value: float) -> None:
    found = read(line(metrics=[caught(choice)]), "Triad: 3\nTriad: 1\nTriad: 2\n")
    assert found.wrong is None
    assert found.metrics[0].value == value
    assert found.metrics[0].samples == ([3e6, 1e6, 2e6] if choice == "each" else None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Trio: 3", "missing"),
        ("Triad: nan", "not a possible measurement"),
        ("Triad: inf", "not a possible measurement"),
        ("Triad: fast", "no number"),
        ("Triad: 1\nTriad: 2", "in lines 1, 2"),
        ('{"assay":"x","token":"Triad: 5"}', "missing"),
        ("x" * 5000 + "Triad: 5", "missing"),
    ],
)
def test_what_is_no_measurement_is_wrong(text: str, said: str) -> None:
    with pytest.raises(OutputError, match=said):
        read(line(), text)


def test_a_metric_is_read_from_the_stream_that_it_is_printed_on() -> None:
    asked = line(metrics=[msgspec.structs.replace(caught("only"), stream="stderr")])
    assert read(asked, "Triad: 1", errors=lambda: "Triad: 7").metrics[0].value == 7e6
    with pytest.raises(OutputError, match="no line of stderr matches"):
        read(asked, "x\nTriad: 1", errors=lambda: "trial")


def test_an_expression_that_must_or_must_not_match() -> None:
    asked = line(right=["^valid$"], wrong=["^ERROR"])
    good = "Triad: 1\nvalid"
    assert read(asked, good).wrong is None
    assert "must be there" in str(read(asked, "Triad: 1\ninvalid").wrong)
    found: Reading = read(asked, f"{good}\nERROR: lost atoms")
    assert found.wrong is not None
    assert "line 3" in found.wrong


def test_an_expression_that_runs_for_ever_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "LIMIT_S", 0.2)
    with pytest.raises(OutputError, match="nested repetitions"):
        read(line(right=["^(a+)+$"]), "Triad: 1\n" + "a" * 100 + "b")


@pytest.mark.parametrize(
    ("text", "said"), [("a(b", "at position 1"), *(("a", "0 groups"), ("(a)(b)", "2 groups"))]
)
def test_a_bad_expression_is_refused_with_its_place(text: str, said: str) -> None:
    assert said in str(expression_fault(text, 1))


def test_files_are_written_as_they_were(tmp_path: Path) -> None:
    CommandDefinition("x", line()).write_files(tmp_path)
    assert (tmp_path / "in.x").read_bytes() == b"a"
