# SPDX-License-Identifier: Apache-2.0
"""Launches as steps of an allocation: their nodes, how each begins and ends, with our own srun."""

import os
import re
import time
from collections import Counter
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import pytest
from reframe.core.schedulers.slurm import SqueueJobScheduler

from checks.common.slurm import scheduler
from checks.common.slurm.commands import HERE
from checks.common.slurm.job import Allocation, ControllerSilentError
from checks.common.slurm.scheduler import AllocationScheduler
from checks.common.tests.program_runs import written_script
from checks.common.tests.test_hops import granted
from virtual_cluster.host import tries

NODES = [f"n{number}" for number in range(1, 5)]
#: Says what it was started with, then does what the job's folder says.
SRUN = 'printf "%s\\n" "$@" >srun.words\n. ./srun.does'
ENDLESS = "exec sleep 1000"
RUNS = f"echo begun 12-{{step}}\n{ENDLESS}"
FAILS = "echo begun 12-3\necho ended 143"


class Harness:
    """A scheduler of four nodes and its jobs."""

    def __init__(self, folder):
        self.folder, self.jobs = folder, []
        self.scheduler = AllocationScheduler()

    def submit(self, does, ranks=1, **more):
        index = len(self.jobs)
        workdir = self.folder / f"job{index}"
        workdir.mkdir()
        (workdir / "srun.does").write_text(does + "\n")
        told = {"name": f"job{index}", "workdir": str(workdir), "launch_index": index}
        told |= {"num_tasks": ranks, "num_tasks_per_node": 1, "drawn_by": f"case-1.1.{index}"}
        told |= {"stdout": "out", "stderr": "err", "script_filename": "job.sh", "needs_s": 75.0}
        told |= {"undisturbed": False, "launcher": SimpleNamespace(daemons="none"), **more}
        job = SimpleNamespace(**{k: v for k, v in told.items() if v is not None})
        self.jobs.append(job)
        self.scheduler.submit(job)
        return job

    def until(self, true):
        for _ in tries(120, 0.01):
            self.scheduler.poll()
            if true():
                return
        raise AssertionError("it did not come to that")

    def ended(self, job):
        self.until(lambda: job._state not in ("PENDING", "RUNNING"))
        return job

    def words(self, job):
        file = Path(job.workdir, "srun.words")
        self.until(lambda: file.exists() and file.read_text().endswith("job.sh\n"))
        return file.read_text().split("\n")


