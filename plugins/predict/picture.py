# SPDX-License-Identifier: Apache-2.0
"""Pictures of predictions: time against nodes, measured, by the law, with its interval."""

from __future__ import annotations

from plugins.predict.outcome import Predicted, PredictionOutcome, scaling_words
from reports.analysis.run import Analysis
from reports.notation.labels import PAPER
from reports.notation.units import ReadableUnit, between, count_text, fixed, quantity, readable_unit
from reports.show.lines import joined, picture_of
from reports.show.panel import Axis, Mark, Panel, Picture, Series

_Panel = tuple[str, list[Predicted]]


def prediction_picture(analysis: Analysis, outcome: PredictionOutcome) -> Picture | None:
    """Picture of one panel for each check and problem, with a line for each environment."""
    groups: dict[tuple[str, str, str], list[Predicted]] = {}
    for item in outcome.predicted:
        key = item.part.check, item.part.title, scaling_words(item.part.scaling)
        groups.setdefault(key, []).append(item)
    return picture_of(
        analysis,
        [(joined(*key), found) for key, found in groups.items()],
        lambda group: _panel(analysis, group),
        anchor="picture-prediction",
        title="Time on node counts that were not measured",
        caption="Filled: medians that the law rests on; open: measured, not learnt from. Lines: the"
        " law; bands: its 95 % intervals.",
    )


def _panel(analysis: Analysis, group: _Panel) -> Panel:
    name, found = group
    values = [one.time_s.value for item in found for one in item.curve]
    unit = readable_unit("s", values)
    runs = {len(one.time_s) for item in found for one in item.subject.measured}
    ends = str(min(runs)) if len(runs) == 1 else between(min(runs), max(runs), 0)
    lines, told = zip(*(_line(analysis, item, unit) for item in found), strict=True)
    ticks = sorted({one.nodes for item in found for one in item.curve})
    shown = ticks[::-1][:: -(-len(ticks) // 6)]
    return Panel(
        name,
        [mark for marks in lines for mark in marks],
        f"{name}: {'; '.join(told)}",
        Axis("nodes", scale="log2", ticks={tick: fixed(tick, 0) for tick in shown}),
        Axis(f"time, {unit.label}", scale="log"),
        f"n = {ends} launches a point; run {analysis.run.run_id}",
    )


def _line(analysis: Analysis, item: Predicted, unit: ReadableUnit) -> tuple[list[Mark], str]:
    """A subject's line with its points, and what it shows in words."""
    name = item.part.environment
    look = analysis.looks[name]
    nodes = [float(one.nodes) for one in item.curve]
    low, centre, high = (
        [getattr(one.time_s, end) / unit.factor for one in item.curve]
        for end in ("low", "value", "high")
    )
    marks: list[Mark] = [Series(nodes, centre, look, name, low, high, width=1.4, size=0)]
    for one in item.subject.measured:
        face = "" if one.problem.nodes in item.part.learnt_from else PAPER
        middle = one.median_s / unit.factor
        marks.append(Series([one.problem.nodes], [middle], look, size=5.2, face=face))
    last = item.curve[-1]
    ends = between(last.time_s.low, last.time_s.high, lambda value: quantity(value, unit))
    return marks, f"{name} on {count_text(last.nodes, 'node')} {ends}"
