# SPDX-License-Identifier: Apache-2.0
"""What is still to be run, from a plan and the records so far, also of an early Assay; jobs of a
run: ended and waited for, told that they are needed; without a cluster."""

import signal
from pathlib import Path
from types import SimpleNamespace

import pytest

from assay.plan.planner import make_plan
from assay.run.launches import in_sessions, launches_to_come
from assay.run.progress import Interruption, Waiting
from assay.run.status import run_status
from assay.schedulers import slurm as of_slurm
from assay.schema.loading import campaign_from_text
from assay.sites.site import SiteFacts
from assay.sites.site_file import read_description
from assay.tests.campaign_texts import campaign_of, plan_of
from assay.tests.test_partition import SITE, say, site
from checks.common.slurm.commands import Answer
from records.errors import AssayError, InfrastructureError
from records.run.queue_state import QueueState
from records.run.run_directory import open_run
from records.tests.made import record
from records.waiting import CLEARING_S

__all__ = ["site"]
#: A run of an early Assay.
RUN = Path(__file__).parents[2] / "reports" / "tests" / "stored_run"


def plan():
    startup = "{check: startup, matrix: {ranks: [1, 2, 64]}}"
    return plan_of(campaign_of(startup, environments="a, b"), SITE)


def keys(launches):
    return [(launch.case_id, launch.block) for launch in launches]


def test_a_fresh_run_has_every_feasible_case_once_in_every_block():
    found = keys(launches_to_come(plan(), []))
    cases = [case.id for case in plan().cases if case.skipped is None]
    assert len(cases) == 4
    assert sorted(found) == sorted((case, block) for case in cases for block in (1, 2, 3))


def test_a_session_has_one_mix_where_jobs_are_handed_in_at_once():
    coming = [*launches_to_come(plan(), [])]
    sessions = [[launch.block for launch in one] for one in in_sessions(coming, 2)]
    assert sessions == [[1] * 4 + [2] * 4, [3] * 4]
    assert [*in_sessions(coming, 0)] == [coming]


def test_blocks_come_one_after_the_other_each_in_its_own_order():
    launches = list(launches_to_come(plan(), []))
    assert len({tuple(k for k, b in keys(launches) if b == block) for block in (1, 2, 3)}) > 1
    assert keys(launches) == keys(launches_to_come(plan(), []))


def test_what_is_done_is_not_run_again_but_what_was_lost_is():
    everything = keys(launches_to_come(plan(), []))
    outcomes = {3: ("lost", 2), 4: ("failed", 1)}
    done = [
        record(block, case_id=case, status=status, attempt=attempt)
        for place, (case, block) in enumerate(everything)
        for status, attempt in [outcomes.get(place, ("ok", 1))]
        if place != 7
    ]
    left = list(launches_to_come(plan(), done))
    assert keys(left) == [everything[3], everything[7]]
    assert [launch.attempt for launch in left] == [3, 1]


def test_its_campaign_is_planned_with_the_same_ids_and_parameters():
    run = open_run(str(RUN))
    described = read_description("virtual").environments
    features = {name: set(environment.features) for name, environment in described.items()}
    campaign = campaign_from_text("quick.yaml", run.campaign_file.read_text())
    today = make_plan(campaign, SiteFacts("virtual", 4, 1, 2**33, features))
    cases = {case.id: case for case in today.cases}
    for case in run.plan().cases:
        assert cases[case.id].params == case.params
        assert (cases[case.id].ranks, cases[case.id].nodes) == (case.ranks, case.nodes)


def test_what_it_lacks_is_what_a_resumed_run_would_launch():
    run = open_run(str(RUN))
    (launch,) = launches_to_come(run.plan(), run.records())
    assert (launch.check, launch.environment, launch.params["ranks"]) == ("startup", "lam", 1)
    assert (launch.block, launch.attempt) == (5, 1)
    status = run_status(run)
    assert (status.done, status.planned, status.failed) == (74, 75, 0)
    assert status.counts == {"ok": 74, "failed": 0, "wrong": 0, "lost": 0}


class Clock:
    """Time that passes in pauses only; `then` is done at each."""

    def __init__(self, then=lambda now: None):
        self.now, self._then = 1000.0, then

    def monotonic(self):
        return self.now

    def pause(self, seconds):
        self.now += seconds
        self._then(self.now - 1000.0)


