# SPDX-License-Identifier: Apache-2.0
"""Definition of a check, and the layout rules that all checks share.

No ReFrame here: campaigns are validated and planned without it.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

from checks.common import answer
from checks.common.json_lines import Output
from checks.common.parameters import Parameters, RanksPerNode
from checks.common.sources import OUTSIDE
from records.metric import Metric, MetricDefinition
from records.run.brought import Brought
from records.site.topology import Pair, Topology

#: What the program, its libraries and their message buffers take besides the data, bytes a rank.
RANK_ALLOWANCE_BYTES = 16 * 2**20

#: Seconds that a value timed in one go is measured for at least. It takes the time of what else ran
#: on its cores: a task that the kernel lets in stays for a tick, 4 ms at 250 Hz, 2 % of 0.2 s.
LEAST_ONCE_S = 0.2
#: Seconds that the samples behind a median last at least together. Cores change their clock every
#: 0.5 ms at the earliest (D. Hackenberg et al., An Energy Efficiency Feature Survey of the Intel
#: Haswell Processor, IPDPSW 2015); samples of less than 1 ms may all have caught the same state.
LEAST_REPEATED_S = 1e-3
#: A core in matrix multiplication as fast as one may expect in 2026: 512-bit vectors at 2 to 3 GHz.
FAST_CORE_FLOP_PER_S = 5e10

#: How many times slower than a fast one an ordinary machine is, roughly.
ORDINARY = 3.0
#: Assumed speed of messages within a node.
NODE_BYTES_PER_S = 1e9
#: Parameters that say where and how a program is started, which are none of its options.
LAUNCH_PARAMETERS = frozenset({"ranks", "ranks_per_node", "placement", "hops", "mpi_profile"})


@dataclass(frozen=True)
class SiteCapacity:
    """Facts of a site for layout rules and estimates.

    `core_flop_per_s` (matrix multiplication), `network_bytes_per_s` (a node's link) and
    `launch_overhead_s` serve estimates only. Sizes that must keep to a time are found with
    `core_flop_per_s`, the times of a plan with `likely_core_flop_per_s` if it is given. So many
    as `ranks_per_link` ranks fill a node's link; `shared_cores` are the cores of nodes that share
    one machine.
    """

    name: str
    nodes: int
    cores_per_node: int
    memory_bytes_per_node: int
    _: KW_ONLY
    core_flop_per_s: float = 5e9
    likely_core_flop_per_s: float | None = None
    network_bytes_per_s: float = 12.5e6
    launch_overhead_s: float = 1.0
    ranks_per_link: int = 1
    topology: Topology | None = None
    shared_cores: Mapping[str, list[int]] = field(default_factory=dict)

    def likely(self) -> Self:
        """Copy with the speed of cores by which times are estimated."""
        return replace(self, core_flop_per_s=self.likely_core_flop_per_s or self.core_flop_per_s)

    @property
    def busy_nodes(self) -> int:
        """Nodes that can be busy at the same time: those whose cores no other of them has."""
        taken, apart = set[int](), 0
        for cores in self.shared_cores.values():
            if taken.isdisjoint(cores):
                taken, apart = taken.union(cores), apart + 1
        return min(apart, self.nodes) or self.nodes


#: Short names of two nodes each, and the point of the values between them.
NodePairs = list[tuple[Pair, dict[str, Any] | None]]
P = TypeVar("P", bound=Parameters)


@dataclass(frozen=True)
class Layout:
    """Placement of a case on a site's nodes."""

    ranks: int
    ranks_per_node: int
    nodes: int
    memory_bytes_per_node: int


@dataclass(frozen=True)
class OrdinaryMachine:
    """An ordinary machine, for the estimate of a launch of `ranks` on `nodes`; `link_bytes_per_s`:
    assumed speed of a node's link."""

    ranks: int
    nodes: int
    link_bytes_per_s: float

    def message_s(self, message_bytes: float) -> float:
        """Seconds of a message, one way: within a node, over a link above 10 Gbit/s, or over
        Ethernet up to that."""
        if self.nodes == 1:
            return 2e-7 * ORDINARY + message_bytes / NODE_BYTES_PER_S
        start_s = 1e-6 if self.link_bytes_per_s > 1.25e9 else 2.5e-5
        return start_s * ORDINARY + message_bytes / self.link_bytes_per_s

    def compute_s(self, operations: float) -> float:
        """Seconds of floating-point operations that all ranks share."""
        return ORDINARY * operations / (self.ranks * FAST_CORE_FLOP_PER_S)


class CheckDefinition(Generic[P]):
    """Definition of a check: what can be asked of it, what it needs, what a right answer is.

    `metrics` is all that it can report; `deciding` is the metric that environments are compared by
    ("" for every one), `shown` the one that a launch's progress line prints; a history keeps those
    and `history_metrics`. `points` are the keys of a metric's `at`; `features` are what an
    environment must offer. Every method is pure.

    A check without a `run.py` runs a program of its own name that prints JSON lines; `swept` and
    `samples`, or `expected`, say which values must come back, `relations` how they depend on each
    other.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    deciding: ClassVar[str]
    shown: ClassVar[str]
    history_metrics: ClassVar[tuple[str, ...]] = ()
    parameters: type[P]
    metrics: ClassVar[tuple[MetricDefinition, ...]]
    points: ClassVar[tuple[str, ...]] = ()
    #: The parameter with the value or values of each key of `points`.
    swept: ClassVar[Mapping[str, str]] = {}
    #: Metrics that come with samples, and the parameter that says how many.
    samples: ClassVar[Mapping[str, str]] = {}
    #: Notes that the program must print: a value, a function of the parameters, `str` for any text.
    noted: ClassVar[Mapping[str, Any]] = {}
    #: A metric, and how often its samples, or its value without samples, lasted.
    timed: ClassVar[tuple[str, float]] = ("", 1.0)
    features: ClassVar[frozenset[str]] = frozenset({"mpi"})
    #: What is built for its launches, by the names of build fixtures.
    builds: ClassVar[tuple[str, ...]] = ("Programs",)
    #: A foreign program that runs in place of ours in environments that name it in `programs`.
    site_program: ClassVar[str] = ""
    #: Parameters of a small launch: those without a default, and what keeps it short.
    example: ClassVar[Mapping[str, Any]] = {}
    #: Environment variables that the program runs with.
    variables: ClassVar[Mapping[str, str]] = {}
    #: Parameters, other than those of the launch, that are no options of the program.
    no_options: ClassVar[frozenset[str]] = frozenset()
    #: How redundant values follow from others of the same launch, by metric. A value with samples
    #: and no relation is their median.
    relations: ClassVar[Mapping[str, answer.Relation]] = {}
    #: Keys of a campaign that follow the site (sizing.py), and that the check turns into its
    #: parameters by `spread` and `filled`.
    sizing: ClassVar[frozenset[str]] = frozenset()
    #: Seconds that a value must be measured for: in one go, or by many samples.
    least_measured_s: ClassVar[float] = LEAST_REPEATED_S
    #: Whether it is one process, which Slurm starts and no launcher of an MPI library.
    without_mpi: bool = False
    #: Whether ranks mostly wait for a device: "all" nodes take part even where they share cores.
    waits: ClassVar[bool] = False
    #: What of a plan it is made of; None: it is a folder.
    line: Brought | None = None
    #: Whether its output alone says what a launch came to, so that records can be read anew.
    is_reread: ClassVar[bool] = True
    #: Check that ran its cases in earlier versions, and the parameter that tells those apart.
    took_over: ClassVar[tuple[str, str]] = ("", "")

    @property
    def package(self) -> str:
        """The package of the check, whose `run` is its ReFrame class where it has one."""
        return str(sys.modules[type(self).__module__].__package__)

    @property
    def folder(self) -> Path:
        """The folder of the check."""
        return Path(str(sys.modules[self.package].__file__)).parent

    @property
    def is_shipped(self) -> bool:
        """True of a check that comes with Assay or with a plugin, not from a folder that a user
        names."""
        return not self.package.startswith(OUTSIDE)

    def refuse_changed(self) -> None:
        """Raise AssayError where what a plan took it from is another one now."""

    @cached_property
    def metrics_by_name(self) -> Mapping[str, MetricDefinition]:
        """All that it can report, by name."""
        return {metric.name: metric for metric in self.metrics}

    def features_of(self, params: P) -> frozenset[str]:
        """Features that an environment must offer for these parameters."""
        return self.features

    def options(self, params: P) -> dict[str, object]:
        """The program's options: every parameter but those of the launch, `_` written as `-`."""
        left_out = LAUNCH_PARAMETERS | self.no_options
        return {k.replace("_", "-"): v for k, v in dict(params).items() if k not in left_out}

    def command(self, params: P, built: Path) -> list[str]:
        """The program and its arguments; `built` is the folder of our own programs."""
        return [str(built / self.name), *answer.option_words(self.options(params))]

    def programs(self, params: P) -> list[str]:
        """The names by which the program that prints the values calls itself, and then any that
        starts it; each must say that it reached its end."""
        return [self.name]

    def expected(self, params: P, hosts: Sequence[str]) -> Iterable[answer.Asked]:
        """Every value that the program must print, once: all metrics at every point of `swept`.

        `hosts` are the short names by rank.
        """
        values = [getattr(params, name) for name in self.swept.values()]
        for point in product(*(one if isinstance(one, list) else [one] for one in values)):
            at = dict(zip(self.swept, point, strict=True))
            for metric in self.metrics:
                samples = self.samples.get(metric.name)
                yield answer.Asked(metric.name, at, getattr(params, samples) if samples else 0)

    def notes(self, params: P, hosts: Sequence[str]) -> Mapping[str, Any]:
        """Notes that the program must print, with their values; `str` for any text."""
        return {
            key: value(params) if callable(value) and value is not str else value
            for key, value in self.noted.items()
        }

    def read(self, params: P, output: Output) -> answer.Reading:
        """Compare what the program printed with what it was asked."""
        hosts, programs, found = output.hosts(), self.programs(params), output.metrics
        wrong = (
            answer.other_program(programs[0], programs, output)
            or answer.other_settings(self.options(params), output.program)
            or answer.other_notes(self.notes(params, hosts), output)
            or answer.difference(self.expected(params, hosts), found, self.relations, params)
            or answer.longer_than_launch(self.least_duration_s(params, found), output)
        )
        return answer.Reading(wrong=wrong) if wrong else self.check_values(params, output)

    def check_values(self, params: P, output: Output) -> answer.Reading:
        """Judge a complete answer further; its metrics, and those derived from them."""
        return answer.Reading(output.metrics)

    def durations_s(self, params: P, metrics: Sequence[Metric]) -> Iterable[float]:
        """Seconds that each value was measured for, over all its samples, by `timed`; none where
        the length of a launch does not matter."""
        name, times = self.timed
        for metric in metrics:
            if metric.name == name:
                yield times * sum(metric.samples or [metric.value])

    def measuring_s(self, params: P, machine: OrdinaryMachine) -> Iterable[float]:
        """The seconds that `durations_s` may find, for the estimate of a launch."""
        return ()

    def least_duration_s(self, params: P, metrics: Sequence[Metric]) -> float:
        """Seconds that the measurements took at least together; they must fit into the launch."""
        return sum(self.durations_s(params, metrics))

    def ranks_given(self, given: Mapping[str, Any]) -> int:
        """Ranks of a launch by its parameters as a campaign gives them."""
        return int(given.get("ranks", self.parameters.model_fields["ranks"].default))

    def spread(self, given: Mapping[str, Any], nodes: int, on_node: int) -> dict[str, Any]:
        """Parameters that put `on_node` ranks on each of `nodes` nodes."""
        return {"ranks": nodes * on_node}

    def filled(
        self, given: Mapping[str, Any], nodes: int, on_node: int, bytes_per_node: float
    ) -> dict[str, Any]:
        """Parameters by which the data fill so much memory of each node."""
        raise NotImplementedError(f"check {self.name} takes no `memory_share`")

    def hops_asked(self, params: P) -> int:
        """Hops between the two nodes of the launch, the parameter `hops` if there is one; 0: as
        Slurm places them."""
        return int(getattr(params, "hops", 0))

    def node_pairs(self, params: P, hosts: Sequence[str]) -> NodePairs:
        """Pairs of nodes whose hops belong to the record."""
        return []

    def hosts_take_turns(self, params: P) -> bool:
        """True if only one node's ranks are busy at a time; the others sleep."""
        return False

    def ranks(self, params: Any) -> int:
        """The parameter `ranks`."""
        return int(params.ranks)

    def bytes_stored(self, params: P) -> int:
        """Bytes of all files that a launch has at a time on storage under test."""
        return 0

    def bytes_per_rank(self, params: P) -> int:
        """Bytes of a rank's data, without the allowance, which is added for each."""
        raise NotImplementedError(f"check {self.name} does not say what memory it takes")

    def memory_bytes_per_node(self, params: P, cores_per_node: int) -> int:
        """Bytes that a launch needs on its fullest node, allowance included."""
        ranks = self.ranks_per_node(params, cores_per_node)
        return ranks * (self.bytes_per_rank(params) + RANK_ALLOWANCE_BYTES)

    def estimate_s(self, params: P, layout: Layout, site: SiteCapacity) -> float:
        """A rough time of one launch in seconds, for as long as none of the site is known: its
        start, and what `measuring_s` adds up to on an ordinary machine, with as much again for
        warm-ups and checks of the answer."""
        machine = OrdinaryMachine(layout.ranks, layout.nodes, site.network_bytes_per_s)
        return site.launch_overhead_s + 2 * sum(self.measuring_s(params, machine))

    def ranks_per_node(self, params: Any, cores_per_node: int) -> int:
        """The number asked for, or for "fill" the cores of a node, for "half" half of them, at
        most all ranks.
        """
        asked: RanksPerNode = params.ranks_per_node
        words = {"fill": cores_per_node, "half": max(1, cores_per_node // 2)}
        return min(words[asked], self.ranks(params)) if isinstance(asked, str) else asked

    def layout(self, params: P, cores_per_node: int) -> Layout:
        """All of the above for nodes of so many cores; the last node may be only partly used."""
        ranks, on_node = self.ranks(params), self.ranks_per_node(params, cores_per_node)
        memory_bytes = self.memory_bytes_per_node(params, cores_per_node)
        return Layout(ranks, on_node, -(-ranks // on_node), memory_bytes)

    def infeasible(self, params: P, layout: Layout, site: SiteCapacity) -> str | None:
        """Why the case cannot run on the site, with the arithmetic; None when it can."""
        ranks, on_node = layout.ranks, layout.ranks_per_node
        if rest := ranks % on_node:
            most = min(on_node, site.cores_per_node)
            fitting = next(k for k in range(most, 0, -1) if ranks % k == 0)
            return (
                f"{ranks} ranks at {on_node} a node leave {rest} over;"
                f" ranks_per_node = {fitting} would divide them"
            )
        if on_node > site.cores_per_node:
            return (
                f"{on_node} ranks a node need {on_node} cores; a node of site {site.name} has"
                f" {site.cores_per_node}"
            )
        if layout.nodes > site.nodes:
            return (
                f"{ranks} ranks at {on_node} a node need {layout.nodes} nodes; site {site.name} has"
                f" {site.nodes}"
            )
        if layout.memory_bytes_per_node > site.memory_bytes_per_node:
            return (
                f"{on_node} ranks a node need {gigabytes(layout.memory_bytes_per_node)}, with"
                f" {RANK_ALLOWANCE_BYTES // 2**20} MiB a rank for program and buffers;"
                f" a node of site {site.name} has {gigabytes(site.memory_bytes_per_node)}"
            )
        return None


def link_bytes_per_s(layout: Layout, site: SiteCapacity) -> float:
    """Assumed speed of messages: the link's between nodes, 1 GB/s within a node."""
    return site.network_bytes_per_s if layout.nodes > 1 else NODE_BYTES_PER_S


def gigabytes(size_bytes: float) -> str:
    """A size in decimal gigabytes with three digits, as messages show it."""
    return f"{size_bytes / 1e9:.3g} GB" if size_bytes < 1e12 else f"{size_bytes / 1e9:.0f} GB"


def is_short(times_s: Iterable[float], least_s: float) -> bool:
    """True if more than half of the values of a launch were measured for less than `least_s`."""
    ordered = sorted(times_s)
    return bool(ordered) and ordered[len(ordered) // 2] < least_s
