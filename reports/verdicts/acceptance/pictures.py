# SPDX-License-Identifier: Apache-2.0
"""Pictures of an acceptance: margins to all limits, pairs of nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from records.text.plain_text import natural_order
from reports.answers import bound_text, centre_text, limit_words, margin_text
from reports.judgement import Item, JudgedCriterion
from reports.notation.labels import BAD, GOOD, INK, OPEN, QUIET, Look
from reports.notation.units import count_text, counts_text, readable_unit, significant
from reports.show.panel import (
    WIDTH_IN,
    Axis,
    Heat,
    Mark,
    Panel,
    Place,
    Series,
    heat_panel,
    multiples,
    shares,
    wrapped,
    written,
)

_COLOUR = {"PASS": GOOD, "INCONCLUSIVE": OPEN, "SUSPECT": OPEN, "FAIL": BAD}
#: What stands out of its peers: suspected, or confirmed by re-runs.
ACCUSED = ("suspected", "confirmed")
#: A margin beyond this share of the limit is drawn to the edge.
_MOST_MARGIN = 0.6
_LINE_IN, _BAR_IN = 0.17, 0.36
#: More nodes than these have no numbers in a map of pairs.
MOST_PAIRED = 16


def margins(criteria: Sequence[JudgedCriterion], footer: str) -> Iterator[Panel]:
    """A bar a criterion: the distance of its most telling item from the limit, with the bound that
    decides; the accused are outlined."""
    shown = [
        (one, item)
        for one in criteria
        if (item := one.most_telling()) is not None and item.margin is not None
    ]
    if not shown:
        return
    marks: list[Mark] = []
    down = 0.0
    for one, item in shown:
        for text, colour in ((one.title, INK), (_margin_words(item), QUIET)):
            lines = wrapped(text, 9, WIDTH_IN - 0.1)
            marks.append(written("\n".join(lines), (-_MOST_MARGIN, down), colour, va="top"))
            down += _LINE_IN * len(lines)
        marks += _margin_bar(down + 0.38 * _BAR_IN, item, _COLOUR[one.verdict])
        down += _BAR_IN
    text = "; ".join(f"{one.title}: {_margin_words(item)}" for one, item in shown)
    ticks = {-0.5: "−50 %", -0.25: "−25 %", 0.0: "limit", 0.25: "+25 %", 0.5: "+50 %"}
    yield Panel(
        "Margin to each limit",
        marks,
        f"Margin to each limit. {text}",
        Axis(low=-_MOST_MARGIN, high=_MOST_MARGIN, ticks=ticks, grid=False),
        Axis(
            "bar: the median; line: to the bound that decides; outlined: accused",
            low=down,
            high=-0.12,
            ticks={},
            grid=False,
        ),
        footer,
        1.1 + down,
        frame=False,
    )


def _margin_words(item: Item) -> str:
    """ "−33.0 points, n2, bound ≤ 47 % (limit ≥ 75 %)", and what a pair is charged to."""
    if not item.deciding_bounds:
        return f"{centre_text(item)}, {item.subject} (limit {limit_words(item)})"
    words = f"{margin_text(item)}, {item.subject}, bound {bound_text(item)}"
    words += f" (limit {limit_words(item)})"
    return f"{words}, charged to {item.charged_to}" if item.charged_to else words


def _margin_bar(middle: float, item: Item, colour: str) -> Iterator[Mark]:
    """The margin of an item's centre as a bar, those of its deciding bounds as the ends of a
    line."""

    def drawn(value: float) -> float:
        return float(np.clip(item.margin_of(value) or 0.0, -_MOST_MARGIN, _MOST_MARGIN))

    centre = drawn(item.centre)
    look: Any = {"color": colour, "linewidth": 0}
    look |= {"edgecolor": BAD, "linewidth": 1.8} if item.state in ACCUSED else {}
    yield partial(Axes.barh, y=middle, width=centre, height=0.16, **look)
    ends = [drawn(bound) for bound in item.deciding_bounds]
    if ends:
        yield _stroke([min(centre, *ends), max(centre, *ends)], [middle] * 2, 1.4)
    for end in ends:
        yield _stroke([end] * 2, [middle - 0.055, middle + 0.055], 1.4)
    yield _stroke([0, 0], [middle - 0.13, middle + 0.13], 1.2)


def _stroke(x: Sequence[float], y: Sequence[float], width: float) -> Series:
    return Series(x, y, Look(INK, "", ()), width=width)


def pair_maps(criterion: JudgedCriterion, run_id: str, day: str) -> list[Panel]:
    """Maps of a criterion on links, one for each environment and point."""
    groups: dict[tuple[str, str], list[Item]] = {}
    for item in criterion.items if criterion.kind == "links" else ():
        if item.about in ("pair", "link"):
            groups.setdefault((item.environment, item.point), []).append(item)
    maps = []
    for (environment, point), items in groups.items():
        plain = point and len(point) < 26 and len(groups) > 1
        n = counts_text((item.n for item in items), "launch")
        title = f"{environment}, {point}" if plain else environment
        maps.append(_pair_map(items, title, f"n = {n} each · judged {day} · run {run_id}"))
    return maps


def _pair_map(items: Sequence[Item], title: str, footer: str) -> Panel:
    """The measured value of each pair; culprits outlined, dashed what another cause explains."""
    pairs = [item for item in items if item.about == "pair"]
    links = {item.subject for item in items if item.about == "link" and item.state in ACCUSED}
    nodes = natural_order({name for item in pairs for name in item.place})
    rank = {name: i for i, name in enumerate(nodes)}
    values = np.full((len(nodes), len(nodes)), np.nan)
    unit = readable_unit(pairs[0].measured_unit, [item.measured or 0.0 for item in pairs])
    texts: dict[Place, str] = {}
    culprits, charged = [], []
    for item in pairs:
        one, other = (rank[name] for name in item.place)
        for place in ((one, other), (other, one)):
            values[place] = item.centre
            if len(nodes) <= MOST_PAIRED:
                texts[place] = significant((item.measured or 0.0) / unit.factor)
            if item.state in ACCUSED:
                culprits.append(place)
            elif item.charged_to:
                charged.append(place)
    higher = items[0].at_most is None
    scale = shares("what good pairs reach") if higher else multiples("good pairs' value")
    beyond = ", ".join(item.subject for item in items if item.state in ACCUSED) or "none"
    return heat_panel(
        f"Pairs of nodes, {title}",
        footer,
        Heat(nodes, nodes, values, scale, texts, culprits, charged, links),
        f"Pairs of nodes in {unit.label}, {title}: {count_text(len(pairs), 'pair')},"
        f" beyond the limit: {beyond}.",
        f"Numbers: {unit.label}. Outlined: beyond the limit; dashed: by a slow link or cut.",
    )
