# SPDX-License-Identifier: Apache-2.0
"""`assay accept --against`: a run years later against the acceptance that was kept."""

from __future__ import annotations

import pytest

from assay.cli import main
from assay.documents import acceptance_files as store
from assay.tests.campaign_texts import CRITERIA
from assay.tests.published_forms import published
from reports.tests import acceptance_runs as runs


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A working folder with an accepted run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(store, "find_browser", lambda: None)
    (tmp_path / "mine.yaml").write_text(CRITERIA)
    runs.write_run(tmp_path / "results" / "a" / "20241120T000000Z-0001")
    assert main(["accept", "20241120", "--criteria", "mine.yaml"]) == 0
    return tmp_path


def later(place, *words, **machine):
    """Judge a later run against the accepted one; the exit status."""
    runs.write_run(place / "results" / "a" / "20261120T000000Z-0002", seed=2, **machine)
    asked = ["accept", "20261120", "--criteria", "mine.yaml", "--against", "20241120", *words]
    return main(asked)


def test_a_machine_as_it_was_keeps_ninety_per_cent(place, capsys):
    assert later(place) == 0
    assert "keep at least 90 % of what was accepted" in " ".join(capsys.readouterr().out.split())
    assert main(["verify", "20241120"]) == 0
    assert main(["verify", "20261120"]) == 0


def test_a_machine_that_lost_a_fifth_of_every_node_fails_though_its_nodes_are_alike(place, capsys):
    slow = dict.fromkeys(runs.NODES, 0.8)
    capsys.readouterr()
    assert later(place, "--json", slow_node=slow) == 1
    form = published("accept-against", capsys.readouterr().out)
    assert {row["verdict"] for row in form["rows"]} == {"FAIL"}
    assert all(row["low"] < 0.8 < row["high"] for row in form["rows"])


def test_at_least_is_a_share(place):
    slow = dict.fromkeys(runs.NODES, 0.8)
    assert later(place, "--at-least", "70%", slow_node=slow) == 0


def test_the_node_that_lost_most_is_named(place, capsys):
    later(place, slow_node={"n3": 0.93})
    assert "least at n3: " in " ".join(capsys.readouterr().out.split())


def test_an_acceptance_that_was_changed_or_is_none_is_refused(place, capsys):
    assert later(place, "--against", "20261120") in (2, 0)
    kept = place / "results" / "a" / "20241120T000000Z-0001" / "acceptance" / store.MACHINE
    kept.write_bytes(kept.read_bytes().replace(b"1000000000.0", b"2000000000.0"))
    capsys.readouterr()
    assert main(["accept", "20261120", "--against", "20241120"]) == 2
    assert "does not verify" in capsys.readouterr().err
    kept.unlink()
    assert main(["accept", "20261120", "--against", "20241120"]) == 2
    assert "has no acceptance to compare with" in capsys.readouterr().err
