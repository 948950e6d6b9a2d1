# SPDX-License-Identifier: Apache-2.0
"""The form of `assay predict`."""

from __future__ import annotations

from typing import Literal

from assay.machine.form import Form, Part


class Estimated(Part):
    """A value with its interval."""

    value: float
    """The law's value."""
    low: float
    """Lower end of the 95 % interval."""
    high: float
    """Upper end of the 95 % interval."""


class SeenThere(Part):
    """What was measured on the node count that is predicted."""

    value: float
    """Median time over launches, s."""
    n: int
    """Launches."""
    left_out: bool
    """Whether the law was not told of it (--leave-out)."""
    inside: bool
    """Whether it lies in the predicted interval."""
    flags: list[str]
    """Marks of the launches."""


class PredictedPoint(Part):
    """One subject on one node count."""

    nodes: int
    """Nodes."""
    ranks: int
    """Ranks."""
    problem: str
    """What would run: the lattice and its process grid, N and the grid, or the operation."""
    time_s: Estimated
    """Program time of su3_rmd, solution time of HPL, time of a collective operation, s."""
    efficiency: Estimated
    """Work a rank and second, over that on the fewest measured nodes."""
    communication_share: float
    """Communication in the time, by the law."""
    measured: SeenThere | None
    """What was measured there; null: nothing."""


class PredictedSubject(Part):
    """A problem of one size (strong) or of one size a rank (weak) in an environment."""

    check: str
    """The check."""
    environment: str
    """The environment."""
    scaling: Literal["strong", "weak"]
    """strong: one problem on more nodes; weak: as much a rank on more nodes."""
    title: str
    """The lattice or N, or what a rank has of it; the operation and its message length."""
    learnt_from: list[int]
    """Node counts that the law rests on."""
    errors: dict[str, float]
    """Relative error of one node count, by leave-one-out: of time, or of compute and messages."""
    notes: list[str]
    """What else to know."""
    points: list[PredictedPoint]
    """Predictions, by ascending nodes."""


class NotPredicted(Part):
    """What cannot be predicted from this run."""

    check: str
    """The check."""
    environment: str
    """The environment; empty: any."""
    what: str
    """The problem."""
    why: str
    """What is missing or does not fit."""
    add: str
    """What to add to the campaign."""


class PredictionTold(Form):
    """`assay predict`: times on node counts that were not measured."""

    run_id: str
    """The run's id."""
    campaign: str
    """The campaign."""
    site: str
    """The site."""
    nodes: list[int]
    """Node counts that were asked for."""
    left_out: list[int]
    """Node counts that the law was not told of."""
    held_out: int
    """Measured points that were left out and predicted."""
    inside: int
    """How many of them lie in their 95 % intervals."""
    subjects: list[PredictedSubject]
    """Predictions."""
    missing: list[NotPredicted]
    """What could not be predicted, and what to add."""
    pictures: list[str]
    """Pictures that were written."""
