# SPDX-License-Identifier: Apache-2.0
"""Calculations over the points of a quantity, the same for printed values and for a run's."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean

from records.sections import Scalar
from reports.models.collectives import aggregated_factor
from reports.models.point_to_point import plain_line
from reports.papers.definition import Step
from reports.papers.laws import fitted
from reports.papers.matching import Point, plain_value

#: Fewer lengths make no line.
LEAST_LENGTHS = 3
#: What a place that a row has not reads as.
NOWHERE = plain_value(None)


@dataclass(frozen=True)
class Values:
    """A quantity at one point: a value of each block, with the marks of its launches.

    A printed value is that of block 0; `case` is the position of a measured one's case.
    """

    by_block: Mapping[int, float]
    flags: tuple[str, ...] = ()
    case: int = 0


@dataclass(frozen=True)
class Field:
    """Values by point and by what stands side by side: machines, libraries, environments.

    `axes` name the coordinates of a point.
    """

    axes: tuple[str, ...]
    values: dict[Point, dict[str, Values]]


def stepped(field: Field, steps: Iterable[Step]) -> Field:
    """The field after the steps, one after the other."""
    for step in steps:
        field = _STEPS[step.do](field, step)
    return field


def computed(formula: Callable[..., float], *parts: Values) -> Values | None:
    """The formula of values, block by block; None where no block has all and gives a number."""
    found = {}
    for block in sorted(set.intersection(*(set(part.by_block) for part in parts))):
        try:
            value = formula(*(part.by_block[block] for part in parts))
        except ZeroDivisionError:
            continue
        if math.isfinite(value):
            found[block] = value
    flags = tuple(dict.fromkeys(flag for part in parts for flag in part.flags))
    return Values(found, flags, parts[0].case) if found else None


def each(field: Field, formula: Callable[[float], float]) -> Field:
    """The formula of each value by itself."""
    found = {
        point: {name: made for name, one in values.items() if (made := computed(formula, one))}
        for point, values in field.values.items()
    }
    return Field(field.axes, found)


def joined(field: Field, other: Field, formula: Callable[[float, float], float]) -> Field:
    """The formula of both, point by point.

    An axis on which the other has nothing does not count. Where the other was measured under one
    name only (`once`, a property of the nodes) it stands for all.
    """
    blank = [
        place
        for place in range(len(field.axes))
        if all(point[place] in ("", NOWHERE) for point in other.values)
    ]
    rest = {_without(point, blank): values for point, values in other.values.items()}
    names = {name for values in rest.values() for name in values}
    alone = next(iter(names)) if len(names) == 1 else None
    found: dict[Point, dict[str, Values]] = {}
    for point, values in field.values.items():
        for name, value in values.items():
            others = rest.get(_without(point, blank), {})
            against = others.get(name if alone is None else alone)
            made = computed(formula, value, against) if against else None
            if made:
                found.setdefault(point, {})[name] = made
    return Field(field.axes, found)


def _without(point: Point, places: Sequence[int]) -> Point:
    return tuple(text for place, text in enumerate(point) if place not in places)


def _reduced(
    field: Field,
    along: Sequence[str],
    formula: Callable[[dict[Point, Values]], Values | None],
) -> Field:
    """The field without some axes, along which the formula makes one value of several."""
    places = [field.axes.index(axis) for axis in along]
    groups: dict[tuple[Point, str], dict[Point, Values]] = {}
    for point, values in field.values.items():
        there = tuple(point[place] for place in places)
        for name, value in values.items():
            groups.setdefault((_without(point, places), name), {})[there] = value
    found: dict[Point, dict[str, Values]] = {}
    for (rest, name), line in groups.items():
        made = formula(line)
        if made:
            found.setdefault(rest, {})[name] = made
    return Field(tuple(axis for axis in field.axes if axis not in along), found)


def _chosen(line: Mapping[Point, Values], wanted: Scalar) -> Values | None:
    """The values at a coordinate, which may be the least or the greatest there is."""
    if wanted in ("least", "greatest"):
        choose = min if wanted == "least" else max
        return line[choose(line, key=lambda point: float(point[0]))]
    return line.get((plain_value(wanted),))


def _best(field: Field, step: Step) -> Field:
    """The greatest along the axes."""
    return _reduced(field, step.along, lambda line: computed(_greatest, *line.values()))


def _greatest(*values: float) -> float:
    return max(values)


def _mean(field: Field, step: Step) -> Field:
    """The arithmetic mean along the axes."""
    return _reduced(field, step.along, lambda line: computed(_average, *line.values()))


def _average(*values: float) -> float:
    return fmean(values)


def _pick(field: Field, step: Step) -> Field:
    """The values at a point of some axes."""
    for axis, wanted in step.at.items():
        field = _reduced(field, [axis], partial(_chosen, wanted=wanted))
    return field


def _against(formula: Callable[[float, float], float]) -> Callable[[Field, Step], Field]:
    """A step that holds each point against the one that `at` names, on the other axes its own."""

    def step(field: Field, step: Step) -> Field:
        there = _pick(field, step)
        places = [field.axes.index(axis) for axis in step.at]
        found: dict[Point, dict[str, Values]] = {}
        for point, values in field.values.items():
            for name, value in values.items():
                reference = there.values.get(_without(point, places), {}).get(name)
                made = computed(formula, value, reference) if reference else None
                if made:
                    found.setdefault(point, {})[name] = made
        return Field(field.axes, found)

    return step


def _line(field: Field, step: Step) -> Field:
    """A straight line by plain least squares through times over lengths, as the papers fitted."""
    limit = math.inf if step.up_to is None else step.up_to

    def fitted(line: dict[Point, Values]) -> Values | None:
        times = {float(length): values for (length,), values in line.items()}
        sizes = sorted(size for size in times if size <= limit)
        if len(sizes) < LEAST_LENGTHS:
            return None

        def part(*times_s: float) -> float:
            one = plain_line([int(size) for size in sizes], times_s)
            alpha, beta = one.alpha_s, one.beta_s_per_byte
            if step.gives == "start_up":
                return alpha
            if step.gives == "per_byte":
                return beta
            return alpha / beta if alpha > 0 and beta > 0 else math.nan

        return computed(part, *(times[size] for size in sizes))

    return _reduced(field, step.along, fitted)


def _inverse(field: Field, _: Step) -> Field:
    """1 over each value."""
    return each(field, lambda value: 1 / value)


def _aggregated(field: Field, step: Step) -> Field:
    """f(m, p) over a time: bytes that an operation moves in all, a second."""
    operation, count, length = (field.axes.index(axis) for axis in step.axes)
    found: dict[Point, dict[str, Values]] = {}
    for point, values in field.values.items():
        moved = aggregated_factor(point[operation], float(point[count])) * float(point[length])
        for name, one in values.items():
            made = computed(
                lambda time_s, moved=moved: moved / time_s if time_s > 0 else math.nan, one
            )
            if made and moved:
                found.setdefault(point, {})[name] = made
    return Field(field.axes, found)


def _law(field: Field, step: Step) -> Field:
    """A coefficient of a law over numbers of ranks and lengths, or R∞ at each number of ranks."""
    operation, count, length = (field.axes.index(axis) for axis in step.axes)
    taken = [length] if step.gives == "r_infinity" else [count, length]
    groups: dict[tuple[Point, str], dict[Point, Values]] = {}
    for point, values in field.values.items():
        for name, one in values.items():
            if point[operation] in step.forms:
                groups.setdefault((_without(point, [count, length]), name), {})[point] = one
    found: dict[Point, dict[str, Values]] = {}
    for (_, name), line in groups.items():
        # An operation without a length has none.
        at = [(float(p[count]), 0.0 if p[length] == NOWHERE else float(p[length])) for p in line]
        for kept, point in {_without(point, taken): point for point in line}.items():
            part = _part_of_law(step, point[operation], float(point[count]), at)
            made = computed(part, *line.values())
            if made:
                found.setdefault(kept, {})[name] = made
    return Field(_without(field.axes, taken), found)


def _part_of_law(
    step: Step, operation: str, ranks: float, at: Sequence[tuple[float, float]]
) -> Callable[..., float]:
    def part(*times_s: float) -> float:
        law = fitted(dict(zip(at, times_s, strict=True)), step.forms[operation])
        if law is None:
            return math.nan
        if step.gives == "r_infinity":
            return law.rate(operation, ranks) or math.nan
        one = law.startup if step.gives in ("a", "b") else law.delay
        if one is None:
            return math.nan
        return one.slope if step.gives in ("a", "c") else one.offset

    return part


def _lead(field: Field, step: Step) -> Field:
    """One name's value over another's, under the first name."""
    ahead, behind = step.names
    found = {
        point: {ahead: made}
        for point, values in field.values.items()
        if ahead in values
        and behind in values
        and (made := computed(lambda a, b: a / b, values[ahead], values[behind]))
    }
    return Field(field.axes, found)


_STEPS: dict[str, Callable[[Field, Step], Field]] = {
    "best": _best,
    "mean": _mean,
    "pick": _pick,
    "relative": _against(lambda here, there: there / here),
    "less": _against(lambda here, there: here - there),
    "line": _line,
    "inverse": _inverse,
    "aggregated": _aggregated,
    "lead": _lead,
    "law": _law,
}
