# SPDX-License-Identifier: Apache-2.0
"""Slurm's words on a job that does not run, in the words of versions 20.11 to 24.11."""

import pytest

from checks.common.slurm.job import last_words, refusal_verdict, waits_in_vain

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
POLICY = "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"


def limits(*names: str) -> list[str]:
    """Refusals for limits that sbatch names in a line before."""
    return [f"sbatch: error: {name}\n{BATCH}{POLICY}" for name in names]


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
    "unclear": [f"{BATCH}{POLICY}", f"{TEST}{POLICY}"],
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
