# SPDX-License-Identifier: Apache-2.0
"""Asks Slurm about a run's site: whether it, the work folder and the nodes serve, what the
partition allows, in which job assay itself runs; ends the jobs of a run.

Each question has a time limit, for what is asked may hang. Launches are steps of the job that assay
runs in where it holds enough nodes.
"""

import os
import socket
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from assay.sites.site import Site
from assay.terminal import Say
from checks.common.slurm import commands
from checks.common.slurm.job import Allocation
from records.errors import AssayError, ExitStatus, InfrastructureError, UnreachableError
from records.run.plan import Plan, PlannedCase
from records.waiting import CLEARING_S, JOBS_END_S, SLURM_COMMAND_S, scaled
from reports.notation.labels import case_names

#: Seconds between two times that the jobs of a run are cancelled.
_AGAIN_S = 5.0


def asked(site: Site, *argv: str) -> commands.Answer:
    """Run a command where launches are submitted. Raises InfrastructureError when
    it cannot be run or takes too long."""
    answer = site.ask(argv, limit_s=scaled(SLURM_COMMAND_S))
    if answer.status == 127:
        raise InfrastructureError(f"{argv[0]} cannot be run: {answer.said}")
    return answer


def answer_of(site: Site, *argv: str) -> str:
    """Output of such a command; also raises, with its last words, when it fails."""
    answer = asked(site, *argv)
    if answer.status != 0:
        raise InfrastructureError(f"{argv[0]} failed: {answer.said}")
    return answer.stdout


def require_slurm(site: Site) -> None:
    """Raise UnreachableError unless Slurm answers."""
    try:
        answer_of(site, "squeue", "--noheader", "--me", "--format=%i")
    except InfrastructureError as error:
        raise UnreachableError(f"Slurm does not answer: {error}") from error


def trouble(site: Site, work: Path, nodes: int) -> str | None:
    """Fault that keeps launches of up to `nodes` nodes from being run; else None. Nodes that
    are drained or reserved come back, and are waited for in Slurm's queue."""
    try:
        if not site.down_nodes_return:
            words = ["sinfo", "-hN", "--format=%N %T", "-p", site.description.slurm_partition]
            states = commands.pairs(answer_of(site, *words))
            out = sorted(f"{n} {state}" for n, state in states.items() if commands.is_down(state))
            if (there := len(states) - len(out)) < nodes:
                return (
                    f"launches need {nodes} nodes, and {there} of {len(states)} take jobs"
                    f" ({', '.join(out) or 'no others are known'})"
                )
        require_slurm(site)
    except InfrastructureError as error:
        return f"{error}"
    probe = str(work / ".probe")
    try:
        answer_of(site, "dd", "if=/dev/zero", f"of={probe}", "bs=64k", "count=16", "conv=fsync")
        answer_of(site, "rm", "-f", probe)
    except InfrastructureError as error:
        return f"the work folder {work} cannot be written: {error}"
    return None


def end_steps(site: Site, name: str, job: str) -> None:
    """End the steps that launches of the run with this work folder have left in a job; wait until
    they are gone. Raises InfrastructureError when Slurm does not answer, or a step does not end."""
    slurm, limit_s = commands.Slurm(lambda argv: asked(site, *argv)), scaled(JOBS_END_S)
    since = time.monotonic()
    while True:
        left = [step for step, called in slurm.steps(job) if called.startswith(f"assay-{name}.")]
        if not left:
            return
        if time.monotonic() - since > limit_s:
            raise InfrastructureError(
                f"step {left[0]} of this run does not end, though it was cancelled (Slurm ends none"
                " whose srun was killed before its ranks began). Go on in another job, or outside"
                " of one"
            )
        slurm.cancel(*left)
        time.sleep(0.5)


def end_jobs(
    site: Site,
    name: str,
    *,
    pause: Callable[[float], None] = time.sleep,
    clearing_s: float = CLEARING_S,
) -> None:
    """End every job that Slurm knows of the run with this work folder; wait until they are gone.
    Raises InfrastructureError when Slurm does not answer, or a job does not end."""
    require_slurm(site)
    begun, cancelled = time.monotonic(), -_AGAIN_S
    ending_s = scaled(JOBS_END_S)
    while True:
        listed = answer_of(site, "squeue", "--noheader", "--me", "--format=%i %T %k").splitlines()
        jobs = [row.split() for row in listed if row.endswith(f" assay-{name}")]
        if not jobs:
            return
        run = [job for job, state, *_ in jobs if state != "COMPLETING"]
        now = time.monotonic()
        if now - begun > (ending_s if run else clearing_s):
            after = "" if run else f": Slurm clears its nodes for {clearing_s:.0f} s (COMPLETING)"
            job = min(run) if run else jobs[0][0]
            raise InfrastructureError(f"job {job} of this run does not end{after}")
        if run and now - cancelled >= _AGAIN_S:
            answer_of(site, "scancel", *run)
            cancelled = now
        pause(0.5)


def partition_limits(site: Site) -> tuple[int | None, int | None]:
    """Most nodes of a job in the site's partition by Slurm, and its seconds by the site's file and
    by Slurm; None: no limit. Raises AssayError for a partition that Slurm does not know,
    InfrastructureError where it does not answer."""
    name, stated_s = site.description.slurm_partition, site.description.longest_job_s
    answer = asked(site, "scontrol", "show", "partition", "-o", name)
    if answer.status and "not found" in answer.stderr:
        listed = answer_of(site, "sinfo", "--noheader", "--format=%R").split()
        raise AssayError(
            f"site {site.name}: Slurm has no partition {name}; it has"
            f" {', '.join(dict.fromkeys(listed)) or 'none'}. Correct `partitions` in"
            f" site-config/{site.name}/site.yaml"
        )
    if answer.status:
        raise InfrastructureError(f"Slurm does not answer: {answer.said}")
    shown = commands.fields(answer.stdout)
    limits = (stated_s, commands.seconds_of(shown.get("MaxTime", "")))
    counts = (shown.get(name, "") for name in ("MaxNodes", "TotalNodes"))
    return (
        min((int(count) for count in counts if count.isdigit()), default=None),
        min((limit_s for limit_s in limits if limit_s is not None), default=None),
    )


