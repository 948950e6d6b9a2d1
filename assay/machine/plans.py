# SPDX-License-Identifier: Apache-2.0
"""Forms of `plan`: plan.json as it lies in a run directory, alone or with what judging it risks."""

from __future__ import annotations

from typing import Any

import msgspec

from assay.machine.form import Form, Part
from records import plan


class RiskTold(Part):
    """How often machines of one kind came out in each way, judged by the criteria."""

    machine: str
    """The kind of machine."""
    good: bool
    """Whether it should pass."""
    cv: float
    """By how much launches scatter."""
    passed: int
    """How many passed."""
    failed: int
    """How many failed."""
    reruns: float
    """Re-runs, on average."""
    of: int
    """How many were simulated."""
    undecided: list[str]
    """What left the others open: each criterion with how often, and what it lacks."""


class PlanRisks(Form):
    """`assay plan --criteria`: the plan, and what judging it by the criteria risks."""

    plan: dict[str, Any]
    """The plan, as `assay plan --json` prints it."""
    risks: list[RiskTold]
    """A kind of machine each."""


def plan_schema() -> dict[str, Any]:
    """The JSON Schema of plan.json, from what reads it."""
    found = msgspec.json.schema(plan.Plan)
    found["$defs"]["Plan"]["properties"]["schema"] = {"const": plan.SCHEMA}
    return found
