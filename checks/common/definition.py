# SPDX-License-Identifier: Apache-2.0
"""What the definition of a check consists of, and the layout rules that all checks share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Generic, Literal, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from records.metric import CheckDescription, MetricDefinition
from records.topology import Topology

MAX_RANKS = 1_000_000

#: What the program, its libraries and their message buffers take beside the data, bytes a rank.
RANK_ALLOWANCE_BYTES = 16 * 2**20

RanksPerNode = Annotated[int, Field(ge=1, le=MAX_RANKS)] | Literal["fill"]


class SiteCapacity(Protocol):
    """What the layout rules need to know of a site."""

    @property
    def name(self) -> str:
        """The site's name, for messages."""

    @property
    def nodes(self) -> int:
        """Nodes that a launch may use."""

    @property
    def cores_per_node(self) -> int:
        """Cores of one node."""

    @property
    def memory_bytes_per_node(self) -> int:
        """Memory of one node that programs may use."""

    @property
    def core_flop_per_s(self) -> float:
        """Assumed speed of one core in matrix multiplication."""

    @property
    def network_bytes_per_s(self) -> float:
        """Assumed speed of one node's link."""

    @property
    def launch_overhead_s(self) -> float:
        """Assumed time of a launch beside the program's own work."""

    @property
    def topology(self) -> Topology | None:
        """How the nodes are joined, where the site declares it."""


class Parameters(BaseModel):
    """Base of every check's parameters: no conversion of types, no unknown name, no change."""

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


def seed_field(what: str) -> Any:
    """The parameter `seed`, of what the check draws at random."""
    return quantity(f"Seed of {what}.", "none", 1, ge=0, le=2**31 - 1)


def ranks_per_node_field() -> Any:
    """The parameter `ranks_per_node`, the same in every check that has it."""
    return quantity(
        'Ranks on each node; "fill" takes as many as the site\'s node has cores, at most all.',
        "ranks",
        "fill",
    )


def in_order_and_once(order: Sequence[str], noun: str) -> Callable[[list[Any]], list[Any]]:
    """A validator of lists of words: each at most once; they come out as in `order`."""

    def ordered(words: list[Any]) -> list[Any]:
        twice = next((word for word in words if words.count(word) > 1), None)
        if twice is not None:
            raise ValueError(f"the {noun} {twice} is listed twice; list each once")
        return sorted(words, key=order.index)

    return ordered


P = TypeVar("P", bound=Parameters)


@dataclass(frozen=True)
class Layout:
    """How a case lies on a site's nodes."""

    ranks: int
    ranks_per_node: int
    nodes: int
    memory_bytes_per_node: int


class CheckDefinition(ABC, Generic[P]):
    """What can be asked of one check and what it needs; every method is pure.

    `metrics` is all that it can report; `deciding` is the metric that environments are compared by
    ("" for every one), `shown` the one that a launch's progress line prints. `points` are the keys
    of a metric's `at`; `features` are what an environment must offer.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    deciding: ClassVar[str]
    shown: ClassVar[str]
    parameters: type[P]
    metrics: ClassVar[tuple[MetricDefinition, ...]]
    points: ClassVar[tuple[str, ...]] = ()
    features: ClassVar[frozenset[str]] = frozenset({"mpi"})

    def description(self) -> CheckDescription:
        """What readers of a run must know of the check."""
        return CheckDescription(self.name, self.title, self.deciding, self.shown)

    @property
    def metric_names(self) -> tuple[str, ...]:
        """Names of all that it can report."""
        return tuple(metric.name for metric in self.metrics)

    def features_of(self, params: P) -> frozenset[str]:
        """What an environment must offer for these parameters."""
        del params
        return self.features

    @abstractmethod
    def ranks(self, params: P) -> int:
        """Ranks of one launch."""

    @abstractmethod
    def ranks_asked_per_node(self, params: P) -> RanksPerNode:
        """Ranks on each node as the parameters ask for them."""

    @abstractmethod
    def memory_bytes_per_node(self, params: P, cores_per_node: int) -> int:
        """Bytes that a launch needs on its fullest node, allowance included."""

    @abstractmethod
    def estimate_s(self, params: P, layout: Layout, site: SiteCapacity) -> float:
        """A rough time of one launch in seconds; the docstring states the assumptions."""

    def ranks_per_node(self, params: P, cores_per_node: int) -> int:
        """The number asked for, or for "fill" the cores of a node, at most all ranks."""
        asked = self.ranks_asked_per_node(params)
        return min(cores_per_node, self.ranks(params)) if asked == "fill" else asked

    def nodes(self, params: P, cores_per_node: int) -> int:
        """Nodes of one launch; the last one may be only partly used."""
        return -(-self.ranks(params) // self.ranks_per_node(params, cores_per_node))

    def layout(self, params: P, cores_per_node: int) -> Layout:
        """All of the above for nodes of so many cores."""
        return Layout(
            ranks=self.ranks(params),
            ranks_per_node=self.ranks_per_node(params, cores_per_node),
            nodes=self.nodes(params, cores_per_node),
            memory_bytes_per_node=self.memory_bytes_per_node(params, cores_per_node),
        )

    def infeasible(self, params: P, layout: Layout, site: SiteCapacity) -> str | None:
        """Why the case cannot run on the site, with the arithmetic; None when it can."""
        return (
            _uneven(layout, site)
            or _too_few_cores(layout, site)
            or _too_few_nodes(layout, site)
            or self._too_little_memory(params, layout, site)
        )

    def memory_arithmetic(self, params: P, layout: Layout) -> str:
        """How the need of memory comes about, as the beginning of a sentence."""
        del params
        return f"{layout.ranks_per_node} ranks a node"

    def _too_little_memory(self, params: P, layout: Layout, site: SiteCapacity) -> str | None:
        if layout.memory_bytes_per_node <= site.memory_bytes_per_node:
            return None
        return (
            f"{self.memory_arithmetic(params, layout)}, with"
            f" {RANK_ALLOWANCE_BYTES // 2**20} MiB a rank for program and buffers"
            f" {gigabytes(layout.memory_bytes_per_node)};"
            f" a node of site {site.name} has {gigabytes(site.memory_bytes_per_node)}"
        )


def gigabytes(size_bytes: float) -> str:
    """A size in decimal gigabytes with three digits, as messages show it."""
    return f"{size_bytes / 1e9:.3g} GB" if size_bytes < 1e12 else f"{size_bytes / 1e9:.0f} GB"


def _uneven(layout: Layout, site: SiteCapacity) -> str | None:
    rest = layout.ranks % layout.ranks_per_node
    if rest == 0:
        return None
    most = min(layout.ranks_per_node, site.cores_per_node)
    fitting = next(k for k in range(most, 0, -1) if layout.ranks % k == 0)
    return (
        f"{layout.ranks} ranks at {layout.ranks_per_node} a node leave {rest} over;"
        f" ranks_per_node = {fitting} would divide them"
    )


def _too_few_cores(layout: Layout, site: SiteCapacity) -> str | None:
    if layout.ranks_per_node <= site.cores_per_node:
        return None
    return (
        f"{layout.ranks_per_node} ranks a node need {layout.ranks_per_node} cores;"
        f" a node of site {site.name} has {site.cores_per_node}"
    )


def _too_few_nodes(layout: Layout, site: SiteCapacity) -> str | None:
    if layout.nodes <= site.nodes:
        return None
    return (
        f"{layout.ranks} ranks at {layout.ranks_per_node} a node need {layout.nodes} nodes;"
        f" site {site.name} has {site.nodes}"
    )
