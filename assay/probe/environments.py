# SPDX-License-Identifier: Apache-2.0
"""Environments of a site as trials of a probe job, and what a job's answer says of each."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from assay.probe.reading import AttemptResult, ProbeResult, TrialResult
from assay.probe.script import ATTEMPT_S, Attempt, Trial
from assay.sites.description import EnvironmentKeys
from assay.sites.site import Site
from checks.common.evidence.ranks import Claim, contradictions
from checks.common.session.launch_commands import LAUNCHERS, Start, launch_words

#: Lines of a build's or a program's output that a message shows.
_SHOWN_LINES = 40


def trials_of(site: Site, names: Iterable[str], ranks: int, ranks_per_node: int) -> list[Trial]:
    """The environments as they are described; those without MPI are left out."""
    environments = site.description.environments
    return [
        trial_by(site, name, [environments[name]], ranks, ranks_per_node)
        for name in names
        if "mpi" in environments[name].features
    ]


def trial_by(
    site: Site,
    name: str,
    ways: Iterable[EnvironmentKeys],
    ranks: int,
    ranks_per_node: int,
    *,
    every: bool = False,
) -> Trial:
    """An environment that is started in several ways in turn, until one is right or in every."""
    environment, known = site.description.environments[name], list(ways)
    daemons = [LAUNCHERS[way.launcher].daemons != "none" for way in known]
    return Trial(
        name,
        environment.compiler,
        [_attempt(way, ranks, ranks_per_node) for way in known],
        prologue="\n".join(site.preparation(name)),
        preload=environment.preload,
        helpers=any(daemons) or bool(environment.preload),
        every=every,
    )


def _attempt(environment: EnvironmentKeys, ranks: int, ranks_per_node: int) -> Attempt:
    """How the launcher of an environment starts ranks, inside the session of every launch."""
    start = Start(
        ranks,
        ranks_per_node,
        mpirun=environment.mpirun or "",
        template=environment.launcher_command or "",
    )
    words = [*launch_words(environment.launcher, start), *environment.launcher_options]
    daemons = LAUNCHERS[environment.launcher].daemons
    session = ["./session.sh", daemons, str(ATTEMPT_S), *words]
    return Attempt(shlex.join(words), shlex.join(session))


def fault_of(site: Site, name: str, result: ProbeResult, ranks_per_node: int) -> str | None:
    """Why an environment cannot be measured as it is described; None where the job proved it.

    A fault of a build or a start comes with what was printed, in full up to 40 lines.
    """
    trial = result.trials[name]
    if not trial.ready:
        return f"its modules or `prepare` lines fail on a node:\n{_tail(trial.prepared)}"
    if trial.build_status != 0:
        return f"its programs do not compile:\n{_tail(trial.build_output)}"
    right = trial.right
    if right is None:
        return start_fault(trial, result)
    against = placement_faults(site, name, right, result, ranks_per_node)
    return "; ".join(against) or None


def start_fault(trial: TrialResult, result: ProbeResult) -> str:
    """What each way to start ranks came to."""
    if not trial.attempts:
        return f"its ranks were not started: the job ended {result.state}"
    return "its ranks do not start right: " + "; ".join(
        f"{attempt.label}: {attempt.reason}" for attempt in trial.attempts
    )


def placement_faults(
    site: Site,
    name: str,
    attempt: AttemptResult,
    result: ProbeResult,
    ranks_per_node: int,
    *,
    counted: bool | None = None,
) -> list[str]:
    """What the ranks' evidence says against nodes, library or network as described.

    `counted`: whether interface counters are to have seen the messages; None: as described.
    """
    described = site.description
    claim = Claim(
        nodes=result.allocated,
        ranks=len(result.allocated) * ranks_per_node,
        ranks_per_node=ranks_per_node,
        library_pattern=described.environments[name].library,
        device=described.environments[name].device,
        wire_is_counted=described.network.counted if counted is None else counted,
    )
    return contradictions(attempt.evidence, claim)


def _tail(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return "\n".join(f"    {line}" for line in lines[-_SHOWN_LINES:]) or "    (nothing was printed)"
