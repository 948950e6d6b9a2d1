# SPDX-License-Identifier: Apache-2.0
"""The plan: every case of a campaign on one site, as `plan.json` keeps it."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from records.errors import AssayError
from records.metric import CheckDescription, MetricDefinition, Register, schema_1_register

SCHEMA = 2
#: Schemas of plans that can be read.
READABLE = (1, 2)


class PlannedCase(msgspec.Struct, frozen=True, kw_only=True):
    """One case with its layout and estimated time; `skipped` says why it cannot run, or is None.

    `params` are complete (defaults filled in, sizes explicit); cases that differ only in their
    environment share the object.
    """

    id: str
    check: str
    environment: str
    params: dict[str, Any]
    ranks: int
    ranks_per_node: int
    nodes: int
    memory_bytes_per_node: int
    estimate_s: float
    skipped: str | None


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """Sums of a plan: `cases` count the skipped ones too; times are estimates over all blocks."""

    cases: int
    skipped: int
    launches: int
    node_hours: float
    wall_s: float


class Plan(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """What a run does: the cases of every block, and what they were planned from.

    `metrics` and `checks` define what the planned checks can report (schema 2); `checks_folders`
    are folders outside the tree that some of them came from. Nothing is read from there.
    """

    schema: int = SCHEMA
    campaign: str
    question: str
    site: str
    seed: int
    blocks: int
    environments: list[str]
    variants: dict[str, Any] = {}
    weights: dict[str, float] = {}
    limits: dict[str, Any] = {}
    totals: Totals
    metrics: list[MetricDefinition] = []
    checks: list[CheckDescription] = []
    checks_folders: list[str] = []
    cases: list[PlannedCase]

    @cached_property
    def register(self) -> Register:
        """The metrics and checks that the plan carries; those of schema 1 stand in the product."""
        if self.schema == 1:
            return schema_1_register()
        return Register.of(self.metrics, self.checks)

    def to_json(self) -> str:
        """The text of plan.json: small parts first, then one case a line."""
        head = msgspec.json.encode(msgspec.structs.replace(self, cases=[])).decode()
        cases = ",\n".join(msgspec.json.encode(case).decode() for case in self.cases)
        return f"{head.removesuffix(']}')}\n{cases}\n]}}\n"

    @classmethod
    def from_json(cls, text: str | bytes, file: str = "plan.json") -> Plan:
        """The plan of a text that `to_json` made; `file` is its name for messages.

        Raises AssayError for anything else.
        """
        try:
            plan = msgspec.json.decode(text, type=cls)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise AssayError(
                f"{file}: not a plan: {error}; put back the file that `assay run` wrote"
            ) from error
        if plan.schema not in READABLE:
            raise AssayError(
                f"{file}: is a plan of schema {plan.schema}; this Assay reads"
                f" schemas {', '.join(map(str, READABLE))}"
            )
        if plan.blocks < 1:
            raise AssayError(f"{file}: `blocks` is {plan.blocks}; allowed: 1 or more")
        for name, count in Counter(case.id for case in plan.cases).items():
            if count > 1:
                raise AssayError(f"{file}: {count} cases have the id {name!r}; ids must be unique")
        try:
            plan.register  # noqa: B018 names with two definitions are found here
        except ValueError as error:
            raise AssayError(f"{file}: {error}") from error
        return plan


def read_plan(path: Path) -> Plan:
    """The plan of the file. Raises AssayError when it is missing or is no plan."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise AssayError(
            f"{path}: cannot be read ({error.strerror}); a run directory holds the plan.json that"
            " `assay run` wrote when the run began"
        ) from error
    return Plan.from_json(text, str(path))
