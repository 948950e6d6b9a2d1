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
from reports.tests.synthetic import case, chained, with_records, write_run
from reports.verdicts.acceptance.context import NOT_COUNTED
from reports.verdicts.acceptance.dossier import Dossier
from reports.verdicts.acceptance.summary import sentences

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
    assert "12 of 12 launches ran, but by Slurm's statement" in verdicts["answer"]["unknown"]


def judged(run: Path, marked: range, more: str = "") -> Dossier:
    """An acceptance of a run whose launches of blocks in `marked` are unproven."""
    acceptance_runs.write_run(run, checks=("hpl",))
    chained(with_records(run, lambda one: unproven(one) if one["block"] in marked else one))
    return acceptance_runs.dossier(run, Criteria.model_validate(yaml.safe_load(CRITERIA + more)))


def test_unproven_launches_neither_pass_nor_fail_a_machine(tmp_path: Path) -> None:
    found = judged(tmp_path / "run", range(1, 6))
    assert found.judgement.verdict == "INCONCLUSIVE"
    answers, hpl = found.judgement.criteria
    assert hpl.note == answers.items[0].note == f"5 {NOT_COUNTED}"
    assert not found.judgement.rerun
    said = [one.text for one in sentences(found)]
    assert f"5 of 5 launches are unproven: {MEANINGS[UNPROVEN]}." in said
    impossible = CRITERIA.replace("at_least: 1,", "at_least: 1.0e+30,")
    strict = Criteria.model_validate(yaml.safe_load(impossible))
    assert acceptance_runs.dossier(tmp_path / "run", strict).judgement.verdict == "INCONCLUSIVE"


def test_proven_launches_are_judged_without_the_unproven_ones(tmp_path: Path) -> None:
    answers, hpl = judged(tmp_path / "run", range(1, 3)).judgement.criteria
    assert (hpl.verdict, hpl.items[0].n) == ("PASS", 3)
    assert answers.verdict == "INCONCLUSIVE"


def test_criteria_can_accept_unproven_launches_and_the_document_says_so(tmp_path: Path) -> None:
    found = judged(tmp_path / "run", range(1, 6), "unproven: accept\n")
    assert found.judgement.verdict == "PASS"
    said = [one.text for one in sentences(found)]
    assert "The criteria accept unproven launches: verdicts rest on them." in said
