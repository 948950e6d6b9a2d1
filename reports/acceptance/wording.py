# SPDX-License-Identifier: Apache-2.0
"""Numbers of judged items in words: readable units, shares as percentages or multiples."""

from __future__ import annotations

from reports.acceptance.model import Item
from reports.notation.units import decimals, fixed, readable_unit


def _is_multiple(item: Item) -> bool:
    """Whether a number without unit is a multiple (2.1 ×) rather than a share (93 %)."""
    limits = [limit for limit in (item.at_least, item.at_most) if limit is not None]
    return bool(limits) and max(limits) > 1


def number(item: Item, value: float | None) -> str:
    """A value of the item's own unit, readable."""
    if value is None:
        return "–"
    if item.unit == "1":
        if _is_multiple(item):
            return f"{fixed(value, 2)} ×"
        return f"{fixed(100 * value, 1)} %"
    limits = [limit for limit in (item.at_least, item.at_most) if limit]
    unit = readable_unit(item.unit, limits or [item.bounds.centre])
    scaled = value / unit.factor
    return f"{fixed(scaled, decimals(scaled, None))} {unit.label}"


def centre_text(item: Item) -> str:
    """What was observed: the median, or how many launches were ok."""
    if item.bounds.method == "count":
        return item.note
    return number(item, item.bounds.centre)


def bound_text(item: Item) -> str:
    """The bound that the verdict rests on; both when both matter."""
    low, high = item.bounds.low, item.bounds.high
    if low is None or high is None:
        return "–"
    if item.at_least is not None and item.at_most is None:
        return f"≤ {number(item, high)}" if item.verdict == "FAIL" else f"≥ {number(item, low)}"
    if item.at_most is not None and item.at_least is None:
        return f"≥ {number(item, low)}" if item.verdict == "FAIL" else f"≤ {number(item, high)}"
    return f"{number(item, low)} … {number(item, high)}"


def limit_words(item: Item) -> str:
    """The item's limit: "≥ 95 %"."""
    least, most = item.at_least, item.at_most
    if least is not None and most is not None:
        return f"{number(item, least)} … {number(item, most)}"
    if least is not None:
        return f"≥ {number(item, least)}"
    return f"≤ {number(item, most)}" if most is not None else "–"


def margin_text(item: Item) -> str:
    """The margin as a signed percentage."""
    if item.margin is None or item.bounds.low is None:
        return "–"
    sign = "+" if item.margin >= 0 else "−"
    return f"{sign}{fixed(abs(100 * item.margin), 1)} %"


def measured_text(item: Item) -> str:
    """The plain value behind a share."""
    if item.measured is None:
        return ""
    unit = readable_unit(item.measured_unit, [item.measured])
    scaled = item.measured / unit.factor
    return f"{fixed(scaled, decimals(scaled, None))} {unit.label}"
