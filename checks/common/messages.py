# SPDX-License-Identifier: Apache-2.0
"""Common parts of checks that send messages: lengths as campaigns write them, buffers, echoes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator

from checks.common.answer import Asked
from checks.common.definition import (
    CheckDefinition,
    FastMachine,
    Layout,
    gigabytes,
)
from checks.common.metrics import BANDWIDTHS, HALF_ROUND_TRIPS
from checks.common.parameters import Parameters, quantity, spaced, spaced_count

P = TypeVar("P", bound=Parameters)

MAX_MESSAGE_BYTES = 2**30
MAX_SIZES = 10_000
#: The length of a message.
Length = Annotated[int, Field(ge=1, le=MAX_MESSAGE_BYTES)]
#: Samples one launch may take (each is kept and printed): constructs × sizes × iterations.
MAX_SAMPLES = 10_000_000


class SizeRange(Parameters):
    """Sizes from `from` to `to`, evenly spaced (`step`) or so many for each doubling."""

    first: Length = quantity("Least size.", "bytes", alias="from")
    last: Length = quantity("Greatest size.", "bytes", alias="to")
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
        """Number of sizes in the range at most, without making them."""
        return spaced_count(self.first, self.last, self.step, self.per_octave)

    def sizes(self) -> Sequence[int]:
        """The sizes, ascending; rounding may repeat small ones. `to` is included if it is met."""
        return spaced(self.first, self.last, self.step, self.per_octave)


def _kind(size: object) -> str:
    return "range" if isinstance(size, (dict, SizeRange)) else "size"


OneSize = Annotated[int, quantity("One message size.", "bytes", ge=1, le=MAX_MESSAGE_BYTES)]
Size = Annotated[
    Annotated[OneSize, Tag("size")] | Annotated[SizeRange, Tag("range")], Discriminator(_kind)
]

#: For programs that send empty messages too.
OneSizeFromZero = Annotated[int, quantity("One message size.", "bytes", ge=0, le=MAX_MESSAGE_BYTES)]
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


def refuse_many_samples(constructs: int, sizes: int, iterations: int) -> None:
    """Raise ValueError where a launch would keep and print more than MAX_SAMPLES."""
    samples = constructs * sizes * iterations
    if samples > MAX_SAMPLES:
        raise ValueError(
            f"{constructs} constructs × {sizes} sizes × {iterations} iterations = {samples} samples"
            f" a launch; allowed are at most {MAX_SAMPLES}"
        )


def echoes(at: Mapping[str, Any], iterations: int) -> Iterator[Asked]:
    """The values of an echo at a point: half round trips, and bandwidths unless it is empty."""
    for metric in HALF_ROUND_TRIPS:
        samples = iterations if metric is HALF_ROUND_TRIPS[0] else 0
        yield Asked(metric.name, at, samples)
    if at["message_bytes"]:
        yield from (Asked(metric.name, at) for metric in BANDWIDTHS)


class MessagesDefinition(CheckDefinition[P]):
    """Parameters have `sizes`, unless `message_bytes` is overridden."""

    def message_bytes(self, params: Any) -> list[int]:
        """The explicit sizes, ascending."""
        return list(params.sizes)

    def messages_held(self, params: P) -> int:
        """Messages of the greatest size in a rank's buffers: one each way, unless overridden."""
        return 2

    def bytes_per_rank(self, params: P) -> int:
        """The messages held, and the allowance, for each rank."""
        return self.messages_held(params) * self.message_bytes(params)[-1]

    def memory_arithmetic(self, params: P, layout: Layout) -> str:
        """The messages held, in numbers."""
        held, greatest = self.messages_held(params), self.message_bytes(params)[-1]
        return (
            f"{layout.ranks_per_node} ranks a node with room for {held} messages of"
            f" {greatest} bytes need {gigabytes(held * greatest * layout.ranks_per_node)}"
        )


class EchoesDefinition(MessagesDefinition[P]):
    """Parameters have `iterations`, round trips of every size that are timed one by one."""

    repetitions = ("iterations",)
    timed = ("half_round_trip", 2.0)

    def fastest_s(self, params: Any, fast: FastMachine) -> Iterable[float]:
        """The round trips of each size."""
        for size in self.message_bytes(params):
            yield 2 * params.iterations * fast.message_s(size)
