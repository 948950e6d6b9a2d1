# SPDX-License-Identifier: Apache-2.0
"""Reasons that differ in names and numbers only are one; launchers' epitaphs hide nothing that a
program said; paths of a checkout are shortened. Open MPI 4.1.4's and hydra 4.0.2's epitaphs are as
they were printed, Open MPI 5's as its sources have them."""

from pathlib import Path

import pytest

import records
from records.text.plain_text import NO_REASON, grouped, masked, speaking

EPITAPHS = {
    "srun": """srun: error: n1: task 0: Exited with exit code 1
srun: error: n[1-2]: tasks 0-1,3: Killed
srun: Job step aborted: Waiting up to 32 seconds for job step to finish.
slurmstepd: error: *** STEP 12.0 ON n1 CANCELLED AT 2026-11-29T10:00:00 ***
srun: Terminating StepId=12.0
srun: error: Timed out waiting for job step to complete""",
    "Open MPI 4": """
--------------------------------------------------------------------------
Primary job  terminated normally, but 1 process returned
a non-zero exit code. Per user-direction, the job has been aborted.
--------------------------------------------------------------------------
--------------------------------------------------------------------------
mpirun.openmpi detected that one or more processes exited with non-zero status, thus causing
the job to be terminated. The first process to do so was:

  Process name: [[2813,1],0]
  Exit code:    3
--------------------------------------------------------------------------
mpirun.openmpi noticed that process rank 0 with PID 0 on node vm exited on signal 9 (Killed).
""",
    "Open MPI 5": """--------------------------------------------------------------------------
prterun detected that one or more processes exited with non-zero status,
thus causing the job to be terminated. The first process to do so was:

   Process name: [prterun-n1-12345@1,0]
   Exit code:    1
--------------------------------------------------------------------------
MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD
  Proc: [[17346,1],0]
  Errorcode: 1
prterun has exited due to process rank 0 with PID 0 on node n1 calling
"abort". This may have caused other processes in the application to be
terminated by signals sent by prterun (as reported here).""",
    "hydra": """
===================================================================================
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   PID 31295 RUNNING AT vm
=   EXIT CODE: 9
=   CLEANING UP REMAINING PROCESSES
=   YOU CAN IGNORE THE BELOW CLEANUP MESSAGES
===================================================================================
YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)
This typically refers to a problem with your application.
Please see the FAQ page for debugging suggestions""",
}
#: What no epitaph is: a cause that a launcher knows, and words of programs that look like one.
CAUSES = (
    "ModuleNotFoundError: No module named 'numpy'",
    "srun: error: n1: task 0: Out Of Memory",
    "srun: error: Unable to create step for job 12: Invalid job credential",
    "slurmstepd: error: *** JOB 12 ON n1 CANCELLED AT 2026-11-29T10:00:00 DUE TO TIME LIMIT ***",
    "slurmstepd: error: execve(): ./absent: No such file or directory",
    "Abort(1090703) on node 0 (rank 0 in comm 0): Fatal error in PMPI_Init: Other MPI error",
    "[vm:29072] Signal: Segmentation fault (11)",
    "mpirun was unable to launch the specified application as it could not find an executable:",
    "Exit code of the solver: diverged",
    "Processes: 12",
)


@pytest.mark.parametrize("cause", CAUSES)
@pytest.mark.parametrize("launcher", EPITAPHS)
def test_no_epitaph_is_the_reason_where_anything_else_was_said(launcher, cause):
    assert speaking(f"{cause}\n{EPITAPHS[launcher]}".splitlines()) == [cause]
    assert speaking(f"{EPITAPHS[launcher]}\n{cause}".splitlines()) == [cause]


@pytest.mark.parametrize(
    ("launcher", "told"),
    [
        ("srun", "srun: error: n[1-2]: tasks 0-1,3: Killed"),
        ("hydra", "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)"),
    ],
)
def test_without_anything_else_an_epitaph_tells_how_it_ended(launcher, told):
    assert speaking(EPITAPHS[launcher].splitlines())[-1] == told


def test_reasons_that_differ_in_names_and_numbers_are_one_group() -> None:
    late, gone = "did not end within {} s", "node n{} is gone (job {})"
    reasons = late.format(12), gone.format(3, 41), late.format(12), late.format(9.5)
    found = grouped([("failed", one) for one in (*reasons, gone.format(12, 7))])
    assert [(one.reason, one.places) for one in found] == [
        ("did not end within 12 s", (0, 2, 3)),
        ("node n3 is gone (job 41)", (1, 4)),
    ]


def test_another_status_is_another_group_and_no_reason_is_told() -> None:
    found = grouped([("failed", "a  b\nc"), ("wrong", "a b c"), ("lost", None), ("lost", "")])
    assert [(one.status, one.reason, len(one.places)) for one in found] == [
        ("lost", NO_REASON, 2),
        ("failed", "a b c", 1),
        ("wrong", "a b c", 1),
    ]
    assert len(grouped([("failed", "no such file"), ("failed", "no such node")])) == 2


def test_what_is_above_this_checkout_is_left_out_of_a_program_s_text() -> None:
    root = Path(records.__file__).parents[1]
    assert masked(f"ld: {root}/bench/x.o, {root}.o") == f"ld: …/bench/x.o, {root}.o"
