# SPDX-License-Identifier: Apache-2.0
"""Pictures of the choice: overall cost, each environment in each check, the forest of effects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from reports.analysis import Analysis
from reports.choice.cells import ESTIMANDS, LEAST_DIFFERENCE, Comparison, Judgement
from reports.notation.labels import shortened
from reports.notation.palette import INK, PAPER, QUIET
from reports.notation.units import level_text, three_digits
from reports.show.arrange import LABEL_PT, wrapped
from reports.show.canvas import Panel, finish, new_panel
from reports.show.heat import Heat, Scale, heat_panel
from reports.show.lines import MOST_PANELS, Picture, counted_footer
from reports.statistics.signed_rank import PairedEffect

MOST_FOREST_ROWS = 14
MOST_SCORED = 12
_FACTORS = Scale(
    "times the best",
    3.0,
    1.0,
    {3.0: "≥ 3 ×", 2.0: "2 ×", 1.5: "1.5 ×", 1.2: "1.2 ×", 1.0: "1 ×"},
    log=True,
)


#: How far bounds are drawn beyond the estimates and single intervals, in ranges of these.
_BEYOND = 1.5
#: Width of the bounds that decide, and of the intervals that do not.
BOUNDS_WIDTH, _THIN = 2.8, 0.8


def score_picture(analysis: Analysis) -> Panel | None:
    """Overall cost over that of the first place, with the bounds that decide the places."""
    score = analysis.comparisons.score
    if score is None:
        return None
    shown, first = score.standings[:MOST_SCORED], score.standings[0].environment
    title = f"Overall cost, {first} = 1"
    figure, axes = new_panel(title, counted_footer(analysis, [score.n]), 1.25 + 0.38 * len(shown))
    axes.axvspan(1 / LEAST_DIFFERENCE, LEAST_DIFFERENCE, color=QUIET, alpha=0.14, linewidth=0)
    axes.axvline(1, color=QUIET, linewidth=1)
    bars, told = [], []
    for row, item in enumerate(shown):
        look = analysis.looks[item.environment]
        pair = score.pair(item.environment, first) if item.environment != first else None
        cost = pair.effect.ratio if pair else 1.0
        if pair:
            bars.append(_Bar(row, pair.effect, pair.judgement, look.colour))
        axes.plot([cost], [row], marker=look.marker, color=look.colour, markersize=6, zorder=3)
        bounds = f" ({pair.judgement.told(3)})" if pair and pair.judgement else ""
        told.append(f"{item.environment}: place {item.place}, {cost:.3g}{bounds}")
    _draw(axes, bars)
    names = [wrapped(f"{item.environment} ({item.place})", LABEL_PT, 1.75) for item in shown]
    axes.set_yticks(range(len(shown)), ["\n".join(lines) for lines in names])
    axes.tick_params(axis="y", length=0, labelcolor=INK)
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_xlabel(f"smaller is better · grey: ±3 %\n{_legend(bars)}")
    return finish(figure, f"{title}. {'; '.join(told)}")


@dataclass(frozen=True)
class _Bar:
    """A ratio's bounds that decide, and its interval by itself, at a height."""

    height: float
    effect: PairedEffect
    judgement: Judgement | None
    colour: str

    @property
    def alone(self) -> tuple[float, float]:
        return self.effect.interval.low, self.effect.interval.high

    @property
    def ends(self) -> tuple[float, float] | None:
        ends = self.judgement and self.judgement.ends
        return (ends[0], ends[1]) if ends else None


def _draw(axes: Axes, bars: Sequence[_Bar], of: Callable[[float], float] = float) -> None:
    """Bounds thick, single intervals thin with ends; bounds far beyond leave the panel."""
    for bar in bars:
        at = [bar.height] * 2
        if bar.ends:
            axes.plot(
                [*map(of, bar.ends)], at, color=bar.colour, linewidth=BOUNDS_WIDTH, alpha=0.55
            )
        axes.plot([*map(of, bar.alone)], at, color=INK, linewidth=_THIN, marker="|", markersize=6)
    inner = [of(end) for bar in bars for end in (*bar.alone, bar.effect.ratio)] + [of(1.0)]
    outer = [of(end) for bar in bars for end in bar.ends or ()] + inner
    room = _BEYOND * (max(inner) - min(inner))
    low, high = max(min(outer), min(inner) - room), min(max(outer), max(inner) + room)
    pad = 0.05 * (high - low) or abs(of(1.1) - of(1.0))
    axes.set_xlim(low - pad, high + pad)


def _legend(bars: Sequence[_Bar]) -> str:
    """What thick and thin lines are."""
    levels = sorted({bar.effect.interval.level for bar in bars})
    alone = f"{'≥ ' if len(levels) > 1 else ''}{level_text(levels[0])} of this pair alone"
    if not any(bar.ends for bar in bars):
        return f"thin: {alone}; nothing is decided"
    return f"thick: the bounds that decide\nthin: {alone}"


