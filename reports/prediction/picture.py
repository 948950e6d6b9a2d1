# SPDX-License-Identifier: Apache-2.0
"""Pictures of predictions: time against nodes, measured, by the law, with its interval."""

from __future__ import annotations

from statistics import median

from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from reports.analysis import Analysis
from reports.notation.palette import PAPER
from reports.notation.units import ReadableUnit, fixed, readable_unit
from reports.notation.values import between, quantity
from reports.prediction.outcome import Outcome, Predicted, scaling_words
from reports.show.canvas import Panel, finish, log_value_axis, new_panel
from reports.show.lines import Picture, joined, picture_of

_Panel = tuple[str, list[Predicted]]


def prediction_picture(analysis: Analysis, outcome: Outcome) -> Picture | None:
    """One panel for each check and problem, with a line for each environment."""
    groups: dict[tuple[str, str, str], list[Predicted]] = {}
    for item in outcome.predicted:
        subject = item.subject
        key = subject.check, subject.title, scaling_words(subject.scaling)
        groups.setdefault(key, []).append(item)
    return picture_of(
        analysis,
        [(joined(*key), found) for key, found in groups.items()],
        lambda group: _panel(analysis, group),
        lambda group: (item.subject.environment for item in group[1]),
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
    figure, axes = new_panel(name, f"n = {ends} launches a point; run {analysis.run.run_id}")
    told = [_draw(axes, analysis, item, unit) for item in found]
    axes.set_xscale("log", base=2)
    axes.xaxis.set_minor_locator(NullLocator())
    log_value_axis(axes)
    ticks = sorted({one.problem.nodes for item in found for one in item.curve})
    step = -(-len(ticks) // 6)
    shown = ticks[::-1][::step]
    axes.set_xticks(shown, [fixed(tick, 0) for tick in shown])
    axes.set_xlabel("nodes")
    axes.set_ylabel(f"time, {unit.label}")
    return finish(figure, f"{name}: {'; '.join(told)}")


def _draw(axes: Axes, analysis: Analysis, item: Predicted, unit: ReadableUnit) -> str:
    """A subject's line with its points; what it shows in words."""
    look = analysis.looks[item.subject.environment]
    nodes = [one.problem.nodes for one in item.curve]
    low, centre, high = (
        [getattr(one.time_s, end) / unit.factor for one in item.curve]
        for end in ("low", "value", "high")
    )
    axes.fill_between(nodes, low, high, color=look.colour, alpha=0.18, linewidth=0)
    dashes = (0, look.dashes) if look.dashes else "-"
    axes.plot(nodes, centre, color=look.colour, linewidth=1.4, linestyle=dashes)
    for one in item.subject.measured:
        learnt = one.problem.nodes in item.used
        axes.plot(
            [one.problem.nodes],
            [median(one.time_s.values()) / unit.factor],
            look.marker,
            markersize=5.2,
            markerfacecolor=look.colour if learnt else PAPER,
            markeredgecolor=look.colour,
        )
    last = item.curve[-1]
    ends = between(last.time_s.low, last.time_s.high, lambda value: quantity(value, unit))
    return f"{item.subject.environment} on {last.problem.nodes} nodes {ends}"
