# SPDX-License-Identifier: Apache-2.0
"""What Slurm 22.05, 24.11 and 26.05 printed on clusters of one form is read alike.

Three nodes below two switches: n1 with a job that has it alone, n2 idle again after it lost a job,
n3 drained; a second job waits for two nodes.
"""

import re
from pathlib import Path
from unittest.mock import Mock

import pytest

from assay.onboarding import slurm_view
from assay.schedulers import slurm
from checks.common.slurm.commands import Answer, Slurm, left_s
from checks.common.slurm.job import FORGOTTEN, SlurmJob, refusal_verdict
from records.errors import AssayError
from virtual_cluster import daemons

SAID = sorted(Path(__file__).with_name("slurm_said").glob("*.txt"))
#: What these say goes to stderr, with a status.
FAILS = ("scontrol show job -o 999", "scontrol show partition -o nowhere", "sbatch")


def answers_of(said):
    """Answers a command as a version of Slurm has answered it."""
    entries = re.split(r"^\$ ", said.read_text(), flags=re.MULTILINE)[1:]
    known = dict(entry.split("\n", 1) for entry in entries)

    def answered(*argv):
        words = " ".join(argv).replace(" --all", "").replace(" -o all", " -o")
        fails = words.startswith(FAILS)
        return Answer(int(fails), "" if fails else known[words], known[words] if fails else "")

    return answered


def site_of(answer):
    of_file = Mock(slurm_partition="all", longest_job_s=None, access=[], concurrency=1)
    of_file.shared_cores = {}
    made = Mock(description=of_file, down_nodes_return=False, ask=lambda argv, **_: answer(*argv))
    made.name = "three"
    return made


@pytest.fixture(params=SAID, ids=lambda file: file.stem)
def answer(request):
    return answers_of(request.param)


@pytest.fixture
def site(answer):
    return site_of(answer)


def test_jobs_and_nodes_are_read_while_launches_run(answer):
    slurm = Slurm(lambda argv: answer(*argv))
    assert slurm.steps("1") == [("1.0", "ranks")]
    assert slurm.hostnames("n[1-3]") == ["n1", "n2", "n3"]
    assert not slurm.leaves_processes()
    runs, waits, gone = (SlurmJob(slurm, job) for job in ("1", "5", "999"))
    assert all(job.look() for job in (runs, waits, gone))
    assert (runs.state, waits.state, gone.state) == ("RUNNING", "PENDING", FORGOTTEN)
    assert 200 < (left_s(runs.described) or 0) < 300
    assert waits.reason and waits.never_runs() is None  # it says another as time goes by
    assert refusal_verdict(answer("sbatch", "--test-only", "-N9", "--wrap=true").stderr) == "nodes"


def test_a_run_learns_what_its_partition_and_its_own_job_allow(site, monkeypatch):
    assert "need 4 nodes, and 3 of 3 take" in str(slurm.SlurmScheduler(site).lacking(4))
    assert slurm.SlurmScheduler(site).limits() == (3, None)
    assert slurm.SlurmScheduler(site).nodes() == ["n1", "n2", "n3"]
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    monkeypatch.setenv("SLURM_CLUSTER_NAME", "assay-three")
    case = Mock(nodes=1, resources={})
    allocation = slurm.SlurmScheduler(site).allocation([case], 1, pytest.fail)
    assert allocation and (allocation.job_id, allocation.nodes) == ("1", ["n1"])
    site.description.slurm_partition = "nowhere"
    with pytest.raises(AssayError, match="no partition nowhere; it has all"):
        slurm.SlurmScheduler(site).limits()


def test_a_new_user_sees_the_cluster(answer, monkeypatch):
    monkeypatch.setattr(slurm_view, "answer_of", answer)
    view = slurm_view.ask_slurm()
    assert [(one.cores, one.in_service) for one in view.nodes] == [(1, True), (1, True), (1, False)]
    assert [(one.name, one.usable) for one in view.partitions.values()] == [("all", True)]
    assert "pmi2" in view.mpi_types
    assert [line.split()[0][11:] for line in view.topology] == ["top", "s1", "s2"]


def test_a_virtual_cluster_sees_its_nodes(answer, monkeypatch):
    monkeypatch.setattr(daemons, "ask", lambda _, *argv, **__: answer(*argv).stdout)
    assert daemons.node_states(Mock()) == {"n1": "allocated", "n2": "idle", "n3": "drained"}
    assert [one["name"] for one in daemons.jobs(Mock())] == ["waits", "first"]
