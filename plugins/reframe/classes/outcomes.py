# SPDX-License-Identifier: Apache-2.0
"""Outcome of a launch of a test of a ReFrame suite, by where ReFrame ended it.

sanity → wrong, job → failed, a missed reference → ok with a flag, an expected failure → ok with a
flag. A planned figure that is not there, or is no number, makes the launch wrong.
"""

from pathlib import Path
from typing import Any, Literal

from checks.common.evidence import Claim, contradictions, flags
from checks.common.json_lines import CLOCKS_APART_S, OutputError, measured, parse, read_printed
from checks.common.session.outcome import (
    Outcome,
    check_encoding,
    emit,
    fault_of,
    report_refusal,
    send,
)
from checks.common.slurm.commands import HERE
from checks.common.slurm.scheduler import job_loss
from plugins.reframe.classes.derived import TIMES
from plugins.reframe.listing import end_of_output
from records.flags import EXPECTED_FAILURE, REFERENCE_MISSED, UNEXPECTED_PASS, UNPROVEN
from records.metric import Metric
from records.text.plain_text import speaking

End = Literal["success", "failure", "skip", "xfailure", "xsuccess"]
#: Slurm's states of a job that did not run to its end.
_UNFINISHED = ("TIMEOUT", "CANCELLED", "DEADLINE", "OUT_OF_MEMORY", "PREEMPTED")
_STAGES_BEFORE_JOB = ("startup", "setup", "compile", "compile_wait", "run")
_WORDS = 1000
#: What ReFrame says of a test whose fixture failed or was skipped.
_AFTER_FIXTURE = ("dependencies failed", "skipped due to skipped dependencies")
#: What became of fixtures that did not pass.
_faults: dict[str, str] = {}


def report(task: Any, end: End) -> None:
    """Tell the harness what became of a launch."""
    test, error = task.check, task.exc_info[1]
    if not hasattr(test, "launch_index"):  # a fixture; the launches that need it are skipped
        if end != "success":
            _faults[test.name] = f"{task.failed_stage}: {_said(error)}{_printed(test)}"
        return
    if test.is_dry_run():
        return
    said = _said(error)
    if end == "skip":
        reason = said or "skipped"
        if said in _AFTER_FIXTURE:
            told = "; ".join(f"{name}: {words}" for name, words in _faults.items())
            report_refusal(test.launch_index, f"not started: a fixture failed: {told:.500}")
        else:
            send(Outcome("skipped", reason, launch_index=test.launch_index))
        return
    if task.failed_stage in _STAGES_BEFORE_JOB and getattr(test.job, "loss", None) is None:
        words = f"not started: {task.failed_stage}: {said}{_printed(test)}"
        report_refusal(test.launch_index, words, fault_of(error, Path.cwd()))
        return
    try:
        outcome = _outcome(test, end, task.failed_stage or "", said)
        check_encoding(outcome)
    except OutputError as unfit:
        outcome = Outcome("wrong", str(unfit))
    except Exception as fault:  # of values that foreign code put in place of its own
        outcome = Outcome("wrong", f"judging failed: {type(fault).__name__}: {fault!s:.400}")
    emit(test, outcome, _interval(test))


def _said(error: BaseException | None) -> str:
    """The words of an error, of Python's own with its type: a KeyError has nothing but a key."""
    if error is None:
        return ""
    kind = f"{type(error).__name__}: " if type(error).__module__ == "builtins" else ""
    return " ".join(f"{kind}{error}".split())[:_WORDS]


def _outcome(test: Any, end: End, stage: str, said: str) -> Outcome:
    if loss := job_loss(test.job):
        return Outcome("lost" if loss.ran else None, loss.reason, fault=loss.fault)
    if test.job.state in _UNFINISHED:
        return Outcome("failed", f"Slurm ended the job: {test.job.state}")
    if end == "failure" and stage != "performance":
        return _not_right(test, stage, said)
    marks, against = _proof(test)
    outcome = _of_figures(test, end, stage, said, marks)
    if against:
        return Outcome("wrong", against, flags=marks)
    return outcome


def _not_right(test: Any, stage: str, said: str) -> Outcome:
    """Of a launch that ended before its figures: lost with a node, failed, or wrong."""
    if dead := HERE.dead_nodes(test.job.nodelist or []):
        return Outcome("lost", f"{dead}; {said}", fault="nodes")
    if stage != "sanity":
        return Outcome("failed", said or stage)
    if test.job.exitcode:
        told = _printed(test) or f": {said}"
        return Outcome("failed", f"exit status {test.job.exitcode}{told}")
    return Outcome("wrong", said or stage)


