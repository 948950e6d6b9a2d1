# SPDX-License-Identifier: Apache-2.0
"""What became of an allocation, from what Slurm prints of its job."""

from subprocess import CompletedProcess

import pytest

from checks.common.slurm import job as allocation_end
from checks.common.slurm.job import AllocationEnd, ControllerSilentError

#: As scontrol of Slurm 24.11 prints it, where jobs can be preempted.
LINE = (
    "JobId={job} JobName=allocation UserId=me(1000) GroupId=me(1000) MCS_label=N/A Priority=1"
    " JobState={state} Reason=None Dependency=(null) Requeue=0 Restarts=0 BatchFlag=1 Reboot=0"
    " ExitCode=0:0 RunTime={ran} TimeLimit={limit} TimeMin=N/A SubmitTime=2026-11-22T08:00:00"
    " StartTime=2026-11-22T08:00:00 EndTime={end} Deadline=N/A"
    " PreemptEligibleTime=2026-11-22T08:00:00 PreemptTime={preempted} SuspendTime=None"
    " NodeList=n[1-4] BatchHost=n1 NumNodes=4 \n"
)
RUNS = {
    "job": 12,
    "state": "RUNNING",
    "ran": "00:10:00",
    "limit": "1-00:00:00",
    "end": "2026-11-23T08:00:00",
    "preempted": "None",
}


def printed(**changes):
    return CompletedProcess([], 0, LINE.format(**(RUNS | changes)), "")


SILENT = CompletedProcess([], 124, "", "scontrol did not answer within 15 s")
UNREACHED = CompletedProcess(
    [], 1, "", "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n"
)
FORGOTTEN = CompletedProcess([], 1, "", "slurm_load_jobs error: Invalid job id specified\n")


class Slurm:
    """Gives these answers one after the other, and the last one for ever; time passes in naps."""

    def __init__(self, *answers):
        self.answers, self.asked, self.now = list(answers), 0, 0.0

    def described(self, kind, name):
        assert (kind, name) == ("job", "12")
        self.asked += 1
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def nap(self, seconds):
        self.now += seconds


@pytest.fixture
def slurm(monkeypatch):
    def with_answers(*answers):
        made = Slurm(*answers)
        monkeypatch.setattr(allocation_end, "described", made.described)
        monkeypatch.setattr(allocation_end.time, "sleep", made.nap)
        monkeypatch.setattr(allocation_end.time, "monotonic", lambda: made.now)
        return made

    return with_answers


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (printed(), None),
        (printed(preempted="2026-11-22T08:09:58"), "is being preempted by another job"),
        (printed(preempted="22 Nov 08:09"), "is being preempted by another job"),
        (printed(preempted="Unknown"), None),
        (printed(limit="00:10:20"), "is at the end of its time limit"),
        (printed(limit="UNLIMITED", end="Unknown"), None),
        (printed(state="PREEMPTED"), "was preempted by another job"),
        (printed(state="CANCELLED"), "was cancelled"),
        (printed(state="BOOT_FAIL"), "ended BOOT_FAIL"),
        (printed(state="COMPLETING"), "ended; Slurm has not said why"),
        (FORGOTTEN, "ended; Slurm has forgotten it"),
    ],
)
def test_an_end_is_told_by_state_and_one_to_come_by_what_slurm_has_set(slurm, answer, said):
    slurm(answer)
    told = AllocationEnd("12").told()
    assert (told is None) if said is None else said in told


def test_of_an_array_the_own_job_counts(slurm):
    other = printed(job=13, state="CANCELLED").stdout
    slurm(CompletedProcess([], 0, printed().stdout + other, ""))
    assert AllocationEnd("12").told() is None


def test_a_controller_that_is_silent_for_a_moment_is_asked_again(slurm):
    made = slurm(SILENT, UNREACHED, printed(state="TIMEOUT"))
    assert AllocationEnd("12").told() == "reached its time limit"
    assert made.asked == 3


def test_a_controller_that_stays_silent_tells_no_end_and_costs_its_patience_once(slurm):
    made, end = slurm(UNREACHED), AllocationEnd("12")
    with pytest.raises(
        ControllerSilentError, match=r"did not answer for 30 s: .*Unable to contact"
    ):
        end.told()
    assert 30 <= made.now <= 33
    asked = made.asked
    with pytest.raises(ControllerSilentError):
        end.told()
    assert made.asked == asked + 1
    made.now += 1000
    made.answers = [SILENT, printed()]
    assert end.told() is None
