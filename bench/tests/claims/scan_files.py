# SPDX-License-Identifier: Apache-2.0
"""Scans of pairs whose values come in files: written as the program would, read, judged.

Machines have leaf switches of 40 nodes; launches scatter by 1 %. Each step is the product's own:
the file's checks, the table, the records, the report's loading, the judgement.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from ClusterShell.NodeSet import NodeSet

from assay.plan import make_plan
from assay.schema import Campaign
from assay.sites.site import SiteFacts
from bench.rows import Row, efforts, share
from bench.tests.claims.pair_scans import CRITERIA
from bench.tests.judging import Finding, Judgement, gather, judge_acceptance
from bench.tests.simulated.machines import LEAF, Machine, write_program_file
from checks.alltoall_pairs import CHECK, FILE
from checks.alltoall_pairs.run import TABLE, read_file
from checks.common.evidence import Evidence, RankFacts
from checks.common.json_lines import Output
from records.run.plan import Plan
from records.run.provenance import Provenance, SiteAsRun
from records.run.record import CHECKSUM
from records.site.pair_scans import ARTIFACT, FOLDER, rounds_of_all, sampled_pairs
from reports.load.loading import load_run
from reports.tests.synthetic import chained, write_run

TOPIC = "Acceptance: scans of pairs in files"
RUNS = efforts(1, 3, 20)
#: Nodes of the machine that rows are made of.
NODES = 200
BLOCKS, ROUNDS = 5, 40

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


def scanned(
    directory: Path, machine: Machine, rounds: int, blocks: int, rng: np.random.Generator
) -> dict[str, float]:
    """Write a run directory of a scan; the seconds of each step and the bytes of each file."""
    plan = planned(machine, rounds, blocks)
    (case,) = plan.cases
    params = CHECK.parameters.model_validate(case.params)
    for folder in ("", FOLDER, "raw", "stage"):
        (directory / folder).mkdir()
    (directory / "campaign.yaml").write_text("schema: 1\n")
    ranks = [RankFacts(rank, name, [0], name) for rank, name in enumerate(machine.names)]
    stage, found = directory / "stage", {"written": 0.0, "read": 0.0}
    low, high = sampled_pairs(machine.nodes, rounds, params.seed)

    def launch(record: dict[str, Any]) -> dict[str, Any]:
        begun = time.monotonic()
        said = write_program_file(stage / FILE, machine, low, high, rng)
        found["written"] += time.monotonic() - begun
        begun = time.monotonic()
        output = Output(evidence=Evidence("", "", ranks, []), notes={"pair_file": said})
        reading = read_file(CHECK, params, output, stage, machine.tree)
        found["read"] += time.monotonic() - begun
        found["program bytes"] = (stage / FILE).stat().st_size
        found["table bytes"] = (stage / TABLE).stat().st_size
        name = f"{FOLDER}/{case.id}.b{record['block']}.a1.parquet"
        shutil.move(stage / TABLE, directory / name)
        with (directory / name).open("rb") as file:
            checksum = hashlib.file_digest(file, "sha256").hexdigest()
        artifacts = {ARTIFACT: name, f"{ARTIFACT}{CHECKSUM}": checksum}
        made = {"metrics": msgspec.to_builtins(reading.metrics), "flags": []}
        return record | {"nodes": ["n1"], **made, "artifacts": artifacts}

    write_run(directory, [msgspec.to_builtins(case)], blocks=blocks, edit=launch)
    (directory / "plan.json").write_text(plan.to_json())
    site = SiteAsRun(name="simulated", nodes=machine.nodes)
    provenance = Provenance(run_id=directory.name, site=site)
    (directory / "provenance.json").write_bytes(provenance.to_json())
    chained(directory)
    shutil.rmtree(stage)
    found["record bytes"] = (directory / "records.jsonl").stat().st_size / blocks
    return found


def judged(directory: Path) -> Judgement:
    """The judgement of a run."""
    return judge_acceptance(CRITERIA, gather(load_run(directory), []), date(2026, 11, 22), 0)


def suspects(machine: Machine, rounds: int, seed: int) -> set[Named]:
    """Faults that are suspected of a machine."""
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / "20261120T235011Z-3f2a"
        scanned(directory, machine, rounds, BLOCKS, np.random.default_rng(seed))
        return {named(one) for one in judged(directory).findings}


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


def rows(n: int) -> Iterator[Row]:
    """All rows, of so many machines each."""
    low, high = sampled_pairs(NODES, ROUNDS, 1)
    machines = {
        "all good: nobody is suspected": Machine(NODES),
        "a pair at 80 %: just that": Machine(NODES, pairs={(int(low[7]), int(high[7])): 0.8}),
        "an interface at 85 %: just that": Machine(NODES, interfaces={7: 0.85}),
        "an uplink at 70 %: just the cut at its leaf": Machine(NODES, uplinks={0: 0.7}),
    }
    for rounds in (0, ROUNDS):
        size = f"{NODES} nodes, {rounds or rounds_of_all(NODES)} rounds"
        for what, machine in machines.items():
            right = faults(machine)
            hits = sum(suspects(machine, rounds, seed) == right for seed in range(n))
            yield share(f"{size}, {what}", hits, n, least=0.9)
