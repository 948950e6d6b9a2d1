# SPDX-License-Identifier: Apache-2.0
"""Scans in files are loaded, judged and shown; who is bad is named, from all pairs or a sample.

Files are written as the program would; each further step is the product's own: the file's checks,
the table, the records, the report's loading, the judgement. Machines have leaf switches of 40
nodes; launches scatter by 1 %.
"""

import dataclasses
import shutil
from datetime import date
from hashlib import sha256

import msgspec
import numpy as np
import pytest

from assay.sites.site import SiteFacts
from assay.tests.campaign_texts import plan_of
from bench.tests.claims.acceptance import SCAN_CRITERIA
from bench.tests.simulated.machines import Machine, write_program_file
from checks.alltoall_pairs import CHECK, FILE
from checks.alltoall_pairs.run import TABLE, read_file
from checks.common.evidence import Evidence, RankFacts
from checks.common.json_lines import Output
from records.errors import AssayError
from records.run.record import CHECKSUM
from records.site.pair_scans import ARTIFACT, FOLDER, sampled_pairs
from reports.analysis.run import analyse
from reports.checks.alltoall_pairs import matrices
from reports.load.loading import load_run
from reports.tests.synthetic import changed, write_run
from reports.verdicts.acceptance.judge import judge
from reports.verdicts.acceptance.values import gather

NODES, ROUNDS = 160, 30
LOW, HIGH = sampled_pairs(NODES, ROUNDS, 1)
BAD = next((int(a), int(b)) for a, b in zip(LOW, HIGH, strict=True) if a > 40 and 77 not in (a, b))
MACHINE = Machine(NODES, interfaces={77: 0.85}, pairs={BAD: 0.8}, uplinks={0: 0.7})
NAMED = {f"pair n{BAD[0] + 1}–n{BAD[1] + 1}", "link n78", "cut n[1-40] and n[41-160]"}
BLOCKS = 5
CAMPAIGN = """\
schema: 1
name: scan
question: Is every link like the others?
environments: [mpich]
blocks: {BLOCKS}
seed: 1
cases: [{{check: alltoall_pairs, fixed: {{nodes: all, rounds: {rounds}, column_file: true}}}}]
"""
SITE = SiteFacts("simulated", NODES, 8, 2**34, {"mpich": {"mpi"}})


@pytest.fixture(scope="module", params=[0, ROUNDS], ids=["all rounds", "30 rounds"])
def run(request, tmp_path_factory):
    """A run of a scan."""
    directory = tmp_path_factory.mktemp("scan") / "20261120T235011Z-3f2a"
    plan = plan_of(CAMPAIGN.format(BLOCKS=BLOCKS, rounds=request.param), SITE)
    (case,) = plan.cases
    params = CHECK.parameters.model_validate(case.params)
    (directory / FOLDER).mkdir(parents=True)
    ranks = [RankFacts(rank, name, [0], name) for rank, name in enumerate(MACHINE.names)]
    stage, rng = tmp_path_factory.mktemp("stage"), np.random.default_rng(3)
    low, high = sampled_pairs(NODES, request.param, params.seed)

    def launch(record):
        said = write_program_file(stage / FILE, MACHINE, low, high, rng)
        output = Output(evidence=Evidence("", "", ranks, []), notes={"pair_file": said})
        reading = read_file(CHECK, params, output, stage, MACHINE.tree)
        name = f"{FOLDER}/{case.id}.b{record['block']}.a1.parquet"
        shutil.move(stage / TABLE, directory / name)
        checksum = sha256((directory / name).read_bytes()).hexdigest()
        artifacts = {ARTIFACT: name, f"{ARTIFACT}{CHECKSUM}": checksum}
        made = {"metrics": msgspec.to_builtins(reading.metrics), "flags": []}
        return record | {"nodes": ["n1"], **made, "artifacts": artifacts}

    cases = [msgspec.to_builtins(case)]
    write_run(directory, cases, blocks=BLOCKS, edit=launch, plan=plan.to_json())
    changed(directory / "provenance.json", site={"name": "simulated", "nodes": NODES})
    return load_run(directory)


def told(evidence):
    judgement = judge(SCAN_CRITERIA, evidence, date(2026, 11, 22), 0)
    return {f"{one.kind} {one.name}" for one in judgement.findings}


def test_the_bad_pair_interface_and_uplink_are_suspected_and_nobody_else(run):
    assert told(gather(run, [])) == NAMED


def test_a_re_run_asks_for_pairs_of_the_scan_only(run):
    judgement = judge(SCAN_CRITERIA, gather(run, []), date(2026, 11, 22), 0)
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
    limit = SCAN_CRITERIA.criteria[1]
    summary = limit.model_copy(update={"where": {"pairs": "least"}})
    (least,) = evidence.selected(summary)
    assert least.values.min() < 0.75 * 1.15e10
    bad = {"node": f"n{BAD[0] + 1}", "peer": f"n{BAD[1] + 1}"}
    (pair,) = evidence.selected(limit.model_copy(update={"where": bad}))
    assert len(pair.values) == BLOCKS and pair.place == tuple(bad.values())
