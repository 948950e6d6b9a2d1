# SPDX-License-Identifier: Apache-2.0
"""On resampled records a clean machine names nobody, a faulty one always the same."""

from __future__ import annotations

import pytest

from assay.criteria.loading import criteria_from_text, load_criteria
from bench.resampling import names
from reports.load.loading import load_run
from reports.verdicts.acceptance.values import gather

from . import acceptance_runs as runs

pytestmark = pytest.mark.numerical


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