def refuse_unfit_cases(
    site: Site, plan: Plan, most_nodes: int | None, longest_s: int | None
) -> None:
    """Raise AssayError for a case of the plan that can never run in jobs of `most_nodes` and
    `longest_s`."""
    partition = f"partition {site.description.slurm_partition} of site {site.name}"
    for case in (case for case in plan.cases if case.skipped is None):
        if longest_s is not None and case.least_s + commands.HALTING_S > longest_s:
            unfit = f"is estimated at {case.least_s:g} s; {partition} ends jobs after {longest_s} s"
            remedy = "shorten the case"
        elif most_nodes is not None and case.nodes > most_nodes:
            unfit = f"needs {case.nodes} nodes; {partition} allows a job {most_nodes}"
            remedy = "correct `nodes` in its site.yaml"
        else:
            continue
        raise AssayError(
            f"{case_names(plan.cases)[case.id]} {unfit}. Choose another partition"
            f" (--site {site.name}:PARTITION), or {remedy}; nothing was run"
        )


def partition_nodes(site: Site) -> list[str]:
    """The nodes of the site's partition and kind, in service or not; none where its constraint is
    more than features joined by `&`, so that Slurm alone knows the kind."""
    access = site.description.access
    partition = f"--partition={site.description.slurm_partition}"
    features = commands.pairs(answer_of(site, "sinfo", "-hN", partition, "--format=%N %f"))
    constraint = "".join(commands.option_values(access, "constraint", "C")[-1:])
    if set(constraint) & set("|[]()*!"):
        return []
    wanted = {*filter(None, constraint.split("&"))}
    kind = [node for node, has in features.items() if wanted <= {*has.split(",")}]
    named = _named(site, *commands.option_values(access, "nodelist", "w"))
    return sorted({*kind} & {*named} if named else kind)


def _named(site: Site, *lists: str) -> list[str]:
    """The nodes of lists in Slurm's notation."""
    words = "scontrol", "show", "hostnames"
    return [node for nodes in lists for node in answer_of(site, *words, nodes).split()]


def own_job(site: Site) -> dict[str, str] | None:
    """Slurm's description of the job of the site's partition that this process runs in. None
    outside of its jobs, and in a heterogeneous job, whose components are jobs of their own."""
    job, cluster = os.environ.get("SLURM_JOB_ID"), os.environ.get("SLURM_CLUSTER_NAME")
    if job is None or cluster is None:
        return None
    if cluster != commands.setting(answer_of(site, "scontrol", "show", "config"), "ClusterName"):
        return None
    shown = asked(site, "scontrol", "show", "job", "-o", job).stdout
    described = commands.fields(commands.job_line(shown, job))
    serves = (
        described.get("JobState") == "RUNNING"
        and described.get("NodeList", "(null)") != "(null)"
        and "HetJobId" not in described
        and described.get("Partition") == site.description.slurm_partition
    )
    return described if serves else None


def over(own_job: Allocation, why: str) -> AssayError:
    """Error where the job that assay runs in has ended, or has no time left."""
    return AssayError(
        f"job {own_job.job_id}, in which assay runs, serves no more launches: {why}; what is done"
        " is kept. Go on in another job, or outside of one",
        ExitStatus.INCONCLUSIVE,
    )


def own_allocation(
    site: Site, cases: Sequence[PlannedCase], seed: int, say: Say
) -> Allocation | None:
    """The job that this process runs in, where launches of these cases have room in it.

    None outside a job of the site's partition, in one of fewer nodes or of another kind, and in one
    that is not exclusive: others' ranks could run on them meanwhile. The node that this process
    runs on is left out where the others suffice.
    """
    job, unfit = own_job(site), ""
    if job is None:
        return None
    named, all_nodes = f"job {job['JobId']}, in which assay runs,", _named(site, job["NodeList"])
    if not {*all_nodes} <= {*partition_nodes(site)}:
        unfit = "some may be none that the site's `access` selects"
    elif job.get("OverSubscribe") != "NO" or job.get("Exclusive", "NODE") != "NODE":
        # Slurm 26.05 tells of each in a key of its own.
        unfit = "it does not have them alone (--exclusive)"
    if unfit:
        say(f"the nodes of {named} are not used: {unfit}")
        return None
    out = _named(site, *commands.option_values(site.description.access, "exclude", "x"))
    here, widest = socket.gethostname().partition(".")[0], max((c.nodes for c in cases), default=0)
    nodes = [node for node in all_nodes if node not in out]
    others = [node for node in nodes if node.partition(".")[0] != here]
    if len(nodes) < max(1, widest):
        return None
    if len(others) < max(1, widest):
        say(f"{named} has no node to spare: assay itself takes time of {here}")
    rest_s = commands.left_s(job)
    return Allocation(
        job_id=job["JobId"],
        nodes=others if len(others) >= max(1, widest) else nodes,
        ends_at=sys.float_info.max if rest_s is None else time.monotonic() + rest_s,
        seed=seed,
        at_once=site.description.concurrency,
        cores=site.description.shared_cores,
    )
