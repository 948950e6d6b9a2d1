# SPDX-License-Identifier: Apache-2.0
"""Scans of pairs whose values come in files: written as the program would, read, judged.

Machines have leaf switches of 40 nodes; launches scatter by 1 %. Each step is the product's own:
the file's checks, the table, the records, the report's loading, the judgement.
"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from assay.plan.planner import make_plan
from assay.schema.model import Campaign
from assay.sites.site import SiteFacts
from bench.tests.simulated.machines import Machine, write_program_file
from checks.alltoall_pairs import CHECK, FILE
from checks.alltoall_pairs.run import TABLE, read_file
from checks.common.evidence import Evidence, RankFacts
from checks.common.json_lines import Output
from records.run.plan import Plan
from records.run.provenance import Provenance, SiteAsRun
from records.run.record import CHECKSUM
from records.site.pair_scans import ARTIFACT, FOLDER, sampled_pairs
from reports.tests.synthetic import chained, write_run

BLOCKS = 5


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
