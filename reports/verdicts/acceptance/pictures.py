# SPDX-License-Identifier: Apache-2.0
"""Pictures of an acceptance: margins to all limits, launches of each node, pairs of nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from records.text.plain_text import natural_order
from reports.headline import bound_text, centre_text, limit_words, margin_text
from reports.judgement import Item, JudgedCriterion
from reports.notation.palette import BAD, GOOD, INK, OPEN, QUIET, Look
from reports.notation.units import as_stated, count_text, counts_text, readable_unit, significant
from reports.show.panel import (
    WIDTH_IN,
    Axis,
    Bars,
    Heat,
    Mark,
    Panel,
    Place,
    Rule,
    Series,
    Text,
    heat_panel,
    multiples,
    shares,
    wrapped,
)

_COLOUR = {"PASS": GOOD, "INCONCLUSIVE": OPEN, "SUSPECT": OPEN, "FAIL": BAD}
#: What stands out of its peers: suspected, or confirmed by re-runs.
ACCUSED = ("suspected", "confirmed")
#: A margin beyond this share of the limit is drawn to the edge.
_MOST_MARGIN = 0.6
_LINE_IN, _BAR_IN = 0.17, 0.36
#: Causes that the note of a map of pairs names.
MOST_CAUSES = 4
#: More nodes than these have no numbers in a map of pairs, no text in a map of criteria.
MOST_PAIRED, MOST_NODES = 16, 12


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
            marks.append(Text("\n".join(lines), -_MOST_MARGIN, down, colour, vertical="top"))
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
    edge = BAD if item.state in ACCUSED else ""
    yield Bars([middle], [centre], 0.16, colour, level=True, edge=edge)
    ends = [drawn(bound) for bound in item.deciding_bounds]
    if ends:
        yield _stroke([min(centre, *ends), max(centre, *ends)], [middle] * 2, 1.4)
    for end in ends:
        yield _stroke([end] * 2, [middle - 0.055, middle + 0.055], 1.4)
    yield _stroke([0, 0], [middle - 0.13, middle + 0.13], 1.2)


def _stroke(x: Sequence[float], y: Sequence[float], width: float, colour: str = INK) -> Series:
    return Series(x, y, Look(colour, "", ()), width=width)


def panels(criterion: JudgedCriterion, run_id: str, day: str) -> list[Panel]:
    """Pictures of a criterion on nodes or links, one for each environment and point."""
    draw = {"nodes": _strip, "links": _pair_map}.get(criterion.kind)
    if draw is None:
        return []
    groups: dict[tuple[str, str], list[Item]] = {}
    for item in criterion.items:
        if item.about in ("node", "pair", "link"):
            groups.setdefault((item.environment, item.point), []).append(item)
    found = []
    for (environment, point), items in groups.items():
        plain = point and len(point) < 26 and len(groups) > 1
        n = counts_text((item.n for item in items), "launch")
        title = f"{environment}, {point}" if plain else environment
        footer = f"n = {n} each · judged {day} · run {run_id}"
        found.append(draw(items, title, footer))
    return found


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
        _pair_note(pairs, unit.label),
    )


def _pair_note(pairs: Sequence[Item], unit: str) -> str:
    """Meaning of the numbers and the outlines of a map of pairs."""
    causes = list(dict.fromkeys(item.charged_to for item in pairs if item.charged_to))
    note = f"Numbers: {unit}. Outlined: beyond the limit."
    if not causes:
        return note
    more = ", …" if len(causes) > MOST_CAUSES else ""
    return f"{note} Dashed: charged not to the pair but to {', '.join(causes[:MOST_CAUSES])}{more}."


def _strip(items: Sequence[Item], title: str, footer: str) -> Panel:
    """Every launch's share of the nodes' median as a dot, the median as a bar, the limit."""
    limit = 100 * (items[0].at_least or 0.0)
    marks: list[Mark] = []
    for place, item in enumerate(items):
        colour = _COLOUR[item.verdict] if item.state is None else BAD
        spread = np.linspace(-0.16, 0.16, len(item.shares)) if len(item.shares) > 1 else [0.0]
        percents = [100 * share for share in item.shares]
        dots = (place + np.asarray(spread)).tolist()
        marks.append(Series(dots, percents, Look(colour, "o", ()), width=0, size=4, alpha=0.45))
        centre = 100 * item.centre
        marks.append(_stroke([place - 0.28, place + 0.28], [centre] * 2, 2, colour))
        if item.state is not None:
            room = 0.15 * (max(percents) - min(percents)) + 1.5
            low, high = min(percents) - room, max(percents) + room
            left, right = place - 0.4, place + 0.4
            frame = [left, right, right, left, left], [low, low, high, high, low]
            marks.append(_stroke(*frame, 1.4, BAD))
    marks.append(Rule(limit, "y", INK, dashes=(5, 3)))
    name = f"limit {as_stated(limit)} %"
    marks.append(
        Text(name, 1, limit, size=8.5, shares="x", offset=(0, -3), right=True, vertical="top")
    )
    every = [100 * share for item in items for share in item.shares]
    low, high = min([limit, *every]), max([100.0, *every])
    room = 0.12 * (high - low) + 1
    step = -(-len(items) // MOST_NODES)
    ticks = {float(place): items[place].subject for place in range(0, len(items), step)}
    worst = min(items, key=lambda item: item.centre)
    return Panel(
        title,
        marks,
        f"Nodes against the good ones, {title}: {count_text(len(items), 'node')}, the lowest is"
        f" {worst.subject} with {100 * worst.centre:.1f} %; limit {as_stated(limit)} %.",
        Axis(low=-0.6, high=len(items) - 0.4, ticks=ticks, grid=False),
        Axis("% of the good nodes' median", low=low - room, high=high + room),
        footer,
    )
