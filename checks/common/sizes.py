# SPDX-License-Identifier: Apache-2.0
"""Message sizes as campaigns write them, and their expansion to an explicit list."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator

from checks.common.parameters import Parameters, quantity

MAX_MESSAGE_BYTES = 2**30
MAX_SIZES = 10_000


class SizeRange(Parameters):
    """Sizes from `from` to `to`, evenly spaced (`step`) or so many for each doubling."""

    first: int = quantity("Least size.", "bytes", alias="from", ge=1, le=MAX_MESSAGE_BYTES)
    last: int = quantity("Greatest size.", "bytes", alias="to", ge=1, le=MAX_MESSAGE_BYTES)
    step: int | None = quantity(
        "Distance of neighbouring sizes.", "bytes", None, ge=1, le=MAX_MESSAGE_BYTES
    )
    per_octave: int | None = quantity("Sizes for each doubling.", "sizes", None, ge=1, le=64)

    @model_validator(mode="after")
    def _says_one_thing(self) -> SizeRange:
        if (self.step is None) == (self.per_octave is None):
            raise ValueError("a range of sizes needs exactly one of step and per_octave")
        if self.first > self.last:
            raise ValueError(f"from = {self.first} is greater than to = {self.last}")
        return self

    def count(self) -> int:
        """How many sizes the range gives at most, without making them."""
        if self.step is not None:
            return (self.last - self.first) // self.step + 1
        octaves = math.log2(self.last / self.first)
        return math.floor(octaves * (self.per_octave or 1) + 1e-9) + 1

    def sizes(self) -> Sequence[int]:
        """The sizes, ascending; rounding may repeat small ones. `to` is included if it is met."""
        if self.step is not None:
            return range(self.first, self.last + 1, self.step)
        steps = (k / (self.per_octave or 1) for k in range(self.count()))
        return [min(round(self.first * 2**step), self.last) for step in steps]


def _kind(size: object) -> str:
    return "range" if isinstance(size, (dict, SizeRange)) else "size"


def _bounds(least: int) -> Any:
    return Field(
        ge=least,
        le=MAX_MESSAGE_BYTES,
        description="One message size.",
        json_schema_extra={"unit": "bytes"},
    )


OneSize = Annotated[int, _bounds(1)]
Size = Annotated[
    Annotated[OneSize, Tag("size")] | Annotated[SizeRange, Tag("range")], Discriminator(_kind)
]

#: For programs that send empty messages too.
OneSizeFromZero = Annotated[int, _bounds(0)]
SizeFromZero = Annotated[
    Annotated[OneSizeFromZero, Tag("size")] | Annotated[SizeRange, Tag("range")],
    Discriminator(_kind),
]


def expand_sizes(sizes: Iterable[int | SizeRange | Mapping[str, int]]) -> list[int]:
    """The explicit sizes in bytes, ascending, each once; an explicit list is returned unchanged.

    Raises ValueError for more than MAX_SIZES values, before they are made.
    """
    ranges = [
        s if isinstance(s, (int, SizeRange)) else SizeRange.model_validate(dict(s)) for s in sizes
    ]
    count = sum(1 if isinstance(r, int) else r.count() for r in ranges)
    if count > MAX_SIZES:
        raise ValueError(f"gives {count} sizes; allowed are at most {MAX_SIZES}")
    values: set[int] = set()
    for one in ranges:
        values.update((one,) if isinstance(one, int) else one.sizes())
    return sorted(values)


#: Sizes as a campaign lists them; validation makes them explicit.
Sizes = Annotated[list[Size], Field(min_length=1), AfterValidator(expand_sizes)]
SizesFromZero = Annotated[list[SizeFromZero], Field(min_length=1), AfterValidator(expand_sizes)]


def sizes_field(default: list[int], which: str = "Message sizes") -> Any:
    """The parameter `sizes`, the same in every check that has it."""
    return quantity(
        f"{which}: numbers, or ranges with step or per_octave; at most 10,000.", "bytes", default
    )
