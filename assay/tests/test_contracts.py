# SPDX-License-Identifier: Apache-2.0
"""Contracts: the file, the log, and what is refused before anything runs."""

from __future__ import annotations

import json

import jsonschema
import pytest
import yaml

from assay.cli import main
from assay.contracts.loading import SCHEMA_FILE, contract_from_text, contract_schema, load_contract
from records.contract.log import CONTRACTS, open_contract
from records.errors import AssayError

CONTRACT = """\
schema: 1
name: mine
title: A contract
stages:
  - name: nodes
    title: Every node computes
    campaign: acceptance
    checks: [node]
    criteria:
      - {id: dgemm, kind: limit, title: Rate, check: node, metric: dgemm_rate, at_least: 1,
         unit: flop/s}
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text(CONTRACT)
    return tmp_path


def test_the_schema_is_current_and_takes_the_shipped_contracts():
    assert json.loads(SCHEMA_FILE.read_text()) == contract_schema(), "run make schema"
    for name in ("small",):
        _, text, _ = load_contract(name)
        jsonschema.Draft202012Validator(contract_schema()).validate(yaml.safe_load(text))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("campaign: acceptance", "campaigns: acceptance", "mine.yaml:7: stages[0].campaigns"),
        ("unit: flop/s", "unit: Gflop/s", "mine.yaml:11: stages[0].criteria[0].unit"),
        ("metric: dgemm_rate", "metric: dgemm", "mine.yaml:10: stages[0].criteria[0].metric"),
        ("stages:\n", "stages: []\nx:\n", "stages"),
    ],
)
def test_a_fault_is_named_with_its_place_and_nothing_is_started(place, capsys, old, new, told):
    (place / "mine.yaml").write_text(CONTRACT.replace(old, new))
    assert main(["acceptance", "start", "mine.yaml"]) == 2
    assert told in capsys.readouterr().err
    assert not CONTRACTS.exists()


def test_a_started_contract_shows_its_stages(place, capsys):
    assert main(["acceptance", "start", "mine.yaml"]) == 0
    capsys.readouterr()
    assert main(["acceptance", "status"]) == 0
    assert "NOT RUN" in capsys.readouterr().out


def test_a_changed_or_shortened_log_is_refused(place):
    assert main(["acceptance", "start", "mine.yaml"]) == 0
    folder = open_contract("mine")
    folder.append("signed", by="A. Buyer", role="Buyer")
    lines = folder.log.read_bytes().splitlines(keepends=True)
    for damaged in (lines[0], lines[0] + lines[1].replace(b"Buyer", b"Bayer")):
        folder.log.write_bytes(damaged)
        with pytest.raises(AssayError, match=r"log.jsonl"):
            folder.entries()
    folder.log.write_bytes(b"".join(lines) + b'{"torn')
    folder.append("signed", by="B. Vendor", role="Vendor")
    assert [one.by for one in folder.entries()] == ["", "A. Buyer", "B. Vendor"]


def test_the_contract_of_a_started_folder_cannot_be_changed(place):
    assert main(["acceptance", "start", "mine.yaml"]) == 0
    folder = open_contract(None)
    folder.file.write_text(CONTRACT.replace("at_least: 1,", "at_least: 0,"))
    with pytest.raises(AssayError, match=r"contract\.yaml"):
        folder.entries()


def test_a_stage_needs_a_campaign_or_a_period():
    with pytest.raises(AssayError, match="needs a campaign with criteria, or stability"):
        contract_from_text("c", CONTRACT.replace("    campaign: acceptance\n", ""))
