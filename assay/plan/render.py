# SPDX-License-Identifier: Apache-2.0
"""A plan as a table for people."""

from __future__ import annotations

from typing import Any

from assay.plan.expand import brief
from checks.common.registry import CHECKS
from records.plan import Plan, PlannedCase

HEADINGS = ("case", "check", "environment", "parameters", "ranks", "nodes", "MB/node", "time")
RIGHT_FROM = 4


def render_plan(plan: Plan) -> str:
    """Every case, the skipped ones with their reasons, and the totals.

    Parameters at their defaults are left out.
    """
    runs = [case for case in plan.cases if case.skipped is None]
    skipped = [case for case in plan.cases if case.skipped is not None]
    lines = [f"campaign {plan.campaign} on site {plan.site}", plan.question.strip(), ""]
    if runs:
        lines += _table([HEADINGS, *map(_row, runs)])
    if skipped:
        lines += ["", f"skipped ({len(skipped)}):"]
        lines += [_skipped_line(case) for case in skipped]
    return "\n".join([*lines, "", *_totals(plan), ""])


def _row(case: PlannedCase) -> tuple[str, ...]:
    return (
        case.id,
        case.check,
        case.environment,
        _short_params(case.check, case.params),
        str(case.ranks),
        str(case.nodes),
        f"{case.memory_bytes_per_node / 1e6:.0f}",
        _duration(case.estimate_s),
    )


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    pattern = "  ".join(
        f"{{:{'>' if i >= RIGHT_FROM else '<'}{width}}}" for i, width in enumerate(widths)
    )
    return [pattern.format(*row) for row in rows]


def _skipped_line(case: PlannedCase) -> str:
    params = _short_params(case.check, case.params)
    return f"  {case.id}  {case.environment}  {params}: {case.skipped}"


def _short_params(check: str, params: dict[str, Any]) -> str:
    defaults = _DEFAULTS.get(check, {})
    return brief({k: v for k, v in params.items() if k not in defaults or v != defaults[k]})


_DEFAULTS = {
    name: {
        key: field.default
        for key, field in definition.parameters.model_fields.items()
        if not field.is_required()
    }
    for name, definition in CHECKS.items()
}


def _totals(plan: Plan) -> list[str]:
    totals = plan.totals
    return [
        f"{totals.cases} cases, {totals.skipped} skipped; {plan.blocks} blocks, order seed"
        f" {plan.seed}",
        f"{totals.launches} launches, about {_duration(totals.wall_s)} and"
        f" {totals.node_hours:g} node-hours (estimates)",
    ]


def _duration(time_s: float) -> str:
    """A time as people say it: 3.1 s, 7 min, 2.5 h."""
    if time_s < 120:
        return f"{time_s:.1f} s"
    return f"{time_s / 60:.0f} min" if time_s < 7200 else f"{time_s / 3600:.1f} h"