def _printed(test: Any) -> str:
    """ ": LINE", the last error that a test's job printed, or that its build printed where there is
    no other, apart from epitaphs; without an error the last line; "" without a line."""
    job = test.job if getattr(test.job, "jobid", None) else test.build_job
    names = (job.stdout, job.stderr) if job else ()
    texts = (read_printed(Path(test.stagedir, str(name))).text for name in names)
    lines = speaking(line for text in texts for line in text.splitlines())
    errors = [line for line in lines if "error" in line.lower()]
    return f": {end_of_output(errors or lines)}" if lines else ""


def _of_figures(test: Any, end: End, stage: str, said: str, marks: list[str]) -> Outcome:
    """By what the test measured, and what it says of its references; adds to the flags `marks`."""
    if end in ("xfailure", "xsuccess"):
        marks.append(EXPECTED_FAILURE if end == "xfailure" else UNEXPECTED_PASS)
        if stage == "sanity":  # no figure is read then
            return Outcome("ok", said or None, flags=marks)
    values = {key.rpartition(":")[2]: value for key, value in test.perfvalues.items()}
    missed = [
        name for name, value in values.items() if value[-1] == "fail" and value[0] == value[0]
    ]
    if end == "failure" and not missed:
        return Outcome("wrong", said, flags=marks)
    if missed:
        marks.append(REFERENCE_MISSED)
    metrics, fault = _figures(test, values)
    reason = fault or (said if missed else None)
    return Outcome("wrong" if fault else "ok", reason, metrics=metrics, flags=marks)


def _figures(test: Any, values: dict[str, Any]) -> tuple[list[Metric], str | None]:
    """The metrics of what the test measured, or what is wrong with that."""
    planned = {one.variable: one for one in test.definition.line.figures}
    asked = [
        one.variable
        for one in planned.values()
        if not one.variants or test.assay_variant in one.variants
    ]
    if missing := [name for name in asked if name not in values]:
        return [], f"the test gave no value of {', '.join(missing)}"
    if further := [name for name in values if name not in planned]:
        return [], (
            f"the test measured {', '.join(further)}, which the plan does not know: name it under"
            " `metrics` of the test in the campaign"
        )
    found = []
    for name in filter(values.__contains__, planned):
        figure, value, unit = planned[name], values[name][0], values[name][4]
        if figure.unit and unit != figure.unit:
            return [], f"{name} is in {unit!r}; the plan has {figure.unit!r}"
        try:
            found.append(measured(figure.metric, float(value) * figure.factor))
        except OutputError as error:
            return [], str(error)
    return found, None


def _proof(test: Any) -> tuple[list[str], str | None]:
    """Flags by the evidence of the ranks, and what contradicts it; without evidence it is
    unproven."""
    printed = read_printed(Path(test.stagedir, "launch.evidence"))
    if not printed.text.strip():
        return [UNPROVEN], None
    extras = test.assay_extras
    claim = Claim(
        nodes=list(test.job.nodelist or []),
        ranks=test.num_tasks,
        ranks_per_node=test.num_tasks_per_node,
        library_pattern=extras["library"],
        wire_is_counted=test.current_partition.extras["wire_is_counted"],
        seen=extras["seen"],
        device=extras["device"],
    )
    # A job may start several programs; each of them writes a line.
    lines = [line for line in printed.text.splitlines() if line.strip()]
    found = [parse(line, {}, test.assay_token).evidence for line in lines]
    against = [contradictions(one, claim) for one in found]
    best = min(range(len(found)), key=lambda i: len(against[i]))
    return flags(found[best], claim), "; ".join(against[best]) or None


def _interval(test: Any) -> tuple[float, float] | None:
    try:
        begin, end = map(float, read_printed(Path(test.stagedir, TIMES)).text.split())
    except ValueError:
        return None
    # Where a node's clock is wrong, Slurm's times are taken; without Slurm there is one clock.
    if (handed_in := getattr(test.job, "handed_in", None)) is None:
        return begin, end
    first, last = handed_in.wall - CLOCKS_APART_S, test.job.ended.wall + CLOCKS_APART_S
    return (begin, end) if first <= begin <= end <= last else None
