# SPDX-License-Identifier: Apache-2.0
"""A plan as a table for people."""

from __future__ import annotations

from records.run.plan import Plan
from records.run.rerun import CHECKS_OF_PAIRS
from records.site.pair_scans import sample_told
from reports.notation.labels import case_names

_HEADINGS = ("case", "ranks", "nodes", "MB/node", "time", "environments")


def render_plan(plan: Plan) -> str:
    """Every case, those that differ in their environment only in one line, the skipped ones with
    their reasons, and the totals."""
    from assay.plan.resolution import resolution  # slow: SciPy

    rows, skipped = _grouped(plan)
    question = " ".join(plan.question.split())
    lines = [f"campaign {plan.campaign} on site {plan.site}", question, *plan.told()]
    lines += ["", *_table(rows)]
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


def _grouped(plan: Plan) -> tuple[list[tuple[str, ...]], dict[str, list[str]]]:
    """Rows of the table, and the environments of the skipped cases by name and reason."""
    names = case_names(plan.cases)
    rows: dict[tuple[str, ...], list[str]] = {}
    skipped: dict[str, list[str]] = {}
    for case in plan.cases:
        name = names[case.id]
        if case.skipped is None:
            memory, time = f"{case.memory_bytes_per_node / 1e6:.0f}", _duration(case.estimate_s)
            row = (name, str(case.ranks), str(case.nodes), memory, time)
            rows.setdefault(row, []).append(case.environment)
        else:
            skipped.setdefault(f"  {name}: {case.skipped}", []).append(case.environment)
    every = plan.environments
    told = (
        f"all {len(every)}" if {*every} == {*found} and len(every) > 1 else ", ".join(found)
        for found in rows.values()
    )
    return [(*row, environments) for row, environments in zip(rows, told, strict=True)], skipped


def samples_told(plan: Plan) -> list[str]:
    """What the scans of pairs that measure a sample of them can miss, each once."""
    found = (
        sample_told(case.nodes, case.params)
        for case in plan.cases
        if case.check in CHECKS_OF_PAIRS and case.skipped is None
    )
    return list(dict.fromkeys(text for text in found if text is not None))


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    """Aligned rows below their headings, the numbers to the right."""
    if not rows:
        return []
    *widths, _ = (max(map(len, column)) for column in zip(_HEADINGS, *rows, strict=True))
    pattern = "  ".join(f"{{:{'>' if i else '<'}{width}}}" for i, width in enumerate(widths))
    return [f"  {pattern}  {{}}".format(*row) for row in (_HEADINGS, *rows)]


def _duration(time_s: float) -> str:
    """A time as people say it: 3.1 s, 7 min, 2.5 h."""
    if time_s < 120:
        return f"{time_s:.1f} s"
    return f"{time_s / 60:.0f} min" if time_s < 7200 else f"{time_s / 3600:.1f} h"
