# SPDX-License-Identifier: Apache-2.0
"""The plan: every case of a campaign on one site, as `plan.json` keeps it."""

from __future__ import annotations

from typing import Any

import msgspec

from records.errors import AssayError

SCHEMA = 1


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


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What a run does: the cases of every block, and what they were planned from."""

    schema: int = SCHEMA
    campaign: str
    question: str
    site: str
    seed: int
    blocks: int
    environments: list[str]
    variants: dict[str, Any] = {}
    weights: dict[str, float]
    limits: dict[str, Any]
    criteria: list[dict[str, Any]]
    totals: Totals
    cases: list[PlannedCase]

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
                f"{file}: not a plan: {error}; make it again with assay plan"
            ) from error
        if plan.schema != SCHEMA:
            raise AssayError(
                f"{file}: is a plan of schema {plan.schema}; this Assay reads schema {SCHEMA}"
            )
        return plan
