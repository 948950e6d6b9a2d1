# SPDX-License-Identifier: Apache-2.0
"""On resampled records a clean machine names nobody, a faulty one always the same."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from assay.schema.criteria import criteria_from_text, load_criteria
from records.criteria import Criteria
from reports.load.loading import load_run
from reports.verdicts.acceptance.judge import judge as judge_acceptance
from reports.verdicts.acceptance.values import CriterionEvidence, gather

from . import acceptance_runs as runs

pytestmark = pytest.mark.numerical


def resampled(evidence: CriterionEvidence, seed: int) -> CriterionEvidence:
    """The evidence with its blocks drawn anew, renumbered 1, 2, …; launches stay as they are."""
    blocks = sorted({int(b) for values in evidence.values for b in values.blocks})
    drawn = np.random.default_rng(seed).choice(blocks, len(blocks))
    found = []
    for values in evidence.values:
        known = values.by_block()
        anew = {place: known[int(b)] for place, b in enumerate(drawn, start=1) if int(b) in known}
        places, numbers = np.array(list(anew), dtype=np.int64), np.array(list(anew.values()))
        found.append(replace(values, blocks=places, values=numbers.astype(np.float64)))
    return replace(evidence, values=found)


def names(evidence: CriterionEvidence, criteria: Criteria, times: int) -> Counter[str]:
    """How many resamples name each node or link."""
    found: Counter[str] = Counter()
    for seed in range(1, times + 1):
        result = judge_acceptance(criteria, resampled(evidence, seed), date(2026, 1, 1), 0)
        found.update(finding.title for finding in result.named)
    return found


@pytest.mark.parametrize("noise", [0.001, 0.01, 0.03])
def test_a_clean_machine_names_nobody_in_20_resamples(tmp_path, noise):
    run = load_run(runs.write_run(tmp_path / "run", noise=noise))
    assert names(gather(run, []), load_criteria("standard")[0], 20) == {}


def test_a_faulty_machine_names_its_faults_in_20_resamples(tmp_path):
    slow = {"slow_node": {"n2": 0.6}, "slow_link": {"n3": 0.5}}
    run = load_run(runs.write_run(tmp_path / "run", **slow))
    text = load_criteria("rehearsal")[1].replace("    environment: lam\n", "")
    found = names(gather(run, []), criteria_from_text("any.yaml", text), 20)
    assert found == {"slow node n2": 20, "slow link of n3": 20, "slow link of n2": 20}
