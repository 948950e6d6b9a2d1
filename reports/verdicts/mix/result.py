# SPDX-License-Identifier: Apache-2.0
"""The throughput of a mix as a result."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Annotated

from records.forms import Form, Part, key
from reports.answers import Answer, AnswerPart, State, fitting
from reports.notation.units import count_text, percent, significant
from reports.notation.values import about
from reports.result import EVERYWHERE, Block, Facts, Result, Section
from reports.show.tables import Cell, numeric, pivot
from reports.verdicts.mix.throughput import Mix, MixJob, mean_rate, slowest_of


class MixKindPart(Part):
    """The jobs of a kind."""

    kind: Annotated[str, key("The case.")]
    jobs: Annotated[int, key("Jobs.")]
    valid: Annotated[int, key("Jobs with the right answer.")]
    harmonic_mean: Annotated[float | None, key("Of the rates of the valid jobs; of times, 1/s.")]
    unit: Annotated[str, key("The unit of the mean.")]
    worst_share: Annotated[float | None, key("Rate of the slowest over the kind's median.")]
    worst_nodes: Annotated[list[str], key("The nodes of the slowest.")]


class MixPart(Part):
    """One of the mixes that were run one after the other."""

    block: Annotated[int, key("Its first block.")]
    makespan_s: Annotated[float, key("From the first submission to the last end.")]
    throughput: Annotated[float, key("Work of the valid jobs a node and second.")]


class MixForm(Form, kw_only=True):
    """`assay mix`: the throughput of a mix of jobs."""

    run: Annotated[str, key("The run.")]
    answer: Annotated[AnswerPart, key("The answer.")]
    nodes: Annotated[int, key("Nodes that the jobs could have.")]
    jobs: Annotated[int, key("Jobs.")]
    valid: Annotated[int, key("Jobs with the right answer.")]
    makespan_s: Annotated[float, key("The median of those of the mixes.")]
    throughput: Annotated[float, key("The median of those of the mixes.")]
    mixes: Annotated[list[MixPart], key("The mixes that count.")]
    left_out: Annotated[list[str], key("Why others do not count.")]
    at_least: Annotated[float, key("Least share of its kind's median that a job may have.")]
    scatter: Annotated[
        float, key("Such a share that the scatter of jobs which are alike does not explain less.")
    ]
    kinds: Annotated[list[MixKindPart], key("By kind.")]


def mix_result(mix: Mix, run: str, at_least: float) -> Result[MixForm]:
    """The result; FAIL where a job is not valid, or its rate a lesser share of its kind's median
    than both `at_least` and what the scatter of the jobs explains."""
    kinds = [_kind(name, mix) for name in mix.kinds]
    answer = _answer(mix, at_least)
    form = MixForm(
        run=run,
        answer=answer.part,
        nodes=mix.nodes,
        jobs=len(mix.jobs),
        valid=mix.valid,
        makespan_s=mix.makespan_s,
        throughput=mix.throughput,
        mixes=[MixPart(n, s, mix.throughputs[n]) for n, s in mix.makespans_s.items()],
        left_out=[*mix.left_out],
        at_least=at_least,
        scatter=mix.scatter,
        kinds=kinds,
    )
    return Result(
        kicker=f"Assay mix · run {run}",
        title="Throughput of a mix of jobs",
        data=form,
        answer=answer,
        facts=Facts(mix_facts(mix)),
        sections=[
            Section("kinds", "Jobs by kind", partial(_table, kinds, at_least), shown_on=EVERYWHERE)
        ],
        closing="Made by Assay from the run's records.",
    )


def mix_facts(mix: Mix) -> list[tuple[str, str]]:
    """Makespan and throughput of a mix, and its slowest job, by their names."""
    facts = [
        ("jobs", f"{len(mix.jobs)}, {mix.valid} valid"),
        ("nodes", str(mix.nodes)),
        ("makespan", f"{mix.makespan_s:.1f} s"),
        ("throughput", _rate_text(mix)),
    ]
    if (count := len(mix.makespans_s)) > 1:
        rates = [significant(3600 * one) for one in sorted(mix.throughputs.values())]
        facts.append(("mixes", f"{count}, medians of them; {rates[0]} to {rates[-1]}"))
    facts += [("left out", text) for text in mix.left_out]
    return [*facts, ("slowest job", _slow_text(mix.slowest))] if mix.slowest else facts


def _rate_text(mix: Mix) -> str:
    return f"{significant(3600 * mix.throughput)} work a node and hour"


def _slow_text(job: MixJob) -> str:
    return f"{percent(job.share, 0)} of its kind's median, {job.kind} on {', '.join(job.nodes)}"


def _table(kinds: list[MixKindPart], at_least: float) -> Iterator[Block | None]:
    yield pivot(
        kinds,
        [
            ("kind", lambda one: one.kind),
            (numeric("jobs", "valid"), lambda one: [str(one.jobs), str(one.valid)]),
            (numeric("harmonic mean"), _mean_text),
            (numeric("slowest of median"), lambda one: _share(one.worst_share, at_least)),
            ("on", lambda one: ", ".join(one.worst_nodes)),
        ],
        anchor="kinds",
        title="Jobs by kind",
    )


def _kind(name: str, mix: Mix) -> MixKindPart:
    jobs = mix.kinds[name]
    worst = slowest_of(jobs)
    return MixKindPart(
        kind=name,
        jobs=len(jobs),
        valid=sum(job.rate is not None for job in jobs),
        harmonic_mean=mean_rate(jobs),
        unit=worst.unit if worst else "1",
        worst_share=worst.share if worst else None,
        worst_nodes=[*worst.nodes] if worst else [],
    )


def _mean_text(kind: MixKindPart) -> str:
    return "–" if kind.harmonic_mean is None else about(kind.harmonic_mean, kind.unit)


def _share(value: float | None, at_least: float) -> Cell | str:
    if value is None:
        return "–"
    return Cell(percent(value, 0), tone="bad" if value < at_least else "")


def _answer(mix: Mix, at_least: float) -> Answer:
    rate = _rate_text(mix)
    if invalid := len(mix.jobs) - mix.valid:
        said = f"{count_text(invalid, 'job')} of {len(mix.jobs)} gave no right answer; {rate}"
        return Answer(State.FAIL, fitting(said))
    worst = mix.slowest
    assert worst is not None and worst.share is not None
    said = f"{count_text(len(mix.jobs), 'job')} in {mix.makespan_s:.0f} s, {rate}"
    slow = f"{said}; the slowest: {_slow_text(worst)}"
    if worst.share >= at_least or worst.share < mix.scatter:
        state = State.PASS if worst.share >= at_least else State.FAIL
        return Answer(state, fitting(slow, said))
    unknown = (
        "whether that job was slow: the jobs scatter so much that of jobs that are alike one may"
        f" have {percent(mix.scatter, 0)}; give them cores of their own, or a lower --at-least"
    )
    return Answer(State.INCONCLUSIVE, fitting(slow, said), unknown)
