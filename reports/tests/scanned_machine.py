# SPDX-License-Identifier: Apache-2.0
"""Scans of pairs with known truth in memory, their values in columns; no measurement."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from records.criteria import Criteria
from records.metric import MetricDefinition, Register
from records.run.plan import PlannedCase
from records.site.limits import Nominal
from records.site.pair_scans import Indices, sampled_pairs
from reports.load.loading import PairColumns
from reports.tests import synthetic
from reports.verdicts.acceptance.values import CriterionEvidence, LaunchRef, ScanValues

LEVEL, CV, CASE = 1e10, 0.01, "alltoall_pairs-1"
REGISTER = Register.of(
    [MetricDefinition("pair_bandwidth", "bytes/s", "higher", "bandwidth", limit="link")], []
)


def criteria(*asked: Mapping[str, Any]) -> Criteria:
    """Criteria on the bandwidth of pairs."""
    same = {"check": "alltoall_pairs", "metric": "pair_bandwidth", "title": "T"}
    found = [{"id": f"c{place}", **same, **one} for place, one in enumerate(asked)]
    return Criteria.model_validate({"schema": 1, "name": "c", "title": "C", "criteria": found})


def measured(
    ends: tuple[Indices, Indices],
    nodes: int,
    blocks: Sequence[int],
    *,
    seed: int = 1,
    slow: Mapping[int, float] | None = None,
    noisy: Sequence[int] = (),
) -> PairColumns:
    """Values of pairs in some blocks; `slow` are shares of nodes' interfaces by number, and pairs
    of `noisy` rows scatter twentyfold."""
    low, high = ends
    order = np.lexsort((high, low))
    low, high = low[order], high[order]
    rng = np.random.default_rng([seed, blocks[0]])
    logs = CV * rng.standard_normal((len(low), len(blocks)))
    logs[list(noisy)] *= 20
    level = np.ones(nodes)
    level[[*(slow or {})]] = [*(slow or {}).values()]
    values = LEVEL * np.minimum(level[low], level[high])[:, None] * np.exp(logs)
    names = tuple(f"n{number + 1}" for number in range(nodes))
    return PairColumns(names, ("",) * nodes, low, high, (*blocks,), values.astype(np.float32))


def scan(
    nodes: int,
    rounds: int = 0,
    *,
    again: Sequence[PairColumns] = (),
    nominal: bool = False,
    **made: Any,
) -> CriterionEvidence:
    """The evidence of a scan of five blocks; `again` are parts of its re-runs, later blocks."""
    first = measured(sampled_pairs(nodes, rounds, 1), nodes, range(1, 6), **made)
    return evidence_of([first, *again], rounds, nominal=nominal)


def evidence_of(
    parts: Sequence[PairColumns], rounds: int = 0, *, nominal: bool = False
) -> CriterionEvidence:
    """The evidence of a scan and its re-runs."""
    nodes, blocks = len(parts[0].names), [block for part in parts for block in part.blocks]
    planned = synthetic.case("alltoall_pairs", "mpich", {"rounds": rounds, "seed": 1}, nodes)
    case = msgspec.convert(planned | {"id": CASE, "nodes": nodes}, PlannedCase)
    launches = {(CASE, block): LaunchRef("r", CASE, block, "ok", (), {}) for block in blocks}
    rates = Nominal(link_bytes_per_s=1.1 * LEVEL if nominal else None)
    values = (ScanValues(case, "pair_bandwidth", [(part, 0) for part in parts]),)
    return CriterionEvidence([], launches, [case], REGISTER, rates, parts[0].names, 6, values)