@pytest.fixture
def slurm(site, monkeypatch):
    """A Slurm whose jobs of the run are in `states` at each time, and which ends none of them."""

    def ending(states, **more):
        def show(passed):
            jobs = [f"\necho {job} {state} assay-run" for job, state in states(passed).items()]
            say(site, "squeue", "".join(["echo 5 RUNNING assay-other", *jobs]))

        clock = Clock(show)
        monkeypatch.setattr(of_slurm, "time", clock)
        monkeypatch.setattr(of_slurm, "scaled", lambda limit_s: limit_s)
        say(site, "scancel", 'echo "$*" >> "$0.asked"')
        show(0.0)
        of_slurm.SlurmScheduler(site).end("run", None, clock.pause, more.get("clear_s", CLEARING_S))
        return clock.now - 1000.0

    return ending


def cancelled(site):
    asked = site.programs / "scancel.asked"
    return asked.read_text().splitlines() if asked.exists() else []


def test_nodes_that_take_minutes_to_clear_are_waited_for(slurm, site):
    ends = lambda passed: "RUNNING" if passed < 1 else "COMPLETING"  # noqa: E731
    assert 70 <= slurm(lambda passed: {"7": ends(passed)} if passed < 70 else {}) < 72
    assert cancelled(site) == ["7"]


def test_nodes_that_are_never_cleared_end_the_wait_and_a_job_is_told_every_few_seconds(slurm, site):
    assert CLEARING_S >= 300
    with pytest.raises(InfrastructureError, match=r"job 7.*clears its nodes for 12 s"):
        slurm(lambda _: {"7": "COMPLETING"}, clear_s=12.0)
    assert cancelled(site) == []
    with pytest.raises(InfrastructureError, match=r"job 7 of this run does not end$"):
        slurm(lambda _: {"7": "RUNNING"})
    assert 10 <= len(cancelled(site)) <= 14


def test_steps_that_launches_of_the_run_left_are_ended(monkeypatch):
    ran = []
    steps = {
        "12.0": "assay-quick-1f.rfm_L0000003_hpl_b1",
        "12.1": "assay-quick-1f.ranks-of-12-0",
        "12.2": "assay-quick-1.ranks-of-12-9",
        "12.3": "bash",
        "12.batch": "batch",
    }

    def asked(_, *argv):
        ran.append(argv)
        if argv[0] == "scancel":
            for step in argv[1:]:
                del steps[step]
        return Answer(0, "".join(f"{step} {name}\n" for step, name in steps.items()), "")

    monkeypatch.setattr(of_slurm, "asked", asked)
    monkeypatch.setattr(of_slurm.time, "sleep", lambda _: None)
    of_slurm.SlurmScheduler(None)._end_steps("quick-1f", "12")
    assert ran[1] == ("scancel", "12.0", "12.1")
    assert sorted(steps) == ["12.2", "12.3", "12.batch"]
    monkeypatch.setattr(of_slurm, "JOBS_END_S", 0)
    with pytest.raises(InfrastructureError, match=r"step 12\.2 of .* Go on in another job"):
        of_slurm.SlurmScheduler(None)._end_steps("quick-1", "12")


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_each_signal_asks_a_run_to_end_unless_it_is_ignored(name):
    number = signal.Signals[name]
    before = signal.signal(number, signal.SIG_DFL)
    try:
        with Interruption() as interruption:
            signal.raise_signal(number)
            with pytest.raises(InfrastructureError, match=f"ended by {name}"):
                interruption.check()
        signal.signal(number, signal.SIG_IGN)  # as in background
        with Interruption() as interruption:
            signal.raise_signal(number)
            interruption.check()
    finally:
        signal.signal(number, before)


def waiting(folder, limit_s=None):
    progress = SimpleNamespace(doing=lambda _: None, say=lambda _: None)
    return Waiting(SimpleNamespace(path=folder), progress, limit_s)


def pending(waited_s):
    return QueueState(state="pending", since="2026-11-24T08:00:00.000Z", waited_s=waited_s)


def test_nobody_has_waited_longer_than_the_run_has_been_going(tmp_path):
    told = waiting(tmp_path, limit_s=1000.0)
    told.heed(pending(1e300), "a build")
    assert told.seconds < 1000
    told.over()
    assert told.seconds < 1000


def test_the_limit_ends_a_run_that_has_waited(tmp_path):
    with pytest.raises(AssayError, match="queue_s = 0 is used up"):
        waiting(tmp_path, limit_s=0.0).heed(pending(1.0), "a build")
