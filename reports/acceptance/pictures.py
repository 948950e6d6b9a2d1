# SPDX-License-Identifier: Apache-2.0
"""Pictures of an acceptance: margins to all limits, nodes by criterion, pairs of nodes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from reports.acceptance.model import Item, JudgedCriterion
from reports.acceptance.wording import bound_text, centre_text, limit_words, margin_text
from reports.notation.natural import natural_order
from reports.notation.palette import BAD, GOOD, INK, OPEN, QUIET
from reports.notation.units import count_text, readable_unit, three_digits
from reports.show.arrange import wrapped
from reports.show.canvas import WIDTH_IN, Panel, finish, new_panel, styled
from reports.show.heat import Heat, Place, heat_panel, multiples, shares

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


def margins(criteria: Sequence[JudgedCriterion], footer: str) -> Panel | None:
    """A bar a criterion: how far what is nearest to its limit, or farthest beyond, lies from it,
    with the bound that decides; the accused are outlined."""
    shown = [
        (one, item)
        for one in criteria
        if (item := one.most_telling()) is not None and item.margin is not None
    ]
    if not shown:
        return None
    room = WIDTH_IN - 0.1
    titles = [wrapped(one.title, 9, room) for one, _ in shown]
    subjects = [wrapped(_margin_words(item), 9, room) for _, item in shown]
    heights = [
        _LINE_IN * (len(title) + len(subject)) + _BAR_IN
        for title, subject in zip(titles, subjects, strict=True)
    ]
    with styled():
        figure, axes = new_panel("Margin to each limit", footer, 1.1 + sum(heights))
        axes.set_ylabel("bar: the median; line: to the bound that decides; outlined: accused")
        top = 0.0
        for (one, item), title, subject, height in zip(
            shown, titles, subjects, heights, strict=True
        ):
            axes.text(-_MOST_MARGIN, top, "\n".join(title), fontsize=9, color=INK, va="top")
            top_in = top + _LINE_IN * len(title)
            axes.text(-_MOST_MARGIN, top_in, "\n".join(subject), fontsize=9, color=QUIET, va="top")
            _margin_bar(axes, top + height - 0.62 * _BAR_IN, item, _COLOUR[one.verdict])
            top += height
        axes.set_xlim(-_MOST_MARGIN, _MOST_MARGIN)
        axes.set_ylim(top, -0.05)
        axes.set_yticks([])
        axes.grid(visible=False)
        axes.spines[:].set_visible(False)
        axes.set_xticks([-0.5, -0.25, 0, 0.25, 0.5], ["−50 %", "−25 %", "limit", "+25 %", "+50 %"])
        told = (f"{one.title}: {_margin_words(item)}" for one, item in shown)
        return finish(figure, f"Margin to each limit. {'; '.join(told)}")


def _margin_words(item: Item) -> str:
    """ "−33.0 points, n2, bound ≤ 47 % (limit ≥ 75 %)", and what a pair is charged to."""
    if not item.deciding_bounds:
        return f"{centre_text(item)}, {item.subject} (limit {limit_words(item)})"
    words = f"{margin_text(item)}, {item.subject}, bound {bound_text(item)}"
    words += f" (limit {limit_words(item)})"
    return f"{words}, charged to {item.charged_to}" if item.charged_to else words


def _margin_bar(axes: Axes, middle: float, item: Item, colour: str) -> None:
    """The margin of an item's centre as a bar, those of its deciding bounds as the ends of a
    line."""

    def drawn(value: float) -> float:
        return float(np.clip(item.margin_of(value) or 0.0, -_MOST_MARGIN, _MOST_MARGIN))

    centre = drawn(item.bounds.centre)
    edge, width = (BAD, 1.8) if item.state in ACCUSED else ("none", 0.0)
    axes.barh(middle, centre, height=0.16, color=colour, edgecolor=edge, linewidth=width)
    if ends := [drawn(bound) for bound in item.deciding_bounds]:
        axes.hlines(middle, min(centre, *ends), max(centre, *ends), color=INK, linewidth=1.4)
        axes.vlines(ends, middle - 0.055, middle + 0.055, color=INK, linewidth=1.4)
    axes.vlines(0, middle - 0.13, middle + 0.13, color=INK, linewidth=1.2)


def nodes_by_criterion(criteria: Sequence[JudgedCriterion], footer: str) -> list[Panel]:
    """Every node by every criterion on nodes, one panel an environment; the accused outlined."""
    columns: dict[str, dict[str, dict[str, Item]]] = {}
    for one in criteria:
        for item in one.items if one.kind == "nodes" else ():
            if item.about == "node":
                name = f"{one.title}, {item.group}" if item.group else one.title
                columns.setdefault(item.environment, {}).setdefault(name, {})[item.subject] = item
    return [_node_map(name, found, footer) for name, found in columns.items()]


def _node_map(environment: str, found: dict[str, dict[str, Item]], footer: str) -> Panel:
    nodes = natural_order({node for items in found.values() for node in items})
    values = np.full((len(found), len(nodes)), np.nan)
    texts: dict[Place, str] = {}
    culprits, named = [], set()
    for row, items in enumerate(found.values()):
        for column, node in enumerate(nodes):
            item = items.get(node)
            if item is None:
                continue
            values[row, column] = item.bounds.centre
            if len(nodes) <= MOST_NODES:
                texts[row, column] = f"{100 * item.bounds.centre:.0f} %"
            if item.state in ACCUSED:
                culprits.append((row, column))
                named.add(node)
    heat = Heat(list(found), nodes, values, texts, culprits, named=named)
    told = ", ".join(natural_order(named)) or "none"
    with styled():
        return heat_panel(
            f"Nodes by criterion, {environment}",
            footer,
            heat,
            shares("what good nodes reach"),
            f"{count_text(len(nodes), 'node')} by {len(found)} criteria; outlined: {told}.",
        )


def panels(criterion: JudgedCriterion, run_id: str, day: str) -> list[Panel]:
    """One picture for each environment and point of a criterion on nodes or links."""
    draw = {"nodes": _strip, "links": _pair_map}.get(criterion.kind)
    if draw is None:
        return []
    groups: dict[tuple[str, str], list[Item]] = {}
    for item in criterion.items:
        if item.about in ("node", "pair", "link"):
            groups.setdefault((item.environment, item.group), []).append(item)
    found = []
    for (environment, point), items in groups.items():
        plain = point and len(point) < 26 and len(groups) > 1
        counts = sorted({item.bounds.n for item in items})
        n = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        title = f"{environment}, {point}" if plain else environment
        footer = f"n = {n} launches each · judged {day} · run {run_id}"
        with styled():
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
            values[place] = item.bounds.centre
            if len(nodes) <= MOST_PAIRED:
                texts[place] = three_digits((item.measured or 0.0) / unit.factor)
            if item.state in ACCUSED:
                culprits.append(place)
            elif item.charged_to:
                charged.append(place)
    heat = Heat(
        nodes, nodes, values, texts, culprits, charged, links, _pair_note(pairs, unit.label)
    )
    told = ", ".join(item.subject for item in items if item.state in ACCUSED) or "none"
    return heat_panel(
        f"Pairs of nodes, {title}",
        footer,
        heat,
        shares("what good pairs reach")
        if items[0].at_most is None
        else multiples("good pairs' value"),
        f"Pairs of nodes in {unit.label}, {title}: {count_text(len(pairs), 'pair')},"
        f" beyond the limit: {told}.",
    )


def _pair_note(pairs: Sequence[Item], unit: str) -> str:
    """What the numbers and the outlines of a map of pairs are."""
    causes = list(dict.fromkeys(item.charged_to for item in pairs if item.charged_to))
    note = f"Numbers: {unit}. Outlined: beyond the limit."
    if not causes:
        return note
    more = ", …" if len(causes) > MOST_CAUSES else ""
    return f"{note} Dashed: charged not to the pair but to {', '.join(causes[:MOST_CAUSES])}{more}."


def _strip(items: Sequence[Item], title: str, footer: str) -> Panel:
    """Every launch's share of the nodes' median as a dot, the median as a bar, the limit."""
    figure, axes = new_panel(title, footer)
    limit = items[0].at_least or 0.0
    for place, item in enumerate(items):
        colour = _COLOUR[item.verdict] if item.state is None else BAD
        spread = np.linspace(-0.16, 0.16, len(item.shares)) if len(item.shares) > 1 else [0.0]
        percents = [100 * share for share in item.shares]
        axes.plot(place + np.asarray(spread), percents, "o", color=colour, alpha=0.45, ms=4)
        axes.plot([place - 0.28, place + 0.28], [100 * item.bounds.centre] * 2, color=colour, lw=2)
        if item.state is not None:
            low, height = min(percents), max(percents) - min(percents)
            room = 0.15 * height + 1.5
            box = Rectangle((place - 0.4, low - room), 0.8, height + 2 * room)
            box.set(fill=False, edgecolor=BAD, linewidth=1.4)
            axes.add_patch(box)
    axes.axhline(100 * limit, color=INK, lw=1, ls=(0, (5, 3)))
    axes.annotate(
        f"limit {100 * limit:g} %",
        (1, 100 * limit),
        xycoords=("axes fraction", "data"),
        xytext=(0, -3),
        textcoords="offset points",
        ha="right",
        va="top",
        fontsize=8.5,
        color=INK,
    )
    _node_ticks(axes, [item.subject for item in items])
    axes.set_xlim(-0.6, len(items) - 0.4)
    shares = [share for item in items for share in item.shares]
    low, high = min([limit, *shares]), max([1.0, *shares])
    room = 0.12 * (high - low) + 0.01
    axes.set_ylim(100 * (low - room), 100 * (high + room))
    axes.set_ylabel("% of the good nodes' median")
    axes.grid(visible=False, axis="x")
    worst = min(items, key=lambda item: item.bounds.centre)
    return finish(
        figure,
        f"Nodes against the good ones, {title}: {count_text(len(items), 'node')}, the lowest is"
        f" {worst.subject} with {100 * worst.bounds.centre:.1f} %; limit {100 * limit:g} %.",
    )


def _node_ticks(axes: Axes, names: Sequence[str]) -> None:
    step = -(-len(names) // MOST_NODES)
    axes.set_xticks(range(0, len(names), step), list(names[::step]))
