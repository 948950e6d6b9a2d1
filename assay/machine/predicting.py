# SPDX-License-Identifier: Apache-2.0
"""The form of a prediction, made from its outcome."""

from __future__ import annotations

from typing import Any

from assay.machine.predictions import PredictionTold
from reports.analysis import Analysis
from reports.prediction.outcome import Outcome, Predicted, Prediction


def prediction_told(
    analysis: Analysis,
    outcome: Outcome,
    nodes: list[int],
    left_out: list[int],
    pictures: list[str],
) -> PredictionTold:
    """The form of an outcome."""
    return PredictionTold.of(
        run_id=analysis.run.run_id,
        campaign=analysis.run.plan.campaign,
        site=analysis.run.plan.site,
        nodes=nodes,
        left_out=left_out,
        held_out=len(outcome.held_out),
        inside=outcome.inside,
        subjects=[_subject(item) for item in outcome.predicted],
        missing=list(outcome.missing),
        pictures=pictures,
    )


def _subject(item: Predicted) -> dict[str, Any]:
    subject = item.subject
    return {
        "check": subject.check,
        "environment": subject.environment,
        "scaling": subject.scaling,
        "title": subject.title,
        "learnt_from": list(item.used),
        "errors": item.errors,
        "notes": list(item.notes),
        "points": [_point(one) for one in item.predictions],
    }


def _point(one: Prediction) -> dict[str, Any]:
    seen = one.seen
    return {
        "nodes": one.problem.nodes,
        "ranks": one.problem.ranks,
        "problem": one.problem.text,
        "time_s": one.time_s,
        "efficiency": one.efficiency,
        "communication_share": one.communication_share,
        "measured": seen
        and {
            "value": seen.value,
            "n": seen.n,
            "left_out": seen.left_out,
            "inside": one.time_s.holds(seen.value),
            "flags": list(seen.flags),
        },
    }
