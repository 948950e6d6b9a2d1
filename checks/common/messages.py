# SPDX-License-Identifier: Apache-2.0
"""Common parts of checks that send messages: lengths as campaigns write them, buffers, echoes; many
ranks, two ranks some hops apart."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator

from checks.common.answer import Asked
from checks.common.definition import (
    CheckDefinition,
    Layout,
    NodePairs,
    OrdinaryMachine,
    SiteCapacity,
)
from checks.common.metrics import BANDWIDTHS, HALF_ROUND_TRIPS
from checks.common.parameters import Parameters, ProfiledParameters, Range, quantity

P = TypeVar("P", bound=Parameters)

Placement = Literal["between-nodes", "within-node"]

MAX_MESSAGE_BYTES = 2**30
MAX_SIZES = 10_000
#: The length of a message.
Length = Annotated[int, Field(ge=1, le=MAX_MESSAGE_BYTES)]
#: Samples one launch may take (each is kept and printed): constructs × sizes × iterations.
MAX_SAMPLES = 10_000_000


class SizeRange(Range):
    """Sizes from `from` to `to`, evenly spaced (`step`) or so many for each doubling."""

    noun = "sizes"
    first: Length = quantity("Least size.", "bytes", alias="from")
    last: Length = quantity("Greatest size.", "bytes", alias="to")
    step: int | None = quantity(
        "Distance of neighbouring sizes.", "bytes", None, ge=1, le=MAX_MESSAGE_BYTES
    )
    per_octave: int | None = quantity("Sizes for each doubling.", "sizes", None, ge=1, le=64)


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
    count = sum(1 if isinstance(r, int) else r.count(r.last) for r in ranges)
    if count > MAX_SIZES:
        raise ValueError(f"gives {count} sizes; allowed are at most {MAX_SIZES}")
    values: set[int] = set()
    for one in ranges:
        values.update((one,) if isinstance(one, int) else one.spaced(one.last))
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


class EchoesDefinition(MessagesDefinition[P]):
    """Parameters have `iterations`, round trips of every size that are timed one by one."""

    timed = ("half_round_trip", 2.0)

    def measuring_s(self, params: Any, machine: OrdinaryMachine) -> Iterable[float]:
        """The round trips of each size."""
        for size in self.message_bytes(params):
            yield 2 * params.iterations * machine.message_s(size)


class ManyRanksDefinition(CheckDefinition[P]):
    """Parameters have `ranks` and `ranks_per_node`; `nodes` of a campaign sets the ranks."""

    sizing = frozenset({"nodes"})


class TwoRankParameters(ProfiledParameters):
    """Parameters of a check whose two nodes can be asked to be some hops apart."""

    younger: ClassVar[frozenset[str]] = ProfiledParameters.younger | {"hops"}

    placement: str
    hops: int = quantity(
        "Hops between the two nodes by the topology that the site declares: switches in a tree,"
        " links in a torus; 0: as Slurm places them.",
        "hops",
        0,
        ge=0,
        le=4096,
    )

    @model_validator(mode="after")
    def _hops_need_nodes(self) -> Any:
        if self.hops and self.placement != "between-nodes":
            raise ValueError(
                f"hops = {self.hops} needs placement = between-nodes, found {self.placement}"
            )
        return self


class TwoRankDefinition(CheckDefinition[P]):
    """Two ranks whose parameters have `placement`, and may have `hops`."""

    def ranks(self, params: P) -> int:
        """Always two."""
        return 2

    def ranks_per_node(self, params: Any, cores_per_node: int) -> int:
        """Two within a node, one between nodes."""
        return 2 if params.placement == "within-node" else 1

    def node_pairs(self, params: P, hosts: Sequence[str]) -> NodePairs:
        """The nodes of the first and the last rank."""
        return [((hosts[0], hosts[-1]), None)]

    def infeasible(self, params: P, layout: Layout, site: SiteCapacity) -> str | None:
        """The layout's reasons, then a number of hops that no two nodes of the site have."""
        unfit = super().infeasible(params, layout, site)
        hops = self.hops_asked(params)
        if unfit or not hops:
            return unfit
        if site.topology is None:
            return (
                f"hops = {hops}, but site {site.name} declares no topology (section `topology` of"
                " its site.yaml)"
            )
        found = site.topology.hop_counts
        if hops in found:
            return None
        return (
            f"no two nodes of site {site.name} are {hops} hops apart; by its topology there are"
            f" pairs at {', '.join(map(str, found)) or 'none'}"
        )
