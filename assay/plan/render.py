# SPDX-License-Identifier: Apache-2.0
"""A plan as a table for people."""

from __future__ import annotations

from assay.plan.expand import brief, telling
from records.run.plan import Plan
from records.run.rerun import CHECKS_OF_PAIRS
from records.site.pair_scans import sample_told

_HEADINGS = ("case", "environment", "ranks", "nodes", "MB/node", "time")
#: Columns from this one on are numbers.
_RIGHT_FROM = 2


def render_plan(plan: Plan) -> str:
    """Every case, the skipped ones with their reasons, and the totals. Cases that differ in their
    environment only are listed below the parameters that they share, without those at their
    defaults."""
    from assay.plan.resolution import resolution  # slow: SciPy

    groups, skipped = _grouped(plan)
    question = " ".join(plan.question.split())
    lines = [f"campaign {plan.campaign} on site {plan.site}", question, *plan.told()]
    lines += ["", *_table(groups)]
    if skipped:
        lines += ["", f"skipped ({plan.totals.skipped}):"]
        for reason, cases in skipped.items():
            lines += [reason, f"    {', '.join(cases)}"]
    if plan.short:
        short = (
            "may be too short to say something (--measured RUN: by the times of an earlier run):"
        )
        lines += ["", short, *(f"  {text}" for text in plan.short)]
    if samples := samples_told(plan):
        lines += ["", "pairs of nodes are sampled:", *(f"  {text}" for text in samples)]
    if lines_of_blocks := resolution(plan):
        lines += ["", *lines_of_blocks]
    totals, blocks, most = plan.totals, f"{plan.blocks} blocks", ""
    if plan.sequential is not None:
        blocks, most = f"{plan.sequential.interims[0]} to {blocks}", "at most "
    lines += [
        "",
        f"{totals.cases} cases, {totals.skipped} skipped; {blocks}, order seed {plan.seed}",
        f"{most}{totals.launches} launches, about {_duration(totals.wall_s)} and"
        f" {totals.node_hours:g} node-hours (estimates)",
    ]
    return "\n".join([*lines, ""])


def _grouped(plan: Plan) -> tuple[dict[str, list[tuple[str, ...]]], dict[str, list[str]]]:
    """Rows of the cases by what they share, and names of the skipped ones by that and why."""
    groups: dict[str, list[tuple[str, ...]]] = {}
    skipped: dict[str, list[str]] = {}
    for case in plan.cases:
        params = brief(telling(case.check, case.params))
        what = f"{case.check}: {params}" if params else case.check
        if case.skipped is None:
            memory, time = f"{case.memory_bytes_per_node / 1e6:.0f}", _duration(case.estimate_s)
            row = (case.id, case.environment, str(case.ranks), str(case.nodes), memory, time)
            groups.setdefault(what, []).append(row)
        else:
            named = skipped.setdefault(f"  {what}: {case.skipped}", [])
            named.append(f"{case.id} ({case.environment})")
    return groups, skipped


def samples_told(plan: Plan) -> list[str]:
    """What the scans of pairs that measure a sample of them can miss, each once."""
    found = (
        sample_told(case.nodes, case.params)
        for case in plan.cases
        if case.check in CHECKS_OF_PAIRS and case.skipped is None
    )
    return list(dict.fromkeys(text for text in found if text is not None))


def _table(groups: dict[str, list[tuple[str, ...]]]) -> list[str]:
    """Aligned rows, below what those of each group share."""
    rows = [_HEADINGS, *(row for group in groups.values() for row in group)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    pattern = "  " + "  ".join(
        f"{{:{'>' if i >= _RIGHT_FROM else '<'}{width}}}" for i, width in enumerate(widths)
    )
    lines = [pattern.format(*_HEADINGS)] if groups else []
    for what, group in groups.items():
        lines += [what, *(pattern.format(*row) for row in group)]
    return lines


def _duration(time_s: float) -> str:
    """A time as people say it: 3.1 s, 7 min, 2.5 h."""
    if time_s < 120:
        return f"{time_s:.1f} s"
    return f"{time_s / 60:.0f} min" if time_s < 7200 else f"{time_s / 3600:.1f} h"
