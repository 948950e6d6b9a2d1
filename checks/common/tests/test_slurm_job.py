# SPDX-License-Identifier: Apache-2.0
"""Job of Slurm, from what Slurm prints of it: handed in, refused, waiting, silent, ended."""

import time
from functools import cached_property

import pytest

from checks.common.slurm import job as slurm_job
from checks.common.slurm.commands import Answer, Slurm, left_s, run_here, seconds_of, slurm_seconds
from checks.common.slurm.job import (
    ControllerSilentError,
    SlurmJob,
    last_words,
    refusal_verdict,
    waits_in_vain,
)

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


def test_a_job_may_begin_before_sbatch_returns(slurm):
    made = slurm()
    begun = made.now

    def slow():
        made.now += 5
        return TAKEN

    assert made.job.submit(slow, (), made.pause) is None
    assert made.job.handed_in.steady == begun


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


def test_a_command_that_is_not_there_has_a_status():
    assert run_here(["no-such-command"]).status == 127


@pytest.mark.parametrize(
    ("tracked", "epilog", "leaves"),
    [
        ("proctrack/linuxproc", "Epilog = (null)", True),
        ("proctrack/pgid", "Epilog[0] = /etc/slurm/clean", True),
        ("proctrack/linuxproc", "Epilog[0] = /run/assay/end-of-job", False),
        ("proctrack/linuxproc", "Epilog = /run/assay/end-of-job", False),
        ("proctrack/cgroup", "Epilog = (null)", False),
    ],
)
def test_processes_outlive_a_job_where_nothing_holds_them(tracked, epilog, leaves):
    text = f"{epilog}\nEpilogMsgTime           = 2000 usec\nProctrackType           = {tracked}\n"
    assert Slurm(lambda _: Answer(0, text, "")).leaves_processes() is leaves


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("00:00:05", 5.0),
        ("30", 1800.0),
        ("04:00:00", 14400.0),
        ("7-00:00:30", 604830.0),
        *((word, None) for word in ("UNLIMITED", "Partition_Limit", "INVALID", "")),
    ],
)
def test_durations_are_read_as_slurm_prints_them(said, seconds):
    assert seconds_of(said) == seconds


def test_a_job_ends_by_its_limit_whatever_the_clock_says_in_autumn(monkeypatch):
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now)
    end = "2026-10-25T02:30:00"
    told = {"TimeLimit": "1-00:00:00", "RunTime": "00:10:00", "EndTime": end}
    by_date = pytest.approx(slurm_seconds(end) - now)
    assert left_s(told) == 86400 - 600
    assert left_s(told | {"TimeLimit": "Partition_Limit"}) == by_date
    assert left_s(told | {"RunTime": "INVALID"}) == by_date
    assert left_s({"TimeLimit": "UNLIMITED", "RunTime": "00:10:00", "EndTime": "Unknown"}) is None


PENDING = {
    "waits": [
        *("ReqNodeNotAvail, UnavailableNodes:n[1-4]", "None", "Priority", "Resources"),
        *("Dependency", "BeginTime", "Licenses", "Reservation"),
        "(ReqNodeNotAvail,_May_be_reserved_for_other_job)",
        "ReqNodeNotAvail,_Reserved_for_maintenance",
        "Nodes_required_for_job_are_DOWN,_DRAINED_or_reserved_for_jobs_in_higher_priority",
        *("NodeDown", "PartitionDown", "PartitionInactive", "JobHeldUser", "JobHeldAdmin"),
        *("launch_failed_requeued_held", "QOSUsageThreshold", "BurstBufferResources"),
        *("MaxPoweredUpNodes", "MpiPortsBusy", "AReasonOfALaterVersion"),
        # A limit on what the running jobs of a user or an account have together.
        *("AssocMaxJobsLimit", "QOSMaxCpuPerUserLimit", "QOSMaxMemoryPerUser", "QOSJobLimit"),
        *("AssocGrpNodeLimit", "AssocGrpCPURunMinutesLimit", "MaxJobsPerAccount"),
    ],
    "never": [
        *("PartitionTimeLimit", "PartitionNodeLimit", "PartitionConfig", "BadConstraints"),
        *("Constraints", "InvalidAccount", "InvalidQOS", "QOSNotAllowed", "AccountNotAllowed"),
        *("ReservationDeleted", "DependencyNeverSatisfied", "AssocMaxWallDurationPerJobLimit"),
        *("QOSMaxWallDurationPerJobLimit", "AssocMaxNodePerJobLimit"),
        *("QOSMaxCpuMinutesPerJobLimit", "AssocMaxCpuPerNode", "QOSMaxGRESPerJob"),
        *("QOSMinCpuNotSatisfied", "MaxMemPerLimit", "AssocGrpCPUMinutesLimit"),
        *("AssocGrpBillingMinutes", "QOSGrpWallLimit"),
    ],
}


