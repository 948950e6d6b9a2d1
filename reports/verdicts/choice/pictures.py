# SPDX-License-Identifier: Apache-2.0
"""Pictures of the choice: overall cost, each environment in each check, the forest of effects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from reports.analysis.cells import LEAST_DIFFERENCE, Comparison
from reports.analysis.compare import Comparisons
from reports.analysis.score import OverallScore
from reports.notation.palette import INK, Look
from reports.notation.units import level_text, significant
from reports.show.panel import (
    Axis,
    Heat,
    Mark,
    Panel,
    Picture,
    Rule,
    Scale,
    Series,
    heat_panel,
    rows_axis,
)

MOST_SCORED = 12
_FACTORS = Scale(
    "times the best",
    3.0,
    1.0,
    {3.0: "≥ 3 ×", 2.0: "2 ×", 1.5: "1.5 ×", 1.2: "1.2 ×", 1.0: "1 ×"},
    log=True,
)


#: Width of the bounds that decide.
BOUNDS_WIDTH = 2.8
#: Footer of a panel with these numbers of launches a point.
Footer = Callable[[Sequence[int]], str]


def score_picture(score: OverallScore, looks: Mapping[str, Look], footer: Footer) -> Picture:
    """Overall cost over that of the first place, with the bounds that decide the places."""
    shown, first = score.standings[:MOST_SCORED], score.standings[0].environment
    title = f"Overall cost, {first} = 1"
    marks: list[Mark] = [Rule(1 / LEAST_DIFFERENCE, "x", to=LEAST_DIFFERENCE), Rule(1, "x")]
    alt, levels = [], set()
    for row, item in enumerate(shown):
        look, ratio, told = looks[item.environment], 1.0, ""
        if item.environment != first:
            pair = score.pair(item.environment, first)
            ratio, alone = pair.effect.ratio, pair.effect.interval
            levels.add(alone.level)
            if pair.judgement and pair.judgement.ends:
                thick = Look(look.colour, "", ())
                ends = [*pair.judgement.ends]
                marks.append(Series(ends, [row] * 2, thick, width=BOUNDS_WIDTH, alpha=0.55))
                told = f" ({pair.judgement.told(3)})"
            thin = Look(INK, "|", ())
            marks.append(Series([alone.low, alone.high], [row] * 2, thin, width=0.8, size=6))
        marks.append(Series([ratio], [row], look, size=6))
        alt.append(f"{item.environment}: place {item.places}, {significant(ratio)}{told}")
    lines = f"\nthick: the bounds that decide\nthin: {level_text(min(levels))} of a pair alone"
    panel = Panel(
        title,
        marks,
        f"{title}. {'; '.join(alt)}",
        Axis(f"smaller is better · grey: ±3 %{lines}"),
        rows_axis([f"{item.environment} ({item.places})" for item in shown]),
        footer([score.n]),
        1.25 + 0.38 * len(shown),
    )
    caption = "Σ w·T over that of the reference; bars: intervals; in brackets: places."
    return Picture("picture-score", "Overall cost of each environment", caption, [panel], [])


def factors_picture(found: Comparisons, names: Sequence[str], footer: Footer) -> Picture | None:
    """Cost of each environment overall and in each check, as a multiple of the best there."""
    rows: list[tuple[str, _Costs]] = []
    if score := found.score:
        separated = [(pair.first, pair.second) for pair in score.pairs if pair.separated]
        overall = {item.environment: item.cost for item in score.standings}
        rows.append(("overall cost", _over_best(overall, separated)))
    scopes: dict[str, list[Comparison]] = {}
    for cell in found.overall:
        scopes.setdefault(cell.scope, []).append(cell)
    rows += [(scope, _scope_costs(cells)) for scope, cells in scopes.items()]
    rows = [(name, costs) for name, costs in rows if len(costs) > 1]
    if not rows:
        return None
    values = np.full((len(rows), len(names)), np.nan)
    texts = {}
    for row, (_, costs) in enumerate(rows):
        for name, (factor, apart) in costs.items():
            at = row, names.index(name)
            values[at] = factor
            texts[at] = f"{'' if apart else '≈ '}{significant(factor)}"
    n = found.score.n if found.score else max(c.n for c in found.overall)
    alt = "; ".join(
        f"{name}: " + ", ".join(f"{env} {significant(times)}" for env, (times, _) in costs.items())
        for name, costs in rows[:8]
    )
    heat = Heat([name for name, _ in rows], names, values, _FACTORS, texts)
    return Picture(
        "picture-factors",
        "Each environment in each check",
        "A multiple of the best in the row; brighter is better. ≈: not told apart from the best."
        " The overall cost is the whole workload's time; a check's row is the geometric mean over"
        " its points, in which a short message counts as much as a long one.",
        [heat_panel("Cost in each check, the row's best = 1", footer([n]), heat, alt)],
        [],
    )


#: Factor over the best, and whether the bounds tell it from the best.
_Costs = dict[str, tuple[float, bool]]


def _scope_costs(cells: Sequence[Comparison]) -> _Costs:
    reference = cells[0].reference
    ratios = {
        cell.environment: 1 / cell.effect.ratio
        for cell in cells
        if cell.reference == reference and cell.effect is not None
    }
    apart = [
        (cell.environment, cell.reference)
        for cell in cells
        if cell.judgement is not None and cell.judgement.separated
    ]
    return _over_best({reference: 1.0, **ratios}, apart)


def _over_best(costs: dict[str, float], apart: Sequence[tuple[str, str]]) -> _Costs:
    """Costs over the least one, told from it where the pair of both is `apart`."""
    best = min(costs, key=costs.__getitem__)
    known = {best, *(name for pair in apart if best in pair for name in pair)}
    return {name: (cost / costs[best], name in known) for name, cost in costs.items()}
