# SPDX-License-Identifier: Apache-2.0
"""Limits of waiting, in seconds: each ends what hangs, and nothing honest reaches it.

Work of this machine has `scaled` limits. Not here are pauses between two looks, what a campaign, a
site or an option limits, and what an interface documents (the budget of a vetting).
"""

import os

#: A command of this machine; site commands, modules and those of a virtual cluster are some.
COMMAND_S = 60.0
#: A command of Slurm, which waits MessageTimeout for its controller (30 in a virtual cluster).
SLURM_COMMAND_S = 40.0
#: A connection to a node's slurmd.
CONNECTION_S = 5.0
#: srun ends its step when it is told to.
STEP_END_S = 30.0
#: Slurm clears the nodes of a job whose end is asked for.
JOB_CLEARING_S = 60.0
#: Jobs and steps of a run end when they are cancelled.
JOBS_END_S = 60.0
#: Nodes are clear of a run's jobs that have ended (never scaled): epilogs take minutes, and a node
#: that is gone as long as Slurm's SlurmdTimeout.
CLEARING_S = 600.0
#: Nodes that a job waits for are down, and come back or are given up.
DOWN_NODES_S = 20.0
#: Slurm's controller, while a job runs, and for a job that waits (minutes: never scaled).
CONTROLLER_S, PENDING_CONTROLLER_S = 120.0, 600.0
#: Slurm does not answer while a job is handed in, or a probe job waits (never scaled).
SILENCE_S = 300.0
#: A ReFrame session, after its last launch or once it is told to end.
SESSION_END_S = 60.0
#: One way to start ranks, in a probe job.
ATTEMPT_S = 40.0
#: A program or library of ours is compiled; those of all environments on a login node.
BUILD_S, BUILDS_S = 300.0, 600.0
#: A browser prints a page as PDF.
PRINT_S = 120.0
#: A service of notifications answers (not scaled: it is another machine).
NOTIFY_S = 30.0
#: A daemon of a virtual cluster answers; nodes, and each of them in addition, take jobs.
DAEMON_S, NODES_S, NODE_S = 120.0, 60.0, 0.5
#: Processes of a virtual cluster end when they are killed, and leave their control groups.
KILLED_S = 60.0
#: Another command on the same virtual cluster ends.
CLUSTER_LOCK_S = 60.0

_MOST = 4.0


def scaled(limit_s: float) -> float:
    """A limit for work of this machine, up to fourfold by its load as the wait begins."""
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    return limit_s * min(_MOST, max(1.0, load))
