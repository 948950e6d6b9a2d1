# SPDX-License-Identifier: Apache-2.0
"""Parameters of a check: fields with meaning, unit, default and range, validated strictly."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import GroupedMetadata, Len
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

MAX_RANKS = 1_000_000
#: Nodes of checks that measure pairs: pairs grow with the square.
MAX_NODES = 4096
#: Repetitions of anything that a program repeats.
MAX_ITERATIONS = 1_000_000

#: How many ranks there are, how often something is done, what a random draw begins with.
Ranks = Annotated[int, Field(ge=1, le=MAX_RANKS)]
Repeats = Annotated[int, Field(ge=1, le=MAX_ITERATIONS)]
Seed = Annotated[int, Field(ge=0, le=2**31 - 1)]


class Parameters(BaseModel):
    """Base of every check's parameters: strict types, no unknown name, immutable."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)

    #: Parameters younger than the check's first ids: left out at their default, so that ids stay.
    younger: ClassVar[frozenset[str]] = frozenset()

    def complete(self) -> dict[str, Any]:
        """Parameters by name, defaults filled in, as a plan and a case's id hold them."""
        values = dict(self)
        for name in self.younger:
            if values[name] == type(self).model_fields[name].default:
                del values[name]
        return values


class ProfiledParameters(Parameters):
    """Of a check whose program can run under the MPI profile."""

    younger: ClassVar[frozenset[str]] = frozenset({"mpi_profile"})

    mpi_profile: bool = Field(
        False,
        description="Whether calls, peers, bytes and times of MPI are counted and recorded.",
        json_schema_extra={"unit": "none"},
    )


def quantity(description: str, unit: str, default: object = ..., **limits: Any) -> Any:
    """A field with its meaning, its unit ("none" for words and switches) and its allowed range."""
    extra = {"unit": unit} | limits.pop("json_schema_extra", {})
    return Field(default, description=description, json_schema_extra=extra, **limits)


#: The parameter `ranks_per_node`: a number, as many as a node has cores, or half as many.
RanksPerNode = Annotated[
    Ranks | Literal["fill", "half"],
    quantity(
        'Ranks on each node; "fill" takes as many as the site\'s node has cores, "half" half as'
        " many, at most all.",
        "ranks",
    ),
]


def spaced_count(first: int, last: int, step: int | None, per_octave: int | None) -> int:
    """Number of numbers that `spaced` gives."""
    if step is not None:
        return (last - first) // step + 1
    return math.floor(math.log2(last / first) * (per_octave or 1) + 1e-9) + 1


def spaced(first: int, last: int, step: int | None, per_octave: int | None) -> Sequence[int]:
    """Numbers from `first` to `last`, ascending: `step` apart, or so many for each doubling, of
    which rounding may repeat small ones."""
    if step is not None:
        return range(first, last + 1, step)
    steps = (k / (per_octave or 1) for k in range(spaced_count(first, last, step, per_octave)))
    return [min(round(first * 2**step), last) for step in steps]


def refuse_least_above_greatest(least_bytes: int, greatest_bytes: int) -> None:
    """Raise ValueError where a range of message lengths has no length in it."""
    if least_bytes > greatest_bytes:
        raise ValueError(
            f"least_bytes = {least_bytes} is above greatest_bytes = {greatest_bytes}; allowed is"
            " at most that"
        )


@dataclass(frozen=True)
class EachOnce(GroupedMetadata):
    """Of a list of words: one or more, each at most once; validation sorts them as in `order`."""

    order: Sequence[str]
    noun: str

    def __iter__(self) -> Iterator[object]:
        """The constraints, for pydantic."""
        yield Len(1, len(self.order))
        yield AfterValidator(self.in_order)

    def in_order(self, words: list[Any]) -> list[Any]:
        """The words sorted. Raises ValueError where one is listed twice."""
        twice = next((word for word in words if words.count(word) > 1), None)
        if twice is not None:
            raise ValueError(f"the {self.noun} {twice} is listed twice; list each once")
        return sorted(words, key=self.order.index)
