# SPDX-License-Identifier: Apache-2.0
"""Quantities over their points, and calculations with them: printed ones and a run's alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import truediv
from typing import Any, Literal

import numpy as np

from records.sections import Scalar

Point = tuple[str, ...]

#: The axis of message lengths.
LENGTH = "at.message_bytes"
#: Fewer lengths make no line.
LEAST_LENGTHS = 3


def plain_value(value: Any) -> str:
    """A coordinate as a text that is the same for 4, 4.0 and "4"."""
    try:
        return f"{float(value):.12g}"
    except (TypeError, ValueError):
        return str(value)


#: The coordinate of a row that has none at this place.
NOWHERE = plain_value(None)


@dataclass(frozen=True)
class BlockValues:
    """A quantity at one point: a value of each block, with the marks of its launches.

    A printed value is that of block 0; `case` is the position of a measured one's case.
    """

    by_block: Mapping[int, float]
    flags: tuple[str, ...] = ()
    case: int = 0


def computed(formula: Callable[..., float], *parts: BlockValues | None) -> BlockValues | None:
    """The formula of values, block by block; None where no block has all and gives a number."""
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    found = {}
    for block in sorted(set.intersection(*(set(part.by_block) for part in known))):
        try:
            value = formula(*(part.by_block[block] for part in known))
        except ZeroDivisionError:
            continue
        if math.isfinite(value):
            found[block] = value
    flags = tuple(dict.fromkeys(flag for part in known for flag in part.flags))
    return BlockValues(found, flags, known[0].case) if found else None


@dataclass(frozen=True)
class Field:
    """BlockValues by point and by what is side by side: machines, libraries, environments.

    `axes` name the coordinates of a point. `made_by` has what was calculated: nothing of values as
    printed or measured, else "calculated", and of fits and differences their kind.
    """

    axes: Point
    values: dict[Point, dict[str, BlockValues]]
    made_by: frozenset[str] = frozenset()

    def items(self) -> Iterator[tuple[Point, str, BlockValues]]:
        """Point, name and values of each."""
        return ((p, name, one) for p, by in self.values.items() for name, one in by.items())

    def made(
        self,
        found: Iterable[tuple[Point, str, BlockValues | None]],
        axes: Sequence[str] | None = None,
        *kinds: str,
    ) -> Field:
        """Another field of what was calculated from this one."""
        values: dict[Point, dict[str, BlockValues]] = {}
        for point, name, one in found:
            if one is not None:
                values.setdefault(point, {})[name] = one
        axes = self.axes if axes is None else tuple(axes)
        return Field(tuple(axes), values, self.made_by | {"calculated", *kinds})

    def each(self, formula: Callable[[float], float]) -> Field:
        """The formula of each value."""
        return self.at_points(lambda _, value: formula(value))

    def at_points(self, formula: Callable[[dict[str, str], float], float]) -> Field:
        """The formula of each value and its coordinates by axis."""

        def with_point(point: Point) -> Callable[[float], float]:
            at = dict(zip(self.axes, point, strict=True))
            return lambda value: formula(at, value)

        return self.made((p, name, computed(with_point(p), one)) for p, name, one in self.items())

    def along(
        self,
        axes: Sequence[str],
        formula: Callable[[dict[Point, BlockValues]], BlockValues | None],
        *kinds: str,
    ) -> Field:
        """The field without some axes, along which the formula makes one value of several."""
        places = [self.axes.index(axis) for axis in axes]
        groups: dict[tuple[Point, str], dict[Point, BlockValues]] = {}
        for point, name, one in self.items():
            there = tuple(point[place] for place in places)
            groups.setdefault((without(point, places), name), {})[there] = one
        made = ((point, name, formula(line)) for (point, name), line in groups.items())
        return self.made(made, without(self.axes, places), *kinds)

    def reduced(self, formula: Callable[[Sequence[float]], float], *axes: str) -> Field:
        """The formula of all values along axes: `max`, `statistics.fmean`."""
        return self.along(
            axes, lambda line: computed(lambda *values: formula(values), *line.values())
        )

    def pick(self, axis: str, wanted: Scalar) -> Field:
        """The values at a coordinate, which may be the "least" or "greatest" there is."""

        def chosen(line: dict[Point, BlockValues]) -> BlockValues | None:
            if wanted in ("least", "greatest"):
                choose = min if wanted == "least" else max
                return line[choose(line, key=lambda point: float(point[0]))]
            return line.get((plain_value(wanted),))

        return self.along([axis], chosen)

    def against(
        self, axis: str, wanted: Scalar, formula: Callable[[float, float], float], *kinds: str
    ) -> Field:
        """The formula of each value and of that at a coordinate of an axis."""
        there, index = self.pick(axis, wanted).values, self.axes.index(axis)
        made = (
            (p, name, computed(formula, own, there.get(without(p, [index]), {}).get(name)))
            for p, name, own in self.items()
        )
        return self.made(made, None, *kinds)

    def lead(self, ahead: str, behind: str) -> Field:
        """Values of a name over those of another, under the first name."""
        return self.made(
            (point, ahead, computed(truediv, by.get(ahead), by.get(behind)))
            for point, by in self.values.items()
        )

    def line(
        self,
        gives: Literal["start_up", "per_byte", "half_length"],
        up_to: float = math.inf,
        axis: str = LENGTH,
    ) -> Field:
        """A straight line by plain least squares through times over lengths, as the papers fitted:
        through those of at most `up_to` bytes, and three at least."""

        def part(sizes: list[float], times_s: Sequence[float]) -> float:
            beta, alpha = map(float, np.polyfit(sizes, times_s, 1))
            if gives == "half_length":
                return alpha / beta if alpha > 0 and beta > 0 else math.nan
            return alpha if gives == "start_up" else beta

        def fitted(line: dict[Point, BlockValues]) -> BlockValues | None:
            times = {float(length): values for (length,), values in line.items()}
            sizes = sorted(size for size in times if size <= up_to)
            if len(sizes) < LEAST_LENGTHS:
                return None
            return computed(lambda *found: part(sizes, found), *(times[size] for size in sizes))

        return self.along([axis], fitted, "line", gives)

    def joined(self, other: Field, formula: Callable[[float, float], float]) -> Field:
        """The formula of both, point by point.

        An axis on which the other has nothing does not count. Where the other was measured under
        one name only (`once`, a property of the nodes) it is taken for all.
        """
        blank = [
            place
            for place in range(len(self.axes))
            if all(point[place] in ("", NOWHERE) for point in other.values)
        ]
        rest = {without(point, blank): by for point, by in other.values.items()}
        names = {name for by in rest.values() for name in by}
        alone = next(iter(names)) if len(names) == 1 else None

        def against(point: Point, name: str) -> BlockValues | None:
            return rest.get(without(point, blank), {}).get(name if alone is None else alone)

        return self.made(
            (p, name, computed(formula, one, against(p, name))) for p, name, one in self.items()
        )

    def __truediv__(self, other: Field) -> Field:
        return self.joined(other, truediv)


def without(point: Point, places: Sequence[int]) -> Point:
    """A point without the coordinates at these places."""
    return tuple(text for place, text in enumerate(point) if place not in places)
