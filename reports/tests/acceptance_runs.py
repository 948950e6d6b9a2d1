# SPDX-License-Identifier: Apache-2.0
"""Seeded run directories of an acceptance: known slow nodes and links, no measurement."""

import hashlib
from collections.abc import Sequence
from datetime import date
from itertools import combinations
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from bench.tests.simulated.machines import metric
from records.criteria import Criteria
from records.run.chain import chain_of, write_seal
from records.tests.made import case_id
from reports.tests.synthetic import a_record, case, write_plan, write_records
from reports.verdicts.acceptance.judge import Dossier, make_dossier

DAY = date(2026, 11, 21)
NODES = ("n1", "n2", "n3", "n4")
RATES = {"stream_triad": (8e9, "bytes/s"), "dgemm_rate": (4e10, "flop/s")}
BANDWIDTH, LATENCY = 11.7e6, 60e-6
CASES: dict[str, dict[str, Any]] = {
    "node": {"ranks": 4, "ranks_per_node": 1},
    "alltoall_pairs": {"ranks": 4},
    "hpl": {"p": 2, "q": 2, "n": 4000, "nb": 128, "ranks_per_node": 1},
}


def dossier(
    run: Path,
    criteria: Criteria,
    text: str = "",
    reruns: Sequence[Path] = (),
    made_with: str = "Assay 0.1.0",
) -> Dossier:
    """The judgement of a run and its re-runs on DAY."""
    return make_dossier(
        run, reruns, criteria=criteria, criteria_text=text, day=DAY, made_with=made_with
    )


def write_run(
    directory: Path,
    *,
    blocks: int = 5,
    seed: int = 1,
    nodes: tuple[str, ...] = NODES,
    slow_node: dict[str, float] | None = None,
    slow_link: dict[str, float] | None = None,
    noise: float = 0.01,
    checks: tuple[str, ...] = tuple(CASES),
    only: tuple[str, ...] = (),
    unmeasured: tuple[str, ...] = (),
) -> Path:
    """A run in environment `mpich`; shares below 1 make nodes, a node's link ("n3") or a single
    pair ("n1-n2") slow; `only` are the pairs ("n1:n2") that are measured, if not all; `unmeasured`
    are further nodes of the partition."""
    rng = np.random.default_rng(seed)
    (directory / "raw").mkdir(parents=True)
    cases = [_case(check, len(nodes), only) for check in checks]
    write_plan(directory, cases, blocks, seed, "acceptance")
    (directory / "campaign.yaml").write_text("schema: 1\n")
    site = {"name": "virtual", "nodes": len(nodes), "partition_nodes": [*nodes, *unmeasured]}
    provenance = {"schema": 1, "run_id": directory.name, "site": site}
    (directory / "provenance.json").write_bytes(msgspec.json.encode(provenance))
    machine = nodes, slow_node or {}, slow_link or {}, noise
    records = []
    for block in range(1, blocks + 1):
        for item in cases:
            metrics = _metrics(item["check"], rng, machine)
            if only:
                metrics = [m for m in metrics if ":".join(m["at"].values()) in only]
            told = {"metrics": metrics, "artifacts": _raw(directory, item["id"], block)}
            records.append(a_record(directory.name, item, block, nodes=[*nodes], **told))
    write_records(directory, records)
    write_seal(directory, chain_of(directory))
    return directory


def _case(check: str, nodes: int, only: tuple[str, ...]) -> dict[str, Any]:
    params = {**CASES[check], **({"only": [*only]} if only else {})}
    on = nodes if check != "hpl" else 4
    return case(check, "mpich", params, on) | {"id": case_id(check, "mpich", params), "nodes": on}


def _raw(directory: Path, case: str, block: int) -> dict[str, str]:
    name, content = f"raw/{case}.b{block}.a1.out", f"{case} block {block}\n".encode()
    (directory / name).write_bytes(content)
    return {"stdout": name, "stdout_sha256": hashlib.sha256(content).hexdigest()}


def _metrics(check, rng, machine):
    nodes, slow_node, slow_link, noise = machine
    drift = 1 + 0.05 * rng.standard_normal()

    def value(centre):
        return float(centre * drift * (1 + noise * rng.standard_normal()))

    if check == "hpl":
        return [metric("rate", "flop/s", "higher", value(0.8 * 4 * RATES["dgemm_rate"][0]))]
    if check == "node":
        return [
            metric(name, unit, "higher", value(centre * slow_node.get(node, 1.0)), node=node)
            for name, (centre, unit) in RATES.items()
            for node in nodes
        ]
    metrics = []
    for pair in combinations(nodes, 2):
        share = min(slow_link.get(name, 1.0) for name in (*pair, "-".join(pair)))
        share *= min(slow_node.get(name, 1.0) for name in pair)
        at = {"node": pair[0], "peer": pair[1]}
        metrics += [
            metric("pair_bandwidth", "bytes/s", "higher", value(BANDWIDTH * share), **at),
            metric("pair_latency", "s", "lower", value(LATENCY), **at),
        ]
    return metrics