def factors_picture(analysis: Analysis) -> Picture | None:
    """What each environment costs overall and in each check, as a multiple of the best there."""
    comparisons, names = analysis.comparisons, list(analysis.looks)
    rows = [("overall cost", _overall_costs(analysis))] if comparisons.score else []
    scopes: dict[str, list[Comparison]] = {}
    for cell in comparisons.overall:
        scopes.setdefault(cell.scope, []).append(cell)
    rows += [(scope, _scope_costs(cells)) for scope, cells in scopes.items()]
    rows = [(name, costs) for name, costs in rows if len(costs) > 1]
    if not rows:
        return None
    values = np.full((len(rows), len(names)), np.nan)
    texts = {}
    for row, (_, costs) in enumerate(rows):
        for name, (factor, told) in costs.items():
            place = row, names.index(name)
            values[place] = factor
            text = f"{factor:.2f}" if factor < 10 else three_digits(factor)
            texts[place] = text if told else f"≈ {text}"
    n = comparisons.score.n if comparisons.score else max(c.n for c in comparisons.overall)
    panel = heat_panel(
        "Cost in each check, the row's best = 1",
        counted_footer(analysis, [n]),
        Heat([name for name, _ in rows], names, values, texts),
        _FACTORS,
        "; ".join(
            f"{name}: " + ", ".join(f"{env} {factor:.3g}" for env, (factor, _) in costs.items())
            for name, costs in rows[:8]
        ),
    )
    return Picture(
        "picture-factors",
        "Each environment in each check",
        "A multiple of the best in the row; brighter is better. ≈: not told apart from the best."
        " The overall cost is the whole workload's time; a check's row is the geometric mean over"
        " its points, in which a short message counts as much as a long one.",
        [panel],
        [],
    )


#: Factor over the best, and whether the bounds tell it from the best.
_Costs = dict[str, tuple[float, bool]]


def _overall_costs(analysis: Analysis) -> _Costs:
    score = analysis.comparisons.score
    assert score is not None
    costs = {item.environment: item.score for item in score.standings}
    best = min(costs, key=costs.__getitem__)
    apart = {
        name
        for pair in score.pairs
        if pair.separated
        for name in (pair.first, pair.second)
        if best in (pair.first, pair.second)
    }
    return {
        name: (cost / costs[best], name == best or name in apart) for name, cost in costs.items()
    }


def _scope_costs(cells: Sequence[Comparison]) -> _Costs:
    reference = cells[0].reference
    costs = {reference: 1.0}
    for cell in cells:
        if cell.reference == reference and cell.effect is not None:
            costs[cell.environment] = 1 / cell.effect.ratio
    best = min(costs, key=costs.__getitem__)
    apart = {
        name
        for cell in cells
        if best in (cell.environment, cell.reference)
        and cell.judgement is not None
        and cell.judgement.separated
        for name in (cell.environment, cell.reference)
    }
    return {
        name: (cost / costs[best], name == best or name in apart) for name, cost in costs.items()
    }


def forest(analysis: Analysis) -> Picture | None:
    """Advantage of each environment over the reference, with bounds; one panel a scope."""
    comparisons = analysis.comparisons
    scopes: dict[str, list[Comparison]] = {}
    for cell in (*comparisons.overall, *comparisons.groups):
        if cell.reference == comparisons.reference and cell.effect:
            scopes.setdefault(cell.scope, []).append(cell)
    if not scopes:
        return None
    shown = list(scopes.items())[:MOST_PANELS]
    names = {cell.environment for _, cells in shown for cell in cells}
    rows = max(len({cell.label for cell in cells}) for cells in scopes.values())
    cut = f" At most {MOST_PANELS} panels of {MOST_FOREST_ROWS} rows are drawn."
    return Picture(
        "picture-effects",
        f"Advantage over {comparisons.reference}",
        "Right of the line is better than the reference. Thick bars: the bounds that decide; where"
        " they reach the frame they go on. Thin: the exact signed-rank interval of this pair alone,"
        f" which decides nothing. Grey: ±3 %. {ESTIMANDS}"
        + (cut if rows > MOST_FOREST_ROWS or len(scopes) > MOST_PANELS else ""),
        [_forest_panel(analysis, scope, cells) for scope, cells in shown],
        [name for name in analysis.looks if name in names],
    )


def _forest_panel(analysis: Analysis, scope: str, cells: Sequence[Comparison]) -> Panel:
    labels = list(dict.fromkeys(cell.label for cell in cells))[:MOST_FOREST_ROWS]
    shown = [cell for cell in cells if cell.label in labels]
    names = list(dict.fromkeys(cell.environment for cell in shown))
    pitch = 0.24 + 0.15 * len(names)
    figure, axes = new_panel(
        scope, counted_footer(analysis, [shown[0].n]), 0.95 + pitch * len(labels)
    )
    axes.axvspan(-3, 3, color=QUIET, alpha=0.14, linewidth=0)
    axes.axvline(0, color=QUIET, linewidth=1)
    bars = []
    for cell in shown:
        assert cell.effect is not None
        look = analysis.looks[cell.environment]
        step = (names.index(cell.environment) + 1.6) / (len(names) + 1.6)
        height = labels.index(cell.label) + step
        bars.append(_Bar(height, cell.effect, cell.judgement, look.colour))
        axes.plot(
            [_gain(cell.effect.ratio)],
            [height],
            marker=look.marker,
            color=look.colour,
            markersize=6,
            markeredgecolor=PAPER,
            markeredgewidth=0.7,
            zorder=3,
        )
    _draw(axes, bars, _gain)
    for row, label in enumerate(labels):
        axes.text(
            0.0,
            row + 0.06,
            shortened(label, 52),
            transform=axes.get_yaxis_transform(),
            fontsize=9,
            color=INK,
            va="top",
            weight="bold" if label == "all points" else None,
        )
    axes.set_ylim(len(labels), 0)
    axes.set_yticks(range(len(labels)), [""] * len(labels))
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(f"advantage in {analysis.register.metric_title(shown[0].metric)}, %")
    alt = "; ".join(f"{cell.label}: {cell.environment} {cell.difference}" for cell in shown[:6])
    return finish(figure, f"{scope}: advantage over {shown[0].reference}. {alt}")


def _gain(ratio: float) -> float:
    """An advantage in per cent."""
    return 100 * (ratio - 1)
