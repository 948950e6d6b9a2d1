# SPDX-License-Identifier: Apache-2.0
"""`assay predict --json`: every key with its meaning."""

from __future__ import annotations

from typing import Annotated, Literal

from records.forms import Form, Part, key
from reports.analysis import Analysis
from reports.prediction.outcome import Outcome, Predicted, Prediction


class EstimatePart(Part):
    """A value with its interval."""

    value: Annotated[float, key("The law's value.")]
    low: Annotated[float, key("Lower end of the 95 % interval.")]
    high: Annotated[float, key("Upper end of the 95 % interval.")]


class MeasuredPart(Part):
    """What was measured on the node count that is predicted."""

    value: Annotated[float, key("Median time over launches, s.")]
    n: Annotated[int, key("Launches.")]
    left_out: Annotated[bool, key("Whether the law was not told of it (--leave-out).")]
    inside: Annotated[bool, key("Whether it lies in the predicted interval.")]
    flags: Annotated[list[str], key("Marks of the launches.")]


class PointPart(Part):
    """One subject on one node count."""

    nodes: Annotated[int, key("Nodes.")]
    ranks: Annotated[int, key("Ranks.")]
    problem: Annotated[
        str,
        key("What would run: the lattice and its process grid, N and the grid, or the operation."),
    ]
    time_s: Annotated[
        EstimatePart,
        key("Program time of su3_rmd, solution time of HPL, time of a collective operation, s."),
    ]
    efficiency: Annotated[
        EstimatePart, key("Work a rank and second, over that on the fewest measured nodes.")
    ]
    communication_share: Annotated[float, key("Communication in the time, by the law.")]
    measured: Annotated[MeasuredPart | None, key("What was measured there; null: nothing.")]


class SubjectPart(Part):
    """A problem of one size (strong) or of one size a rank (weak) in an environment."""

    check: Annotated[str, key("The check.")]
    environment: Annotated[str, key("The environment.")]
    scaling: Annotated[
        Literal["strong", "weak"],
        key("strong: one problem on more nodes; weak: as much a rank on more nodes."),
    ]
    title: Annotated[
        str,
        key("The lattice or N, or what a rank has of it; the operation and its message length."),
    ]
    learnt_from: Annotated[list[int], key("Node counts that the law rests on.")]
    errors: Annotated[
        dict[str, float],
        key("Relative error of a node count, by leave-one-out: of time, or compute and messages."),
    ]
    notes: Annotated[list[str], key("What else to know.")]
    points: Annotated[list[PointPart], key("Predictions, by ascending nodes.")]


class MissingPart(Part):
    """What cannot be predicted from this run."""

    check: Annotated[str, key("The check.")]
    environment: Annotated[str, key("The environment; empty: any.")]
    what: Annotated[str, key("The problem.")]
    why: Annotated[str, key("What is missing or does not fit.")]
    add: Annotated[str, key("What to add to the campaign.")]


class PredictionForm(Form, kw_only=True):
    """`assay predict`: times on node counts that were not measured."""

    run_id: Annotated[str, key("The run's id.")]
    campaign: Annotated[str, key("The campaign.")]
    site: Annotated[str, key("The site.")]
    nodes: Annotated[list[int], key("Node counts that were asked for.")]
    left_out: Annotated[list[int], key("Node counts that the law was not told of.")]
    held_out: Annotated[int, key("Measured points that were left out and predicted.")]
    inside: Annotated[int, key("How many of them lie in their 95 % intervals.")]
    subjects: Annotated[list[SubjectPart], key("Predictions.")]
    missing: Annotated[list[MissingPart], key("What could not be predicted, and what to add.")]
    pictures: Annotated[list[str], key("Pictures that were written.")]


def prediction_form(
    analysis: Analysis,
    outcome: Outcome,
    nodes: list[int],
    left_out: list[int],
    pictures: list[str],
) -> PredictionForm:
    """The form of an outcome."""
    return PredictionForm.filled(
        None,
        run_id=analysis.run.run_id,
        campaign=analysis.run.plan.campaign,
        site=analysis.run.plan.site,
        nodes=nodes,
        left_out=left_out,
        held_out=len(outcome.held_out),
        inside=outcome.inside,
        subjects=[_subject(item) for item in outcome.predicted],
        missing=[MissingPart.filled(one) for one in outcome.missing],
        pictures=pictures,
    )


def _subject(item: Predicted) -> SubjectPart:
    subject = item.subject
    return SubjectPart.filled(
        subject,
        learnt_from=list(item.used),
        errors=item.errors,
        notes=list(item.notes),
        points=[_point(one) for one in item.predictions],
    )


def _point(one: Prediction) -> PointPart:
    seen = one.seen
    measured = seen and MeasuredPart.filled(seen, inside=one.time_s.holds(seen.value))
    return PointPart.filled(
        one,
        nodes=one.problem.nodes,
        ranks=one.problem.ranks,
        problem=one.problem.text,
        measured=measured,
    )
