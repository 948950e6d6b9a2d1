# SPDX-License-Identifier: Apache-2.0
"""Jobs of a run: ended and waited for, told that they are needed; without a cluster."""

from types import SimpleNamespace

import pytest

from assay.cli.arguments import length_s
from assay.plan import make_plan
from assay.run import allocation as allocations_module
from assay.run import infrastructure
from assay.run.allocation import BEAT_S, Allocations, InOneJob
from assay.run.infrastructure import end_jobs
from assay.run.launches import Attempts, launches_to_come
from assay.schema import campaign_from_text
from assay.tests.test_driver import CAMPAIGN, SITE
from assay.tests.test_shapes import say
from assay.tests.test_shapes import site as site_of_scripts
from checks.common.session.outcome import Outcome
from records.errors import InfrastructureError
from records.waiting import CLEARING_S

site = site_of_scripts


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
            jobs = [f"{job} {state} assay-run" for job, state in states(passed).items()]
            say(
                site,
                "squeue",
                "\n".join(["echo 5 RUNNING assay-other", *map("echo {}".format, jobs)]),
            )

        clock, said = Clock(show), []
        monkeypatch.setattr(infrastructure, "time", clock)
        monkeypatch.setattr(infrastructure, "scaled", lambda limit_s: limit_s)
        say(site, "scancel", 'echo "$*" >> "$0.asked"')
        show(0.0)
        end_jobs(site, "run", say=said.append, pause=clock.pause, **more)
        return clock.now - 1000.0, said

    return ending


def cancelled(site):
    asked = site.programs / "scancel.asked"
    return asked.read_text().splitlines() if asked.exists() else []


def test_nodes_that_take_minutes_to_clear_are_waited_for_and_nothing_is_cancelled_again(
    slurm, site
):
    def states(passed):
        if passed < 1:
            return {"7": "RUNNING"}
        return {"7": "COMPLETING"} if passed < 70 else {}

    took, said = slurm(states)
    assert 70 <= took < 72
    assert cancelled(site) == ["7"]
    (told,) = said
    assert "cleared the nodes of job 7" in told


def test_a_job_that_does_not_end_is_told_every_few_seconds(slurm, site):
    with pytest.raises(InfrastructureError, match=r"job 7 of this run does not end$"):
        slurm(lambda _: {"7": "RUNNING"})
    assert 10 <= len(cancelled(site)) <= 14


def test_nodes_that_are_never_cleared_end_the_wait_with_the_reason(slurm, site):
    assert CLEARING_S >= 300
    with pytest.raises(InfrastructureError, match=r"job 7.*clears its nodes for 12 s"):
        slurm(lambda _: {"7": "COMPLETING"}, clearing_s=12.0)
    assert cancelled(site) == []


def test_nodes_that_were_given_back_are_not_waited_for_but_their_job_is_ended(slurm, site):
    states = {"7": "COMPLETING", "8": "RUNNING"}
    assert slurm(lambda _: states, spared="8", given_back={"7"}) == (0.0, [])
    assert slurm(lambda _: {"7": "COMPLETING"}, spared="7") == (0.0, [])
    assert cancelled(site) == []
    back = {"8": "RUNNING"}
    slurm(
        lambda passed: {**back, "7": "COMPLETING" if passed else "RUNNING"},
        spared="8",
        given_back={"7"},
    )
    assert cancelled(site) == ["7"]


@pytest.fixture
def beats(site, monkeypatch):
    """Allocations with a job that hears beats, a clock, what was said, and faults to come."""
    clock, said, faults = Clock(), [], []

    def put(_):
        if faults:
            raise faults.pop()

    monkeypatch.setattr(allocations_module, "time", clock)
    made = Allocations(
        *(site, SimpleNamespace(), SimpleNamespace(), clock.pause, InOneJob()),
        **{"plan": None, "say": said.append},
    )
    made._folder = SimpleNamespace(put=put)
    return made, clock, said, faults


def test_a_beat_that_fails_is_told_once_and_tried_again(beats):
    made, clock, said, faults = beats
    faults += [InfrastructureError("tar: no space left"), OSError(116, "stale")]
    for _ in range(3):
        clock.pause(BEAT_S + 1)
        made.beat()
    (told,) = said
    assert "hears nothing now, trying again" in told
    assert "stale" in told
    assert faults == []
    faults += [InfrastructureError("again")]
    clock.pause(BEAT_S + 1)
    made.beat()
    assert len(said) == 2


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1-02:03", 93780), ("1-02", 93600), ("4:00:00", 14400), ("30:00", 1800), ("30", 1800)],
)
def test_the_time_asked_for_is_read_as_sbatch_reads_it(text, seconds):
    assert length_s(text) == seconds


@pytest.mark.parametrize("fault", ["allocation", "clock"])
def test_a_launch_lost_by_what_is_not_its_own_has_its_attempt_still(fault):
    plan = make_plan(campaign_from_text("small.yaml", CAMPAIGN), SITE)
    cut, other, *_ = launches_to_come(plan, [])
    attempts = Attempts(retries=0)
    lost = Outcome("lost", "allocation 7 was cancelled, or a clock was set", fault=fault)
    attempts.made(cut, lost)
    attempts.made(other, Outcome("lost", "node n1 died", fault="nodes"))
    assert (attempts.left(cut), attempts.left(other)) == (True, False)
    attempts.made(cut, lost)
    assert not attempts.left(cut)
    retried = Attempts(retries=1)
    retried.made(other, Outcome("lost", "node n1 died", fault="nodes"))
    assert retried.left(other)
