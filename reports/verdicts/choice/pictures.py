# SPDX-License-Identifier: Apache-2.0
"""Pictures of the choice: overall cost, each environment in each check, the forest of effects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reports.analysis.cells import LEAST_DIFFERENCE, Comparison, ComparisonJudgement
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
from reports.statistics.signed_rank import PairedEffect

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
#: Footer of a panel with these numbers of launches a point.
Footer = Callable[[Sequence[int]], str]


def score_picture(score: OverallScore, looks: Mapping[str, Look], footer: Footer) -> Picture:
    """Overall cost over that of the first place, with the bounds that decide the places."""
    shown, first = score.standings[:MOST_SCORED], score.standings[0].environment
    title = f"Overall cost, {first} = 1"
    bars, alt = [], []
    for row, item in enumerate(shown):
        pair = score.pair(item.environment, first) if item.environment != first else None
        effect, judged = (pair.effect, pair.judgement) if pair else (None, None)
        bars.append(_Ratio(row, looks[item.environment], effect, judged))
        bounds = f" ({judged.told(3)})" if judged else ""
        ratio = significant(bars[-1].ratio)
        alt.append(f"{item.environment}: place {item.places}, {ratio}{bounds}")
    low, high = _ends(bars)
    marks = [mark for bar in bars for mark in bar.marks()]
    panel = Panel(
        title,
        [Rule(1 / LEAST_DIFFERENCE, "x", to=LEAST_DIFFERENCE), Rule(1, "x"), *marks],
        f"{title}. {'; '.join(alt)}",
        Axis(f"smaller is better · grey: ±3 %\n{_legend(bars)}", low=low, high=high),
        rows_axis([f"{item.environment} ({item.places})" for item in shown]),
        footer([score.n]),
        1.25 + 0.38 * len(shown),
    )
    caption = "Σ w·T over that of the reference; bars: intervals; in brackets: places."
    return Picture("picture-score", "Overall cost of each environment", caption, [panel], [])


@dataclass(frozen=True)
class _Ratio:
    """A ratio at a height: a marker, its bounds that decide, and its interval by itself."""

    height: float
    look: Look
    effect: PairedEffect | None
    judgement: ComparisonJudgement | None

    @property
    def ratio(self) -> float:
        return self.effect.ratio if self.effect else 1.0

    @property
    def alone(self) -> tuple[float, ...]:
        return (self.effect.interval.low, self.effect.interval.high) if self.effect else ()

    @property
    def ends(self) -> tuple[float, ...]:
        return tuple(self.judgement.ends or ()) if self.judgement else ()

    def marks(self) -> Iterator[Mark]:
        """Bounds thick, single intervals thin with ends."""
        at = [self.height] * 2
        if self.ends:
            thick = Look(self.look.colour, "", ())
            yield Series([*self.ends], at, thick, width=BOUNDS_WIDTH, alpha=0.55)
        if self.alone:
            yield Series([*self.alone], at, Look(INK, "|", ()), width=_THIN, size=6)
        yield Series([self.ratio], at[:1], self.look, size=6)


def _ends(bars: Sequence[_Ratio]) -> tuple[float, float]:
    """The ends of an axis of ratios; bounds far beyond the single intervals leave the panel."""
    inner = [end for bar in bars for end in (*bar.alone, bar.ratio)] + [1.0]
    outer = [end for bar in bars for end in bar.ends] + inner
    room = _BEYOND * (max(inner) - min(inner))
    low, high = max(min(outer), min(inner) - room), min(max(outer), max(inner) + room)
    pad = 0.05 * (high - low) or 0.1
    return low - pad, high + pad


def _legend(bars: Sequence[_Ratio]) -> str:
    """Meaning of thick and thin lines."""
    levels = sorted({bar.effect.interval.level for bar in bars if bar.effect})
    if not levels:
        return ""
    alone = f"{'≥ ' if len(levels) > 1 else ''}{level_text(levels[0])} of this pair alone"
    if not any(bar.ends for bar in bars):
        return f"thin: {alone}; nothing is decided"
    return f"thick: the bounds that decide\nthin: {alone}"


def factors_picture(found: Comparisons, names: Sequence[str], footer: Footer) -> Picture | None:
    """Cost of each environment overall and in each check, as a multiple of the best there."""
    rows = [("overall cost", _overall_costs(found.score))] if found.score else []
    rows += [(scope, _scope_costs(cells)) for scope, cells in _by_scope(found.overall).items()]
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


def _by_scope(cells: Iterable[Comparison]) -> dict[str, list[Comparison]]:
    scopes: dict[str, list[Comparison]] = {}
    for cell in cells:
        scopes.setdefault(cell.scope, []).append(cell)
    return scopes


#: Factor over the best, and whether the bounds tell it from the best.
_Costs = dict[str, tuple[float, bool]]


def _overall_costs(score: OverallScore) -> _Costs:
    apart = [(pair.first, pair.second) for pair in score.pairs if pair.separated]
    return _over_best({item.environment: item.cost for item in score.standings}, apart)


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
