# SPDX-License-Identifier: Apache-2.0
"""Profiles of several nodes: `assay profile` in a job, and a case of a run."""

import shutil
import sys
from pathlib import Path

import pytest

from assay import ROOT
from assay.tests.test_run_on_cluster import campaign, pytestmark, run, the_run
from checks.common.tests.program_runs import ran
from plugins.profile.application_profile import read_profile
from plugins.profile.pictures import case_profiles
from plugins.profile.tests.test_profile import OVERSUBSCRIBED, SOURCES
from reports.analysis.run import analyse
from reports.load.loading import load_run

__all__ = ["pytestmark"]
#: Open MPI of sid is configured for lo alone.
OF_NODES = ("--mca", "btl_tcp_if_include", "eth0")
LAUNCHERS = {
    "mpich": ["srun", "--mpi=pmi2"],
    "openmpi": ["mpirun.openmpi", "--bind-to", "none", *("--mca", "pml", "ob1"), *OF_NODES],
}
CASE = """\
  - name: known
    command: sh -c './known together && echo ended with 1'
    build: $CC -O2 known.c -o known
    sources: [known.c]
    fixed: {ranks: 2, mpi_profile: true}
    ranks_per_node: 1
    metrics: {ended: {find: '^ended with (\\S+)$', unit: '1', of: first, better: lower}}
"""


def profile_of(cluster, library, what):
    """The profile of a job of known.c, a rank a node."""
    folder = Path(cluster.site_facts()["work_dir"], f"profile-{library}-{what}")
    folder.mkdir()
    cluster.show([ROOT, Path(sys.prefix)])
    try:
        compiled = [f"mpicc.{library}", "-O2", "-o", "known", str(SOURCES / "known.c")]
        ran(cluster.user_command(compiled, folder=folder))
        words = ["salloc", "-N2", "--ntasks-per-node=1", "assay"]
        words += ["profile", "--", *LAUNCHERS[library], "./known", what]
        done = ran(cluster.user_command(words, OVERSUBSCRIBED, folder), check=False)
        assert done.returncode == 0, done.stderr
        assert not [*folder.glob("assay-profile-*")]
        return read_profile(folder / "profile.json")
    finally:
        shutil.rmtree(folder)


def test_a_job_profiles_the_ranks_it_started_not_those_that_these_spawn(cluster):
    profile = profile_of(cluster, "openmpi", "spawn")
    assert (profile.ranks, profile.complete) == (2, True)
    assert "the ranks that MPI_Comm_spawn started are not in the profile" in profile.notes


@pytest.mark.parametrize("library", LAUNCHERS)
def test_a_job_profiles_the_ranks_of_all_its_nodes(cluster, library):
    profile = profile_of(cluster, library, "late")
    assert profile.complete
    assert (profile.ranks, profile.nodes, profile.ranks_per_node) == (2, 2, 1)
    sends = [one for one in profile.calls if one.call == "Send" and one.greatest_bytes == 1000]
    assert [(one.count, one.ranks, one.nodes) for one in sends] == [(20, 2, 2)]
    assert 0 < profile.clock_error_s < 60  # the shortest of 20 trips between busy nodes


def test_a_command_of_a_campaign_is_profiled_when_the_case_asks_for_it(cluster, folder):
    shutil.copy(SOURCES / "known.c", folder)
    file = campaign(folder, "own", "openmpi", 1, CASE)
    status, output = run(file, "--site", f"virtual:{cluster.name}")
    assert status == 0, output
    (profile,) = case_profiles(analyse(load_run(the_run(folder, "own"))))
    (ranks,) = profile.launches
    calls = [call for rank in ranks for call in rank.calls if call.call == "Isend"]
    assert (len(ranks), sum(call.count for call in calls)) == (2, 60)
