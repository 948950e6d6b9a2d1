# SPDX-License-Identifier: Apache-2.0
"""Commands print, of stored runs and nights, the values that release c076f9e printed.

`values.tar.xz` has what it wrote, a file a command, and a history of seven nights, of which the
last ones are slow on n2. Sentences may differ; every key, number and verdict is compared. Keys
may be added. To renew a file after an intended change, write what the command prints in its place.
"""

from __future__ import annotations

import csv
import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest

from assay.cli import main
from assay.tests.test_accept_every_campaign import STORED, stored_run

#: Keys whose text is a sentence, a command or a date of this judgement.
WORDS = {
    *("answer", "summary", "sentence", "sentences", "text", "note", "title", "statement", "facts"),
    *("made_with", "judged_on", "what", "warnings", "because", "details", "unknown", "command"),
    *("label", "proposals"),
}
#: By file of `values.tar.xz`: the runs it needs, its command, its exit status.
PRINTED = {
    "accept": (["acceptance"], "accept acceptance --criteria standard --json", 1),
    "compare": (["measurements", "mpi-choice"], "compare measurements mpi-choice --json", 0),
    "predict": (["quick"], "predict quick --nodes 8 --json", 0),
    "paper": (["hypercube-1988"], "paper hypercube-1988 hypercube-1988 --json", 0),
    "history": ([], "history show --json", 0),
    "night": ([], "history check --json", 3),
}
REPORTED = ("quick", "hypercube-1988", "mpi-choice")


@pytest.fixture(scope="module")
def values(tmp_path_factory) -> Path:
    folder: Path = tmp_path_factory.mktemp("values")
    shutil.unpack_archive(STORED / "values.tar.xz", folder)
    return folder / "values"


def differences(old: Any, new: Any, place: str = "") -> list[str]:
    """Where two values differ, keys that came later and sentences aside."""
    if isinstance(old, dict) and isinstance(new, dict):
        lost = [f"{place}/{key} is missing" for key in old.keys() - new.keys()]
        both = [key for key in old.keys() & new.keys() if key not in WORDS]
        return lost + [one for k in both for one in differences(old[k], new[k], f"{place}/{k}")]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = enumerate(zip(old, new, strict=True))
        return [one for n, both in pairs for one in differences(*both, f"{place}[{n}]")]
    if isinstance(old, float) and isinstance(new, int | float):
        same = math.isclose(old, new, rel_tol=1e-9) or (math.isnan(old) and math.isnan(new))
        return [] if same else [f"{place}: {old} is {new}"]
    return [] if old == new else [f"{place}: {str(old)[:200]} is {str(new)[:200]}"]


def table(file: Path) -> list[dict[str, Any]]:
    def value(text: str) -> Any:
        try:
            return float(text)
        except ValueError:
            return text

    with file.open(newline="") as lines:
        return [{key: value(text) for key, text in row.items()} for row in csv.DictReader(lines)]


@pytest.mark.parametrize("name", PRINTED)
def test_a_command_prints_the_same_values(name, values, tmp_path, monkeypatch, capsys):
    runs, command, status = PRINTED[name]
    for run in runs:
        stored_run(run, tmp_path)
    monkeypatch.chdir(tmp_path)
    if not runs:
        (tmp_path / "results").mkdir()
        shutil.copy(values / "history.sqlite", tmp_path / "results")
    assert main(command.split()) == status
    printed = json.loads(capsys.readouterr().out)
    assert differences(json.loads((values / f"{name}.json").read_bytes()), printed) == []


@pytest.mark.parametrize("name", REPORTED)
def test_a_report_has_the_same_values(name, values, tmp_path):
    report = stored_run(name, tmp_path) / "report"
    assert main(["report", str(report.parent), "--format", "csv", "--format", "json"]) == 0
    old, new = (
        json.loads(f.read_bytes())
        for f in (values / f"{name}.verdicts.json", report / "verdicts.json")
    )
    assert differences(old, new) == []
    assert differences(table(values / f"{name}.summary.csv"), table(report / "summary.csv")) == []


def test_a_changed_value_and_a_lost_key_are_named():
    old = {"a": [1.0, {"b": "PASS"}], "note": "x", "c": 2}
    assert differences(old, {"a": [1.0 + 1e-12, {"b": "PASS"}], "note": "y", "c": 2, "d": 3}) == []
    assert differences(old, {"a": [1.1, {"b": "FAIL"}], "note": "x"}) == [
        "/c is missing",
        "/a[0]: 1.0 is 1.1",
        "/a[1]/b: PASS is FAIL",
    ]
