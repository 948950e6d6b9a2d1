# SPDX-License-Identifier: Apache-2.0
"""Job of Slurm, from what Slurm prints of it: handed in, waiting, silent, ended."""

from functools import cached_property

import pytest

from checks.common.slurm import job as slurm_job
from checks.common.slurm.commands import Answer, Slurm
from checks.common.slurm.job import ControllerSilentError, SlurmJob

#: As scontrol of Slurm 24.11 prints it, where jobs can be preempted.
LINE = (
    "JobId={job} JobName=allocation UserId=me(1000) GroupId=me(1000) MCS_label=N/A Priority=1"
    " JobState={state} Reason={reason} Dependency=(null) Requeue=0 Restarts=0 BatchFlag=1 Reboot=0"
    " ExitCode=0:0 RunTime=00:10:00 TimeLimit={limit} TimeMin=N/A SubmitTime=2026-11-22T08:00:00"
    " StartTime=2026-11-22T08:00:00 EndTime={end} Deadline=N/A"
    " PreemptEligibleTime=2026-11-22T08:00:00 PreemptTime={preempted} SuspendTime=None"
    " NodeList=n[1-4] BatchHost=n1 NumNodes=4 \n"
)
RUNS = {"job": 12, "state": "RUNNING", "reason": "None", "limit": "1-00:00:00"}
RUNS |= {"end": "2026-11-23T08:00:00", "preempted": "None"}


def printed(**changes):
    return Answer(0, LINE.format(**(RUNS | changes)), "")


SILENT = Answer(124, "", "scontrol did not answer within 15 s")
FAILED = "slurm_load_jobs error:"
UNREACHED = Answer(1, "", f"{FAILED} Unable to contact slurm controller (connect failure)\n")
FORGOTTEN = Answer(1, "", f"{FAILED} Invalid job id specified\n")


class Played:
    """A job of a Slurm that gives these answers one after the other, and the last one for ever;
    time passes in pauses."""

    def __init__(self, *answers):
        self.answers, self.asked, self.now, self.told = list(answers), 0, 0.0, []

    @cached_property
    def job(self):
        return SlurmJob(Slurm(self._run), "12", watch=self.told.append)

    def _run(self, argv):
        assert argv == ("scontrol", "show", "job", "-o", "12")
        return self.answer()

    def answer(self):
        self.asked += 1
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def pause(self, seconds):
        self.now += seconds


@pytest.fixture
def slurm(monkeypatch):
    def with_answers(*answers):
        made = Played(*answers)
        monkeypatch.setattr(slurm_job.time, "sleep", made.pause)
        monkeypatch.setattr(slurm_job.time, "monotonic", lambda: made.now)
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
        (printed(state="FAILED", reason="NonZeroExitCode"), "ended FAILED (NonZeroExitCode)"),
        (printed(state="COMPLETING"), "ended; Slurm has not said why"),
        (FORGOTTEN, "ended; Slurm has forgotten it"),
    ],
)
def test_an_end_is_told_by_state_and_one_to_come_by_what_slurm_has_set(slurm, answer, said):
    told = slurm(answer).job.end_reason()
    assert (told is None) if said is None else said in told


def test_of_an_array_the_own_job_counts(slurm):
    other = printed(job=13, state="CANCELLED").stdout
    assert slurm(Answer(0, printed().stdout + other, "")).job.end_reason() is None


def test_a_controller_that_is_silent_for_a_moment_is_asked_again(slurm):
    made = slurm(SILENT, UNREACHED, printed(state="TIMEOUT"))
    assert made.job.end_reason() == "reached its time limit"
    assert made.asked == 3


def test_a_controller_that_stays_silent_tells_no_end_and_costs_its_patience_once(slurm):
    made = slurm(UNREACHED)
    with pytest.raises(ControllerSilentError, match=r"not answer for 120 s: .*Unable to contact"):
        made.job.end_reason()
    assert 120 <= made.now <= 123
    asked = made.asked
    with pytest.raises(ControllerSilentError):
        made.job.end_reason()
    assert made.asked == asked + 1
    made.now += 1000
    made.answers = [SILENT, printed()]
    assert made.job.end_reason() is None


def test_a_job_is_looked_at_and_what_it_waits_for_is_told(slurm):
    made = slurm(printed(state="PENDING"), UNREACHED, FORGOTTEN)
    assert made.job.look()
    made.job.tell("pending", "because\x1b[2J")
    (state,) = made.told
    assert (state.job_id, state.reason) == ("12", "because [2J")
    assert state.expected_start is not None
    made.now += 7
    assert not made.job.look()
    assert (made.job.state, made.job.silent_s) == ("PENDING", 7.0)
    assert "Unable to contact" in made.job.silence
    assert made.job.look()
    assert (made.job.state, made.job.silent_s) == ("FORGOTTEN", 0.0)


TAKEN = Answer(0, "12;cluster\n", "")
FULL = Answer(1, "", "sbatch: error: Slurm temporarily unable to accept job, sleeping\n")
POLICY = Answer(1, "", "sbatch: error: Job violates accounting/QOS policy\n")


@pytest.mark.parametrize(
    ("answers", "verdict", "tries"),
    [
        ([TAKEN], None, 1),
        ([FULL, FULL, UNREACHED, TAKEN], None, 4),
        ([FULL, POLICY, TAKEN], "unclear", 2),
        ([FORGOTTEN], "never", 1),
        ([UNREACHED], "unreached", 9),
    ],
)
def test_a_job_is_handed_in_again_while_slurm_may_take_it_later(slurm, answers, verdict, tries):
    made = slurm(*answers)
    refused = made.job.submit(made.answer, ("waits", "unreached"), made.pause)
    assert (refused.verdict if refused else None, made.asked) == (verdict, tries)
    assert made.job.job_id == "12"
    assert [state.state for state in made.told] == ["not-taken"] * (tries - 1)


@pytest.mark.parametrize(
    ("reason", "said", "never"),
    [
        ("None", "", None),
        ("Job_Held", "Job Held", None),
        ("Priority", "Priority", None),
        ("PartitionTimeLimit", "PartitionTimeLimit", "PartitionTimeLimit"),
    ],
)
def test_a_reason_is_slurms_or_none_and_tells_a_job_that_can_never_run(slurm, reason, said, never):
    made = slurm(printed(reason=reason))
    assert made.job.look()
    made.job.tell("pending", made.job.reason)
    assert made.told[-1].reason == said
    assert (made.job.never_runs() or "").startswith(never or "")
    assert (made.job.never_runs() is None) == (never is None)
