# SPDX-License-Identifier: Apache-2.0
"""A mix of jobs that are handed in to a virtual cluster's Slurm at once."""

import subprocess
from itertools import pairwise

import pytest

from assay.tests.test_run_on_cluster import (
    ASSAY,
    SITE,
    pytestmark,  # noqa: F401  what these tests need
)
from plugins.contract.mixes import mix_of
from records.run.record import read_records
from records.run.run_directory import open_run
from setup.tests.needs import NEEDS_HPL


@pytest.mark.full
@NEEDS_HPL
def test_a_mix_of_jobs_is_handed_in_at_once(cluster, tmp_path):
    mix = ("mix", "--site", SITE, "--blocks", "2", "--scale", "small", "--no-report")
    subprocess.run([ASSAY, "run", *mix], cwd=tmp_path, capture_output=True, check=True)
    (run,) = tmp_path.glob("results/*/*/")
    records = [*read_records(run / "records.jsonl")]
    assert [one.status for one in records] == ["ok"] * 6
    # One was handed in before the one before had ended; a busy machine may be late with others.
    handed_in = sorted(records, key=lambda one: str(one.submitted_at))
    times = [(str(a.ended_at), str(b.submitted_at)) for a, b in pairwise(handed_in)]
    assert any(later < ended for ended, later in times), times
    mix = mix_of(open_run(str(run)))
    assert [job.work > 0 for job in mix.jobs] == [True] * 6
    assert min(mix.makespans_s.values()) > 0