@pytest.fixture
def harness(tmp_path, monkeypatch):
    monkeypatch.setattr(SqueueJobScheduler, "__init__", lambda _: None)
    srun = written_script(tmp_path / "bin" / "srun", SRUN)
    monkeypatch.setenv("PATH", f"{srun.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(HERE, "cancel", lambda *_: None)
    made = []

    def with_allocation(end=lambda: None, left_s=1e6, **more):
        ends_at, more = time.monotonic() + left_s, {"at_once": 4, **more}
        granted(monkeypatch, tmp_path, *NODES, ends_at=ends_at, **more)
        made.append(Harness(tmp_path))
        made[-1].scheduler._allocation_job = SimpleNamespace(end_reason=end)
        return made[-1]

    yield with_allocation
    for one in made:
        one.scheduler.cancel_many(one.jobs)


def test_a_launch_that_a_preemption_ends_is_lost_and_no_further_one_begins(harness):
    one = harness(lambda: "is being preempted by another job", at_once=1)
    job, waiting = one.submit(FAILS), one.submit(FAILS)
    for each, ran in ((job, True), (waiting, False)):
        loss = one.ended(each).loss
        assert (loss.fault, loss.ran) == ("allocation", ran)
    assert job.loss.reason == "allocation 12 is being preempted by another job"
    assert waiting.step is None


def test_of_cancelled_launches_one_that_runs_is_ended_and_one_that_waits_never_begins(harness):
    one = harness(at_once=1)
    job, waiting = one.submit(RUNS.format(step=3)), one.submit(FAILS)
    one.scheduler.cancel_many(one.jobs)
    assert job.step.process.poll() is not None
    assert (waiting._state, waiting.step) == ("CANCELLED", None)


def test_a_launch_that_fails_while_its_allocation_runs_has_failed(harness):
    one = harness()
    job = one.ended(one.submit(FAILS))
    assert (job._state, job.loss, job._exitcode) == ("FAILED", None, 143)


@pytest.mark.parametrize(("does", "ran"), [(FAILS, True), ("exit 1", False)])
def test_where_slurm_does_not_tell_of_the_allocation_a_launch_is_lost(harness, does, ran):
    def silent():
        raise ControllerSilentError("Slurm's controller did not answer for 30 s")

    one = harness(silent)
    loss = one.ended(one.submit(does)).loss
    assert (loss.fault, loss.ran) == ("slurm", ran)
    assert loss.reason == "Slurm's controller did not answer for 30 s"


def test_a_step_that_slurm_never_begins_is_ended_with_its_words(harness, monkeypatch):
    one = harness()
    job = one.submit(f"echo step creation temporarily disabled >&2\n{ENDLESS}")
    one.until(lambda: "disabled\n" in Path(job.workdir, "launch.srun").read_text())
    monkeypatch.setattr(scheduler, "_STEP_PATIENCE_S", 0.0)
    loss = one.ended(job).loss
    assert (loss.fault, loss.ran) == ("slurm", False)
    said = r"did not start the step within \d+ s: step creation temporarily disabled"
    assert re.search(said, loss.reason)


def test_a_step_that_outlives_its_time_by_far_is_ended(harness, monkeypatch):
    one = harness()
    lasting, late = one.submit(RUNS.format(step=3)), one.submit(RUNS.format(step=4), needs_s=0.1)
    one.until(lambda: lasting.step.name and late.step.name)
    monkeypatch.setattr(scheduler, "_STEP_PATIENCE_S", 0.3)
    loss = one.ended(late).loss
    assert (loss.fault, loss.ran) == ("slurm", True)
    assert "did not end the step within 0 s" in loss.reason
    assert lasting._state == "RUNNING"


@pytest.mark.parametrize(("left_s", "fault"), [(170.0, None), (60.0, "allocation")])
@pytest.mark.parametrize("seconds", [3600.0, -3600.0, -86400.0])
def test_an_allocation_lasts_as_long_whatever_the_clock_is_set_to(
    harness, monkeypatch, left_s, fault, seconds
):
    one, real = harness(left_s=left_s), time.time
    monkeypatch.setattr(time, "time", lambda: real() + seconds)
    job = one.submit(ENDLESS)
    assert (job.loss.fault if job.loss else None) == fault


@pytest.mark.parametrize(
    ("left_s", "needs_s", "limit"), [(1e6, 75.0, "3"), (170.0, 75.0, None), (1e6, None, None)]
)
def test_a_step_is_limited_where_it_would_end_before_its_allocation(
    harness, left_s, needs_s, limit
):
    one = harness(left_s=left_s)
    job = one.submit(ENDLESS, needs_s=needs_s)
    options = [word for word in one.words(job) if word.startswith("--time")]
    assert options == ([f"--time={limit}"] if limit else [])


EIGHT = [f"n{number}" for number in range(1, 9)]
LAUNCHES = [f"ring-12.{block}.{attempt}" for block in range(100) for attempt in (1, 2)]


def allocation(**more):
    return Allocation(job_id="12", nodes=EIGHT, ends_at=1e10, **more)


def test_nodes_are_drawn_by_the_seed_and_what_names_the_launch():
    draws = [allocation(seed=5).drawn(3, EIGHT, launch) for launch in LAUNCHES]
    again = [allocation(seed=5).drawn(3, list(reversed(EIGHT)), launch) for launch in LAUNCHES]
    assert draws == again
    assert draws != [allocation(seed=6).drawn(3, EIGHT, launch) for launch in LAUNCHES]
    assert draws[::2] != draws[1::2], "a further attempt gets others"
    assert all(draw == sorted(draw) and len(set(draw)) == 3 for draw in draws)
    pairs = Counter(pair for draw in draws for pair in combinations(draw, 2))
    assert len(pairs) == 28, "every pair of nodes comes"
    assert allocation().drawn(2, ["n7", "n2"], "x") == ["n2", "n7"]


def test_nodes_that_share_cores_are_drawn_together_only_where_they_must():
    cores = {node: [number % 2] for number, node in enumerate(EIGHT)}
    shared = allocation(cores=cores)
    for launch in LAUNCHES:
        (one,), (other,) = (cores[node] for node in shared.drawn(2, EIGHT, launch))
        assert one != other
    assert len(shared.drawn(3, EIGHT, "x")) == 3
