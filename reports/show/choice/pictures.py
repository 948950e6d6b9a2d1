# SPDX-License-Identifier: Apache-2.0
"""Pictures of the choice: overall cost, each environment in each check, the forest of effects."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reports.analysis import Analysis
from reports.choice.cells import LEAST_DIFFERENCE, Comparison
from reports.notation.labels import shortened
from reports.notation.palette import INK, PAPER, QUIET
from reports.notation.units import three_digits
from reports.show.arrange import LABEL_PT, wrapped
from reports.show.canvas import Panel, finish, new_panel
from reports.show.heat import Heat, Scale, heat_panel
from reports.show.lines import MOST_PANELS, Picture, counted_footer

MOST_FOREST_ROWS = 14
MOST_SCORED = 12
_FACTORS = Scale(
    "times the best",
    3.0,
    1.0,
    {3.0: "≥ 3 ×", 2.0: "2 ×", 1.5: "1.5 ×", 1.2: "1.2 ×", 1.0: "1 ×"},
    log=True,
)


def score_picture(analysis: Analysis) -> Panel | None:
    """Overall cost of each environment with its interval, best places on top."""
    score = analysis.comparisons.score
    if score is None:
        return None
    shown = score.standings[:MOST_SCORED]
    title = f"Overall cost, {score.reference} = 1"
    figure, axes = new_panel(title, counted_footer(analysis, [score.n]), 0.95 + 0.38 * len(shown))
    axes.axvspan(1 / LEAST_DIFFERENCE, LEAST_DIFFERENCE, color=QUIET, alpha=0.14, linewidth=0)
    axes.axvline(1, color=QUIET, linewidth=1)
    for row, item in enumerate(shown):
        look = analysis.looks[item.environment]
        if item.interval:
            ends = [item.interval.low, item.interval.high]
            axes.plot(ends, [row, row], color=look.colour, linewidth=2.6)
        axes.plot([item.score], [row], marker=look.marker, color=look.colour, markersize=8)
    names = [wrapped(f"{item.environment} ({item.place})", LABEL_PT, 1.75) for item in shown]
    axes.set_yticks(range(len(shown)), ["\n".join(lines) for lines in names])
    axes.tick_params(axis="y", length=0, labelcolor=INK)
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_xlabel("smaller is better · grey: ±3 %")
    alt = "; ".join(f"{item.environment}: place {item.place}, {item.score:.3g}" for item in shown)
    return finish(figure, f"{title}. {alt}")


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
    """Advantage of each environment over the reference, with intervals; one panel a scope."""
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
        "Right of the line is better than the reference. Points: Hodges–Lehmann estimates; bars:"
        " exact signed-rank intervals of each by itself, see the table. Grey: ±3 %."
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
    for cell in shown:
        assert cell.effect is not None
        look, interval = analysis.looks[cell.environment], cell.effect.interval
        step = (names.index(cell.environment) + 1.6) / (len(names) + 1.6)
        height = labels.index(cell.label) + step
        ends = [100 * (interval.low - 1), 100 * (interval.high - 1)]
        axes.plot(ends, [height, height], color=look.colour, linewidth=2.2)
        axes.plot(
            [100 * (cell.effect.ratio - 1)],
            [height],
            marker=look.marker,
            color=look.colour,
            markersize=6,
            markeredgecolor=PAPER,
            markeredgewidth=0.7,
        )
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
