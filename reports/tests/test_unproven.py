# SPDX-License-Identifier: Apache-2.0
"""Launches without evidence decide nothing silently: choice and acceptance count them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from assay.documents.report import build_report
from records.criteria import Criteria
from records.flags import MEANINGS, UNPROVEN
from reports.tests import acceptance_runs
from reports.tests.synthetic import case, write_run
from reports.verdicts.acceptance.wording import sentences

CRITERIA = """
schema: 1
name: c
title: t
criteria:
  - {id: hpl, kind: limit, title: HPL, check: hpl, metric: rate, at_least: 1, unit: flop/s}
"""


def unproven(record: dict[str, Any]) -> dict[str, Any]:
    return record | {"flags": [UNPROVEN]}


def test_a_choice_says_how_many_launches_are_unproven(tmp_path: Path) -> None:
    cases = [case("startup", name, {"ranks": 2}) for name in ("lam", "mpich")]
    run = write_run(tmp_path / "run", cases, blocks=6, edit=unproven)
    build_report(run)
    verdicts = json.loads((run / "report/verdicts.json").read_text())
    assert any(text.startswith("12 of 12 ok launches are unpr") for text in verdicts["summary"])


def test_an_acceptance_says_how_many_launches_are_unproven(tmp_path: Path) -> None:
    run = acceptance_runs.write_run(tmp_path / "run", checks=("hpl",))
    file = run / "records.jsonl"
    lines = [json.dumps(unproven(json.loads(line))) for line in file.read_text().splitlines()]
    file.write_text("".join(f"{line}\n" for line in lines))
    judged = acceptance_runs.dossier(run, Criteria.model_validate(yaml.safe_load(CRITERIA)))
    said = [one.text for one in sentences(judged)]
    assert f"5 of 5 launches are unproven: {MEANINGS[UNPROVEN]}." in said
