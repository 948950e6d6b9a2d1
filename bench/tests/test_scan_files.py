# SPDX-License-Identifier: Apache-2.0
"""Scans in files are loaded, judged and shown; who is bad is named, from all pairs or a sample."""

import dataclasses
from datetime import date

import numpy as np
import pytest

from bench.tests.claims.pair_scans import CRITERIA
from bench.tests.simulated.machines import Machine
from bench.tests.simulated.scan_files import BLOCKS, scanned
from records.errors import AssayError
from records.site.pair_scans import sampled_pairs
from reports.analysis.run import analyse
from reports.checks.alltoall_pairs import matrices
from reports.load.loading import load_run
from reports.verdicts.acceptance.judge import judge
from reports.verdicts.acceptance.values import CriterionEvidence, gather

NODES, ROUNDS = 160, 30
LOW, HIGH = sampled_pairs(NODES, ROUNDS, 1)
BAD = next((int(a), int(b)) for a, b in zip(LOW, HIGH, strict=True) if a > 40 and 77 not in (a, b))
MACHINE = Machine(NODES, interfaces={77: 0.85}, pairs={BAD: 0.8}, uplinks={0: 0.7})
NAMED = {f"pair n{BAD[0] + 1}–n{BAD[1] + 1}", "link n78", "cut n[1-40] and n[41-160]"}


@pytest.fixture(scope="module", params=[0, ROUNDS], ids=["all rounds", "30 rounds"])
def run(request, tmp_path_factory):
    directory = tmp_path_factory.mktemp("scan") / "20261120T235011Z-3f2a"
    scanned(directory, MACHINE, request.param, np.random.default_rng(3))
    return load_run(directory)


def told(evidence: CriterionEvidence) -> set[str]:
    judgement = judge(CRITERIA, evidence, date(2026, 11, 22), 0)
    return {f"{one.kind} {one.name}" for one in judgement.findings}


def test_the_bad_pair_interface_and_uplink_are_suspected_and_nobody_else(run):
    assert told(gather(run, [])) == NAMED


def test_a_re_run_asks_for_pairs_of_the_scan_only(run):
    judgement = judge(CRITERIA, gather(run, []), date(2026, 11, 22), 0)
    (pairs,) = judgement.rerun.values()
    scan = gather(run, []).scans[0].columns
    there = {f"{scan.names[a]}:{scan.names[b]}" for a, b in zip(scan.low, scan.high, strict=True)}
    assert {*pairs} <= there


def test_the_same_values_in_records_are_judged_alike(run):
    evidence = gather(run, [])
    scan = next(one for one in evidence.scans if one.metric == "pair_bandwidth")
    inside = [
        *(one for one in evidence.values if "pairs" not in one.at),
        *(scan.row(row) for row in range(len(scan.columns.low))),
    ]
    old = dataclasses.replace(evidence, values=inside, scans=())
    assert told(old) == NAMED


def test_of_a_large_machine_there_is_no_matrix(run):
    assert matrices(analyse(run), "pair_bandwidth") is None


def test_a_file_that_is_not_of_its_record_is_refused(run, tmp_path):
    scan = run.scans[0]
    (tmp_path / "points").mkdir()
    for name, _ in scan.files.values():
        data = bytearray((scan.directory / name).read_bytes())
        data[100] ^= 1
        (tmp_path / name).write_bytes(data)
    with pytest.raises(AssayError, match="is not the file of its record"):
        dataclasses.replace(scan, directory=tmp_path).columns("pair_bandwidth")


def test_a_limit_judges_the_least_of_a_scan_or_a_named_pair(run):
    evidence = gather(run, [])
    limit = CRITERIA.criteria[1]
    summary = limit.model_copy(update={"where": {"pairs": "least"}})
    (least,) = evidence.selected(summary)
    assert least.values.min() < 0.75 * 1.15e10
    bad = {"node": f"n{BAD[0] + 1}", "peer": f"n{BAD[1] + 1}"}
    (pair,) = evidence.selected(limit.model_copy(update={"where": bad}))
    assert len(pair.values) == BLOCKS and pair.place == tuple(bad.values())
