# SPDX-License-Identifier: Apache-2.0
"""Launchers' epitaphs hide nothing that a program said. Open MPI 4.1.4's and hydra 4.0.2's are as
they were printed, Open MPI 5's as its sources have them."""

import pytest

from records.text.reasons import speaking

EPITAPHS = {
    "srun": """srun: error: n1: task 0: Exited with exit code 1
srun: error: n[1-2]: tasks 0-1,3: Killed
srun: Job step aborted: Waiting up to 32 seconds for job step to finish.
slurmstepd: error: *** STEP 12.0 ON n1 CANCELLED AT 2026-11-29T10:00:00 ***
srun: Terminating StepId=12.0
srun: error: Timed out waiting for job step to complete""",
    "srun, PMI": """In: PMI_Abort(7, application called MPI_Abort(MPI_COMM_WORLD, 7) - process 0)
srun: error: n1: task 0: Segmentation fault (core dumped)""",
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
    "Open MPI 4, abort": """
--------------------------------------------------------------------------
MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD
with errorcode 7.

NOTE: invoking MPI_ABORT causes Open MPI to kill all MPI processes.
You may or may not see output from other processes, depending on
exactly when Open MPI kills them.
--------------------------------------------------------------------------
[n1:29072] 1 more process has sent help message help-mpi-api.txt / mpi-abort
[n1:29072] Set MCA parameter "orte_base_help_aggregate" to 0 to see all help / error messages""",
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
    "hydra, abort": """
Abort(7) on node 0 (rank 0 in comm 0): application called MPI_Abort(MPI_COMM_WORLD, 7)
[proxy:0:1@n2] HYD_pmcd_pmip_control_cmd_cb (pm/pmiserv/pmip_cb.c:480): assert (!closed) failed
[mpiexec@n1] main (ui/mpich/mpiexec.c:340): process manager error waiting for completion""",
    "Intel MPI": """=   RANK 0 PID 1234 RUNNING AT n1
=   KILLED BY SIGNAL: 11 (Segmentation fault)""",
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
