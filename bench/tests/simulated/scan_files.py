# SPDX-License-Identifier: Apache-2.0
"""Scans of pairs whose values come in files: written as the program would, read, judged.

Machines have leaf switches of 40 nodes; launches scatter by 1 %. Each step is the product's own:
the file's checks, the table, the records, the report's loading, the judgement.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from ClusterShell.NodeSet import NodeSet

from assay.plan import make_plan
from assay.schema import Campaign
from assay.sites.site import SiteFacts
from bench.tests.claims.pair_scans import CRITERIA
from bench.tests.simulated.machines import LEAF, Machine, write_program_file
from checks.alltoall_pairs import CHECK, FILE
from checks.alltoall_pairs.run import TABLE, read_file
from checks.common.evidence import Evidence, RankFacts
from checks.common.json_lines import Output
from records.run.plan import Plan
from records.run.provenance import Provenance, SiteAsRun
from records.run.record import CHECKSUM
from records.site.pair_scans import ARTIFACT, FOLDER, sampled_pairs
from reports.judgement import Finding, Judgement
from reports.load.loading import load_run
from reports.tests.synthetic import chained, write_run
from reports.verdicts.acceptance.judge import judge as judge_acceptance
from reports.verdicts.acceptance.values import gather

BLOCKS = 5

#: What is named: its kind, and its nodes, of a cut those of each side.
Named = tuple[str, frozenset[frozenset[str]]]


def planned(machine: Machine, rounds: int, blocks: int) -> Plan:
    """A campaign of one scan."""
    fixed = {"nodes": "all", "rounds": rounds, "column_file": True}
    asked: dict[str, Any] = {
        "schema": 1,
        "name": "scan",
        "question": "Is every link like the others?",
        "environments": ["mpich"],
        "blocks": blocks,
        "seed": 1,
        "cases": [{"check": "alltoall_pairs", "fixed": fixed}],
    }
    site = SiteFacts("simulated", machine.nodes, 8, 2**34, {"mpich": {"mpi"}})
    return make_plan(Campaign.model_validate(asked), site)


def scanned(directory: Path, machine: Machine, rounds: int, rng: np.random.Generator) -> None:
    """Write a run directory of a scan."""
    plan = planned(machine, rounds, BLOCKS)
    (case,) = plan.cases
    params = CHECK.parameters.model_validate(case.params)
    for folder in ("", FOLDER, "raw", "stage"):
        (directory / folder).mkdir()
    (directory / "campaign.yaml").write_text("schema: 1\n")
    ranks = [RankFacts(rank, name, [0], name) for rank, name in enumerate(machine.names)]
    stage = directory / "stage"
    low, high = sampled_pairs(machine.nodes, rounds, params.seed)

    def launch(record: dict[str, Any]) -> dict[str, Any]:
        said = write_program_file(stage / FILE, machine, low, high, rng)
        output = Output(evidence=Evidence("", "", ranks, []), notes={"pair_file": said})
        reading = read_file(CHECK, params, output, stage, machine.tree)
        name = f"{FOLDER}/{case.id}.b{record['block']}.a1.parquet"
        shutil.move(stage / TABLE, directory / name)
        with (directory / name).open("rb") as file:
            checksum = hashlib.file_digest(file, "sha256").hexdigest()
        artifacts = {ARTIFACT: name, f"{ARTIFACT}{CHECKSUM}": checksum}
        made = {"metrics": msgspec.to_builtins(reading.metrics), "flags": []}
        return record | {"nodes": ["n1"], **made, "artifacts": artifacts}

    write_run(directory, [msgspec.to_builtins(case)], blocks=BLOCKS, edit=launch)
    (directory / "plan.json").write_text(plan.to_json())
    site = SiteAsRun(name="simulated", nodes=machine.nodes)
    provenance = Provenance(run_id=directory.name, site=site)
    (directory / "provenance.json").write_bytes(provenance.to_json())
    chained(directory)
    shutil.rmtree(stage)


def judged(directory: Path) -> Judgement:
    """The judgement of a run."""
    return judge_acceptance(CRITERIA, gather(load_run(directory), []), date(2026, 11, 22), 0)


def named(finding: Finding) -> Named:
    """The kind of a finding and its nodes, of a cut those of each side."""
    sides = finding.name.split(" and ") if finding.kind == "cut" else [",".join(finding.nodes)]
    return finding.kind, frozenset(frozenset(NodeSet(side)) for side in sides)


def faults(machine: Machine) -> set[Named]:
    """Faults to be named of a machine: pairs, links, the cut between a leaf and all others."""

    def fault(kind: str, *sides: Iterable[str]) -> Named:
        return kind, frozenset(map(frozenset, sides))

    names = machine.names
    found = {fault("pair", [names[one], names[other]]) for one, other in machine.pairs}
    found |= {fault("link", [names[node]]) for node in machine.interfaces}
    for leaf in machine.uplinks:
        inside = names[leaf * LEAF : (leaf + 1) * LEAF]
        found.add(fault("cut", inside, {*names} - {*inside}))
    return found
