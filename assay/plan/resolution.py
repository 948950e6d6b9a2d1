# SPDX-License-Identifier: Apache-2.0
"""Resolution of a plan's environments, at how many blocks and at what cost, in words."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp

from records.run.plan import Plan
from reports.analysis.cells import LEAST_DIFFERENCE
from reports.notation.units import percent, signed_percent
from reports.statistics.max_t import LEAST_BLOCKS, QUANTILE, detectable, shared_gain
from reports.statistics.spending import DECLARED_SHARE, spent

#: Standard deviations of ln of a pair's ratio from block to block, for which advantages are listed.
SPREADS = (0.01, 0.02, 0.05, 0.1)
_S = "s is by how much the ratio of two environments varies from block to block"


def resolution(plan: Plan) -> list[str]:
    """Lines of the plan; none where nothing is compared."""
    feasible = [case for case in plan.cases if case.skipped is None]
    names = {case.environment for case in feasible}
    pairs = len(names) * (len(names) - 1) // 2
    scopes = {(case.check, case.params.get("placement")) for case in feasible}
    if not pairs:
        return []
    if plan.sequential is not None:
        return list(_in_turn(plan, pairs * (1 + len(scopes)), shared_gain(len(names))))
    return [_fixed(plan, pairs * (1 + len(scopes)) + pairs * len(feasible) // len(names))]


def _fixed(plan: Plan, questions: int) -> str:
    """Line of a plan whose blocks are all run."""
    if plan.blocks < LEAST_BLOCKS:
        return (
            f"blocks: {plan.blocks} cannot separate environments; at least {LEAST_BLOCKS} are"
            " needed"
        )
    found = [
        f"{_advantage(s * detectable(plan.blocks, QUANTILE / questions))} (s = {percent(s, 0)})"
        for s in SPREADS[1:3]
    ]
    return f"{plan.blocks} blocks find an advantage of about {' or '.join(found)}; {_S}"


def _in_turn(plan: Plan, questions: int, gain: float) -> Iterator[str]:
    """A table: what is known after each judgement of a sequential design, and its cost."""
    assert plan.sequential is not None
    asked = ", ".join(plan.sequential.until)
    yield f"judged until known: {asked}; an advantage is found from about"
    spreads = "".join(f"{f's = {percent(s, 0)}':>10}" for s in SPREADS)
    yield f"{'blocks':>8}{'launches':>10}{'node-hours':>12}{spreads}"
    for block in plan.sequential.interims:
        share = block / plan.blocks
        error = spent(block, plan.sequential.stages) * DECLARED_SHARE / questions
        shifts = (s * detectable(block, error, gain) for s in SPREADS)
        told = "".join(f"{_advantage(shift):>10}" for shift in shifts)
        launches = f"{plan.totals.launches * share:.0f}"
        yield f"{block:8}{launches:>10}{plan.totals.node_hours * share:12.3g}{told}"
    yield f"{_S}. Costs are at most: only what bears on an open question goes on"


def _advantage(shift: float) -> str:
    """The advantage that is found: beyond the margin of 3 % by a shift of its logarithm."""
    ratio = LEAST_DIFFERENCE * exp(min(shift, 50.0))
    return percent(ratio - 1, 1) if ratio < 2 else signed_percent(ratio)
