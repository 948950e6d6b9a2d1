# SPDX-License-Identifier: Apache-2.0
"""Outcome of a launch, by what it printed, what was asked of it, and how its job ended.

A launch is judged here and in this order: lost (Slurm or a node failed), wrong (a line of ours is
damaged, or data were), failed (the program did not reach its end), wrong (evidence or answer
contradict the request), ok. Only an ok launch gives measurements. The same function judges it when
it ends, and again from the raw output that a run keeps.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from checks.common import json_lines
from checks.common.answer import beyond_window, longer_than_launch
from checks.common.base import MpiCheck, OwnProgram
from checks.common.definition import is_short
from checks.common.evidence import contradictions, flags
from checks.common.json_lines import TAIL_BYTES, Printed, last_line
from checks.common.metrics import HOPS
from checks.common.registry import message_of
from checks.common.session.launch_commands import NO_MODULE
from checks.common.session.outcome import Loss, Moment, Outcome, check_encoding
from records.flags import BEYOND_LIMIT, TOO_SHORT, UNPROVEN
from records.metric import Metric
from records.plugins import hooks
from records.site.limits import bound, is_beyond
from records.site.pair_scans import ARTIFACT

#: States of a job that Slurm ended.
ENDED_BY_SLURM = ("TIMEOUT", "CANCELLED", "DEADLINE", "OUT_OF_MEMORY", "PREEMPTED")
#: How session.sh ends where the launcher itself is not there: statuses of `timeout`, and its words.
_NOT_RUN, _NO_LAUNCHER = (126, 127), "timeout: failed to run command"
#: How session.sh ends at its time limit.
_AT_LIMIT = (124, 137)


@dataclass(frozen=True, kw_only=True)
class EndedJob:
    """The job of a launch that has ended: what it was asked for, and what Slurm says of it.

    `handed_in` and `ended` are by the harness's clock; `dead_nodes` names nodes that are gone, and
    is asked only of a launch that did not end well.
    """

    token: str
    nodes: Sequence[str]
    handed_in: Moment
    ended: Moment
    daemons: str = "none"
    limit_s: float = 0.0
    state: str = "COMPLETED"
    exit_status: int = 0
    loss: Loss | None = None
    dead_nodes: Callable[[], str | None] = lambda: None


class JudgingError(Exception):
    """The check's own code failed while it read a launch; the message says where."""


def judge(printed: Printed, job: EndedJob, launch: MpiCheck) -> Outcome:
    """The outcome of a launch that `printed` this on stdout.

    What readers expect of bad output they raise as OutputError. Raises JudgingError for the rest.
    """
    try:
        outcome = _judged(printed, job, launch)
        check_encoding(outcome)
    except json_lines.OutputError as error:
        return Outcome("wrong", str(error))
    except Exception as error:
        raise JudgingError(message_of([launch.definition.folder], error)) from error
    return outcome


def _judged(printed: Printed, job: EndedJob, launch: MpiCheck) -> Outcome:
    text, session = printed.text, json_lines.session_lines(printed.text, job.token)
    loss = job.loss
    if loss is None and job.exit_status == NO_MODULE and not session.stamps:
        said = _last_words(launch) or "its modules could not be loaded"
        loss = Loss(said[:300], "environment", ran=False)
    if loss is not None:
        return Outcome("lost" if loss.ran else None, loss.reason, fault=loss.fault)
    # Of all other programs the lines of ours hold no metric.
    ours = isinstance(launch, OwnProgram) and launch.foreign is None
    metrics = launch.definition.metrics_by_name if ours else {}
    try:
        output = json_lines.parse(text, metrics, job.token)
    except json_lines.OutputError as error:  # a node's end may have cut a line
        if session.exit_status is not None or (dead := job.dead_nodes()) is None:
            raise
        return Outcome("lost", f"{dead}; {error}", fault="nodes")
    if wrong := "; ".join(output.wrong[:3]) or launch.wrong_answer(text):
        return Outcome("wrong", wrong)
    if failure := next(_failures(output, text, job, launch), None):
        return _did_not_end(output, printed, failure, job, launch)
    if wrong := printed.problem or output.other_session(job.daemons):
        return Outcome("wrong", wrong)
    return _out_of_its_job(output, job) or _by_its_answer(output, text, job, launch)


def _failures(
    output: json_lines.Output, text: str, job: EndedJob, launch: MpiCheck
) -> Iterator[str]:
    """Why the launch did not reach its end; the first is the reason."""
    status, right = output.exit_status, launch.right_status
    if right and status == 0:
        yield f"exit status 0; right is {right}"
    if job.state in ENDED_BY_SLURM:
        yield f"Slurm ended the job: {job.state}"
    if status in _AT_LIMIT and status != right:
        limit = f"time limit: the launch was ended after {job.limit_s:g} s"
        yield "; ".join([limit, *output.errors[:2]])
    if output.errors:
        yield "; ".join(output.errors[:3])
    if status is None:
        yield "the session ended before the program did; it stated no exit status"
    elif status != right:
        said = _last_words(launch, text) or "nothing was printed"
        yield f"exit status {status}: {said[:300]}"
    if not launch.came_to_its_end(output, text):
        yield "the program did not reach its end"


def _last_words(launch: MpiCheck, stdout: str = "") -> str | None:
    return last_line(launch.setting.stderr(TAIL_BYTES).text, stdout)


