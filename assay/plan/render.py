# SPDX-License-Identifier: Apache-2.0
"""A plan as a table for people."""

from collections.abc import Iterator
from math import exp

from assay.plan.times import Clock
from checks.common.definition import gigabytes
from records.run.plan import Plan, PlannedCase
from records.run.rerun import CHECKS_OF_PAIRS
from records.site.pair_scans import sample_told
from reports.notation.labels import case_names
from reports.notation.units import count_text, percent, signed_percent

_HEADINGS = ("case", "ranks", "nodes", "MB/node", "time", "environments")
#: Standard deviations of ln of a pair's ratio from block to block, for which advantages are told.
SPREADS = (0.02, 0.05)


def render_plan(plan: Plan) -> str:
    """Every case, those that differ in their environment only in one line, the skipped ones with
    their reasons, and the totals."""
    rows, skipped = _grouped(plan)
    question = " ".join(plan.question.split())
    lines = [f"campaign {plan.campaign} on site {plan.site}", question]
    lines += [*plan.brings(), *plan.told(), "", *_table(rows)]
    if skipped:
        lines += ["", f"skipped ({plan.totals.skipped}):"]
        for reason, cases in skipped.items():
            lines += [reason, f"    {', '.join(cases)}"]
    for heading, texts in _details(plan):
        if texts:
            lines += ["", heading, *(f"  {text}" for text in dict.fromkeys(texts))]
    if found := _resolution(plan):
        lines += ["", found]
    totals, blocks = plan.totals, f"{plan.blocks} blocks"
    most, least_s = "", totals.wall_s
    if plan.sequential is not None:
        blocks, most = f"{plan.sequential.interims[0]} to {blocks}", "at most "
        least_s = Clock(plan).left_s()
    lines += [
        "",
        f"{totals.cases} cases, {totals.skipped} skipped; {blocks}, order seed {plan.seed}",
        f"{most}{totals.launches} launches, about {_durations(least_s, totals.wall_s)} and"
        f" {totals.node_hours:g} node-hours",
        _sources(plan),
    ]
    return "\n".join([*lines, ""])


def _resolution(plan: Plan) -> str | None:
    """Line on the advantage of an environment that all blocks find; None where nothing is compared.
    Beyond the margin of 3 % it is found by a shift of its logarithm."""
    from reports.analysis.cells import LEAST_DIFFERENCE  # slow: SciPy
    from reports.statistics import max_t  # slow: SciPy

    feasible = [case for case in plan.cases if case.skipped is None]
    names = {case.environment for case in feasible}
    pairs = len(names) * (len(names) - 1) // 2
    scopes = {(case.check, case.params.get("placement")) for case in feasible}
    if not pairs:
        return None
    if plan.blocks < max_t.LEAST_BLOCKS:
        least = f"at least {max_t.LEAST_BLOCKS} are needed"
        return f"blocks: {plan.blocks} cannot separate environments; {least}"
    questions, gain, judged = pairs * (1 + len(scopes)), 1.0, ""
    if plan.sequential is None:
        error = max_t.QUANTILE / (questions + pairs * len(feasible) // len(names))
    else:
        spent = max_t.spent(plan.blocks, plan.sequential.stages)
        error = spent * max_t.DECLARED_SHARE / questions
        gain = max_t.shared_gain(len(names))
        after = ", ".join(map(str, plan.sequential.interims))
        judged = f"judged after blocks {after} until known: {', '.join(plan.sequential.until)}; "
    shifts = {s: min(s * max_t.detectable(plan.blocks, error, gain), 50.0) for s in SPREADS}
    told = (
        f"{percent(ratio - 1, 1) if ratio < 2 else signed_percent(ratio)} (s = {percent(s, 0)})"
        for s, ratio in ((s, LEAST_DIFFERENCE * exp(shift)) for s, shift in shifts.items())
    )
    return (
        f"{judged}{plan.blocks} blocks find an advantage of about {' or '.join(told)}; s is by how"
        " much the ratio of two environments varies from block to block"
    )


def _sources(plan: Plan) -> str:
    """Sentence on what the times are learned from."""
    times, measured = plan.times, [case.measured > 0 for case in plan.cases if not case.skipped]
    builds = f", {count_text(len(times.builds), 'build')} of {times.build_s:.0f} s each"
    parts = []
    if any(measured):
        learned = f"times of {count_text(sum(measured), 'case')}"
        parts.append(f"{learned} are those of run {', '.join(times.runs)}")
    if not all(measured):
        parts.append(f"{'others' if parts else 'times'} are shipped values, which are rough")
    start = f"start {times.start_s:.0f} s{builds if times.builds else ''}"
    return "; ".join([*parts, f"{start}, {times.between_s:.2g} s between launches"])


def _grouped(plan: Plan) -> tuple[list[tuple[str, ...]], dict[str, list[str]]]:
    """Rows of the table, and the environments of the skipped cases by name and reason."""
    names, every = case_names(plan.cases), plan.environments
    groups: dict[tuple[str, ...], list[PlannedCase]] = {}
    skipped: dict[str, list[str]] = {}
    for case in plan.cases:
        name = names[case.id]
        if case.skipped is None:
            memory = f"{case.memory_bytes_per_node / 1e6:.0f}"
            groups.setdefault((name, str(case.ranks), str(case.nodes), memory), []).append(case)
        else:
            skipped.setdefault(f"  {name}: {case.skipped}", []).append(case.environment)
    rows = []
    for row, cases in groups.items():
        times, found = [case.estimate_s for case in cases], [case.environment for case in cases]
        whose = f"all {len(every)}" if {*every} == {*found} and len(every) > 1 else ", ".join(found)
        rows.append((*row, _durations(min(times), max(times)), whose))
    return rows, skipped


def _details(plan: Plan) -> Iterator[tuple[str, list[str]]]:
    """Details with their headings: of scans of pairs that measure a sample of them what these can
    miss; bytes on storage under test."""
    names, cases = case_names(plan.cases), [case for case in plan.cases if case.skipped is None]
    scans = (sample_told(c.nodes, c.params) for c in cases if c.check in CHECKS_OF_PAIRS)
    yield "pairs of nodes are sampled:", [text for text in scans if text is not None]
    yield (
        "files that a launch has at a time, removed at its end:",
        [
            f"{names[case.id]}: {gigabytes(case.stored_bytes)} in `storage` {case.params['target']}"
            for case in cases
            if case.stored_bytes
        ],
    )


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    """Aligned rows below their headings, the numbers to the right."""
    if not rows:
        return []
    columns = [*zip(_HEADINGS, *rows, strict=True)]
    *widths, _ = (max(map(len, column)) for column in columns)
    pattern = "  ".join(f"{{:{'>' if i else '<'}{width}}}" for i, width in enumerate(widths))
    return [f"  {pattern}  {{}}".format(*row) for row in zip(*columns, strict=True)]


def _duration(time_s: float) -> str:
    """A time as people say it: 3.1 s, 7 min, 2.5 h."""
    if time_s < 120:
        return f"{time_s:.1f} s"
    return f"{time_s / 60:.0f} min" if time_s < 7200 else f"{time_s / 3600:.1f} h"


def _durations(least_s: float, greatest_s: float) -> str:
    """Two times: "1.2–3.1 s", "50.0 s – 3 min"; one where both read the same."""
    least, greatest = _duration(least_s), _duration(greatest_s)
    if least == greatest:
        return greatest
    number, unit = least.split()
    return f"{number}–{greatest}" if greatest.endswith(f" {unit}") else f"{least} – {greatest}"