@pytest.mark.parametrize(
    ("reason", "verdict"), [(one, verdict) for verdict, all_ in PENDING.items() for one in all_]
)
def test_a_pending_reason_is_waited_for_or_not(reason, verdict):
    assert waits_in_vain(reason) == (verdict == "never")


BATCH = "sbatch: error: Batch job submission failed: "
TEST = "allocation failure: "
ACCOUNTING = "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"


def limits(*names: str) -> list[str]:
    """Refusals for limits that sbatch names in a line before."""
    return [f"sbatch: error: {name}\n{BATCH}{ACCOUNTING}" for name in names]


def failed(*reasons: str) -> list[str]:
    return [f"{BATCH}{reason}" for reason in reasons]


REFUSED = {
    "waits": [
        *limits("AssocMaxSubmitJobLimit", "QOSMaxSubmitJobPerUserLimit"),
        *limits("QOSGrpSubmitJobsLimit", "MaxSubmitJobsPerAccount"),
        "sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying\n"
        f"{BATCH}Resource temporarily unavailable",
        f"{TEST}Required node not available (down, drained or reserved)",
        f"{TEST}Requested nodes are busy",
        f"{TEST}Job can not start due to maintenance reservation.",
        *failed("Required partition not available (inactive or drain)"),
        *failed("System submissions disabled", "Requested reservation not usable now"),
    ],
    "never": [
        f"{TEST}Invalid account or account/partition combination specified",
        *failed("Invalid account or account/partition combination specified"),
        *failed("Invalid qos specification", "Invalid partition name specified"),
        "sbatch: error: invalid partition specified: nowhere\n"
        f"{BATCH}Invalid partition name specified",
        *failed("Requested time limit is invalid (missing or exceeds some limit)"),
        *failed("Invalid feature specification", "Node count specification invalid"),
        *failed("Invalid generic resource (gres) specification", "Access/permission denied"),
        *failed("User's group not permitted to use this partition"),
        *failed("Requested reservation is invalid", "More processors requested than permitted"),
        *limits("QOSMaxWallDurationPerJobLimit", "AssocMaxNodePerJobLimit"),
        "sbatch: unrecognized option '--quick'\nTry \"sbatch --help\" for more information",
        f"sbatch: error: please name your project with --account\n{BATCH}Unspecified error",
        "",
    ],
    "unreached": [
        *failed("Unable to contact slurm controller (connect failure)"),
        *failed("Socket timed out on send/recv operation", "Insane message length"),
        *failed("Zero Bytes were transmitted or received", "Unexpected missing socket error"),
        *failed("Error receiving message", "Protocol authentication error"),
        "sbatch: error: If munged is up, restart with --num-threads=10\nsbatch: error: Munge encode"
        ' failed: Failed to access "/run/munge/munge.socket.2": No such file or directory',
        *failed("I/O error writing script/environment to file"),
    ],
    "unclear": [f"{BATCH}{ACCOUNTING}", f"{TEST}{ACCOUNTING}"],
    "nodes": [
        f"{TEST}Requested node configuration is not available",
        f"{BATCH}Requested partition configuration not available now",
    ],
}


@pytest.mark.parametrize(
    ("said", "verdict"), [(one, verdict) for verdict, all_ in REFUSED.items() for one in all_]
)
def test_a_refusal_is_final_or_not(said, verdict):
    assert refusal_verdict(said) == verdict


def test_the_limit_and_the_error_are_told_in_one_line():
    told = last_words(REFUSED["waits"][0])
    assert told.startswith("sbatch: error: Batch job submission failed: Job violates")
    assert told.endswith("[AssocMaxSubmitJobLimit]")
    assert last_words("") == "no reason given"