def _did_not_end(
    output: json_lines.Output, printed: Printed, failure: str, job: EndedJob, launch: MpiCheck
) -> Outcome:
    """Lost with a node, not run for want of its launcher, or failed."""
    failure = "; ".join([failure, *launch.said_elsewhere()[:1]])
    if dead := job.dead_nodes():
        return Outcome("lost", f"{dead}; {failure}", fault="nodes")
    if output.exit_status in _NOT_RUN and _NO_LAUNCHER in failure:
        return Outcome(None, f"its launcher cannot be run: {failure}", fault="environment")
    return Outcome("failed", f"{failure}; {printed.problem}" if printed.problem else failure)


def _out_of_its_job(output: json_lines.Output, job: EndedJob) -> Outcome | None:
    """Lost where the session's stamps do not fit into its job's time, as where a clock was set.

    The two clocks may be of two hosts.
    """
    begin, end = output.session_interval() or (0.0, 0.0)
    first, last = job.handed_in, job.ended
    longer_s = end - begin - 1.02 * (last.steady - first.steady) - 1
    apart_s = max(first.wall - begin, end - last.wall)
    if longer_s <= 0 and apart_s <= json_lines.CLOCKS_APART_S and not output.runs_backwards():
        return None
    reason = (
        f"the session's stamps, from {begin:.3f} to {end:.3f}, do not fit into its job, from"
        f" {first.wall:.3f} to {last.wall:.3f}: are the clocks of this host and of the launch's"
        " first node right, and was one set?"
    )
    return Outcome("lost", reason, fault="clock")


def _by_its_answer(
    output: json_lines.Output, text: str, job: EndedJob, launch: MpiCheck
) -> Outcome:
    """Wrong where evidence or answer contradict the request; else ok, with its measurements."""
    claim, unproven = launch.claim(job.nodes), output.evidence is None and launch.may_be_unproven
    marks = [UNPROVEN] if unproven else flags(output.evidence, claim)
    against = [] if unproven else contradictions(output.evidence, claim)
    if against:
        return Outcome("wrong", "; ".join(against), flags=marks)
    reading, hops = launch.read(output, text), hops_between(output, launch)
    setting, known = launch.setting, launch.definition.metrics_by_name
    wrong = reading.wrong or other_hops(hops, launch)
    wrong = wrong or ("" if reading.metrics else "the check read no value")
    wrong = wrong or beyond_window(
        reading.metrics, known, output, setting.ranks, devices=setting.has_resources
    )
    return Outcome(
        "wrong" if wrong else "ok",
        wrong,
        metrics=[*reading.metrics, *hops],
        flags=list(dict.fromkeys([*marks, *reading.flags, *_doubts(reading.metrics, launch)])),
        files={} if wrong or reading.table is None else {ARTIFACT: reading.table},
        profile=_profile(output, launch) if launch.profiled else None,
    )


def _profile(output: json_lines.Output, launch: MpiCheck) -> list[dict[str, Any]]:
    """The MPI profile of each rank, which the plugin of profiles has looked through."""
    profile = output.profile
    for read in hooks("mpi_profile"):
        try:
            profile, elapsed_s = read(profile, launch.setting.ranks)
        except ValueError as error:
            raise json_lines.OutputError(str(error)) from error
        if fault := longer_than_launch(elapsed_s, output):
            raise json_lines.OutputError(f"an MPI profile: {fault}")
    return profile


def _doubts(metrics: Sequence[Metric], launch: MpiCheck) -> list[str]:
    """Flags of values that do not represent the machine: better than the site's nominal rates
    allow, or measured for too short a time."""
    definition, setting = launch.definition, launch.setting
    layout, doubts = (setting.ranks, setting.ranks_per_node, setting.nominal), list[str]()
    for metric in metrics:
        known = definition.metrics_by_name.get(metric.name)
        if known is None:
            raise json_lines.OutputError(f"the check defines no metric {metric.name!r:.80}")
        limit = bound(known, metric.at or {}, *layout, cpus_per_task=setting.cpus_per_task)
        if limit is not None and is_beyond(known, metric.value, limit):
            doubts = [BEYOND_LIMIT]
    durations_s = definition.durations_s(launch.params, metrics)
    short = is_short(durations_s, definition.least_measured_s)
    return [*doubts, *([TOO_SHORT] if short else [])]


def hops_between(output: json_lines.Output, launch: MpiCheck) -> list[Metric]:
    """The hops between the nodes of a launch, where the site declares how they are joined."""
    topology = launch.setting.topology
    if topology is None or output.evidence is None:
        return []
    pairs = launch.definition.node_pairs(launch.params, output.hosts())
    known = [(topology.hops(*pair), at) for pair, at in pairs]
    return [json_lines.measured(HOPS, hops, at) for hops, at in known if hops]


def other_hops(between: Sequence[Metric], launch: MpiCheck) -> str | None:
    """Fault of a launch whose nodes are not so many hops apart as it asked for, or None."""
    asked = launch.definition.hops_asked(launch.params)
    if not asked or [metric.value for metric in between] == [asked]:
        return None
    said = ", ".join(f"{metric.value:g}" for metric in between) or "unknown"
    return f"hops = {asked} were asked for; between the launch's nodes are {said}"
