# SPDX-License-Identifier: Apache-2.0
"""Nights of a history: what fails is told and kept, and what was found before it is not lost."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from assay.cli import main
from assay.nightly import judging
from records.errors import InfrastructureError
from records.history.model import Missed
from records.history.store import Store
from reports.tests.synthetic import chained
from reports.tests.test_nightly_history import write_night

Capture = pytest.CaptureFixture[str]
HISTORY = Path("results/history.sqlite")
NIGHTLY = ["nightly", "run", "--campaign", "quick", "--site", "virtual"]
pytestmark = pytest.mark.usefixtures("folder")


@pytest.mark.parametrize("error", [InfrastructureError("n3: drained"), OSError(28, "disk full")])
def test_a_regression_is_told_though_it_cannot_be_run_again_elsewhere(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    for number in range(1, 13):
        assert main(["nightly", "add", str(write_night(Path.cwd(), number))]) == 0
    slow = write_night(Path.cwd(), 13, slower=1.2)
    provenance = json.loads((slow / "provenance.json").read_bytes())
    provenance["site"]["nodes"] = 8
    (slow / "provenance.json").write_text(json.dumps(provenance))
    chained(slow)
    assert main(["nightly", "add", str(slow)]) == 0
    again = write_night(Path.cwd(), 13, slower=1.2, suffix="b")
    assert main(["nightly", "add", str(again), "--rerun-of", slow.name]) == 0
    monkeypatch.setattr(judging, "start_run", Mock(side_effect=error))
    capsys.readouterr()
    assert main(["nightly", "check", "--rerun", "--json"]) == 4
    told = capsys.readouterr()
    assert told.err == f"assay: not run again: {error}\n"
    night = json.loads(told.out)
    assert (night["verdict"], night["exit_status"]) == ("FAIL", 4)
    assert Path("results/quick-nightly-virtual/index.html").is_file()


def test_a_night_that_ran_and_cannot_be_added_is_told(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = write_night(Path.cwd(), 1)
    (run / "records.jsonl").write_bytes(b"{\n" * 2)
    started = SimpleNamespace(run_id=run.name)
    monkeypatch.setattr("assay.cli.nightly.start_run", lambda *_: started)
    assert main(NIGHTLY) == 2
    assert "records.jsonl" in capsys.readouterr().err


def test_a_secret_in_the_reason_of_a_missed_night_is_withheld_everywhere(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = InfrastructureError("sbatch: HUB_TOKEN=geheim was not taken")
    monkeypatch.setattr("assay.cli.nightly.start_run", Mock(side_effect=error))
    assert main(NIGHTLY) == 4
    with Store(HISTORY) as store:
        (missed,) = store.missed(None, None)
        # A history written before keeps the text as it was.
        store.add_missed(Missed("virtual", "quick", "2026-01-01T02:00:00Z", "HUB_TOKEN=geheim"))
    assert missed.reason == "sbatch: HUB_TOKEN=(withheld: looks like a secret) was not taken"
    capsys.readouterr()
    for words in ("show", "show --json"):
        main(["nightly", *words.split()])
    said = " ".join(capsys.readouterr().out.split())
    assert said.count("HUB_TOKEN=(withheld: looks like a secret)") == 4
    assert "geheim" not in said
    assert "secret) looks" not in said


@pytest.mark.parametrize("path", ["/", "."])
def test_a_history_that_is_a_folder_is_one_message(path: str, capsys: Capture) -> None:
    assert main(["nightly", "run", "--campaign", "none", "--history", path]) == 2
    assert f"{path}: is no regular file" in capsys.readouterr().err
