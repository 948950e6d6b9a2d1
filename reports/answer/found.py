# SPDX-License-Identifier: Apache-2.0
"""What was measured where nothing is compared: one environment, or too few blocks."""

from __future__ import annotations

from reports.analysis import Analysis, Row
from reports.answer import commands
from reports.answer.phrases import listed
from reports.answers import Answer, State, fitting
from reports.notation.units import count_text, fixed, readable_unit, three_digits
from reports.statistics.max_t import LEAST_BLOCKS

#: Checks of an acceptance: what they give is judged by criteria.
_BY_CRITERIA = ("node", "alltoall_pairs")
#: Blocks that show how far launches of one environment scatter.
_SCATTER = 5


def found(analysis: Analysis) -> Answer:
    """Costs of a few blocks as they stand, else the values of each check."""
    run = analysis.run
    names = [name for name in run.plan.environments if _has_values(analysis, name)]
    estimates = analysis.comparisons.estimates
    by_criteria = any(check in _BY_CRITERIA for check in analysis.checks)
    if len(estimates) > 1 and not by_criteria:
        return _estimated(analysis, estimates)
    values = [text for check in analysis.checks if (text := _value(analysis, check, names))]
    who = f"{names[0]}: " if len(names) == 1 else ""
    right = f"all {analysis.counts['ok']} launches right"
    if bad := sum(analysis.counts[word] for word in ("failed", "wrong", "lost")):
        right = f"{analysis.counts['ok']} of {analysis.counts['ok'] + bad} launches right"
    sentence = fitting(
        *(f"{who}{listed(values, most)}; {right}." for most in (6, 4, 3, 2) if values),
        f"{who}{right}.",
    )
    without = [name for name in run.plan.environments if name not in names]
    unknown, command = "", ""
    if without:
        unknown = f"anything of {listed(without)}: no launch of it has a value"
    elif run.blocks < _SCATTER:
        unknown = f"how far launches scatter, from {count_text(run.blocks, 'block')}"
        command = commands.run_again(run, blocks=_SCATTER)
    elif len(names) == 1:
        unknown = "how other libraries would do: one environment was measured"
    if by_criteria:
        unknown = "whether the machine is accepted: criteria judge that"
        virtual = bool(run.provenance.site.virtual)
        asked = f"--criteria {'rehearsal' if virtual else 'standard'}"
        asked = "" if run.plan.criteria_of(virtual=virtual) else asked
        command = commands.accept(commands.name_of(run), asked)
    return Answer(State.OPEN if without else State.MEASURED, sentence, unknown, command)


def _has_values(analysis: Analysis, environment: str) -> bool:
    return any(analysis.case(row).environment == environment for row in analysis.rows)


def _estimated(analysis: Analysis, estimates: dict[str, float]) -> Answer:
    """Costs that nothing can be decided by, best first."""
    blocks = analysis.run.blocks
    ordered = sorted(estimates, key=estimates.__getitem__)
    reference = analysis.comparisons.reference
    costs = [f"{name} {fixed(estimates[name], 2)}" for name in ordered]
    head = f"{count_text(blocks, 'block')} cannot decide; cost so far, {reference} = 1:"
    return Answer(
        State.OPEN,
        fitting(f"{head} {listed(costs, 6)}.", f"{head} {listed(costs, 3)}."),
        f"which is best: chance alone can give any order below {LEAST_BLOCKS} blocks",
        commands.run_again(analysis.run, blocks=LEAST_BLOCKS + 2),
    )


def _value(analysis: Analysis, check: str, names: list[str]) -> str:
    """A check's deciding metric: its value, or from the least to the greatest."""
    metrics = analysis.metrics_of(check)
    deciding = [name for name in metrics if analysis.register.decides(check, name)] or metrics
    rows = [row for row in analysis.rows_of(check, *deciding[:1]) if _in(analysis, row, names)]
    if not rows:
        return ""
    medians = sorted(row.summary.median for row in rows)
    title = analysis.register.check_title(check)
    low, high = medians[0], medians[-1]
    units = [readable_unit(rows[0].unit, [end]) for end in (low, high)]
    ends = [
        f"{three_digits(end / unit.factor)} {unit.label}"
        for end, unit in zip((low, high), units, strict=True)
    ]
    if units[0] == units[1]:
        ends[0] = ends[0].removesuffix(f" {units[0].label}")
    return f"{title} {ends[1]}" if low == high else f"{title} {ends[0]} … {ends[1]}"


def _in(analysis: Analysis, row: Row, names: list[str]) -> bool:
    return analysis.case(row).environment in names
