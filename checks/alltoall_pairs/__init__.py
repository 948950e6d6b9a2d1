# SPDX-License-Identifier: Apache-2.0
"""Every pair of nodes: latency and bandwidth, in rounds of disjoint pairs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field, model_validator

from checks.common.answer import Asked, longer_than_launch
from checks.common.definition import Layout, NodePairs, SiteCapacity
from checks.common.json_lines import Output, measured
from checks.common.messages import MAX_MESSAGE_BYTES, Length, ManyRanksDefinition
from checks.common.metrics import rate_metric, time_metric
from checks.common.parameters import MAX_RANKS, ProfiledParameters, Ranks, Repeats, Seed, quantity
from records.metric import Metric, MetricDefinition
from records.run.rerun import MOST_BYTES_OF_PAIRS, MOST_PAIRS, argument_bytes
from records.site.pair_scans import NODE, PEER, SUMMARY, pairs_measured, rounds_measured

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Short names of two hosts.
PairOfHosts = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+:[A-Za-z0-9_-]+$", max_length=128)]
#: Nodes of a scan: 200 million pairs.
MOST_NODES = 20_000
#: Values of more pairs than these come in a file, not as lines, and are not in the record.
MOST_IN_RECORD = 5000
#: The program's file, in the launch's folder.
FILE = "pairs.bin"
SCANNED = MetricDefinition(
    "pairs_measured",
    "1",
    "higher",
    "pairs whose values lie in a file beside the record",
    title="pairs measured",
    measured=False,
)


class AlltoallPairsParameters(ProfiledParameters):
    """Parameters of a launch over `ranks` / `ranks_per_node` nodes."""

    ranks: int = quantity(
        "Ranks of the launch, `ranks_per_node` on each node.", "ranks", ge=2, le=MAX_RANKS
    )
    ranks_per_node: Ranks = quantity(
        "Ranks on each node, which send at the same time, one way at a time: a pair's bandwidth is"
        " that of all of them. In a campaign also link: as many as the site says fill a node's"
        " link.",
        "ranks",
        1,
    )
    latency_bytes: int = quantity(
        "Message length for the latency.", "bytes", 8, ge=0, le=MAX_MESSAGE_BYTES
    )
    latency_iterations: Repeats = quantity(
        "Round trips a pair for the latency.", "round trips", 100
    )
    bandwidth_bytes: Length = quantity("Message length for the bandwidth.", "bytes", 2**20)
    bandwidth_iterations: Repeats = quantity(
        "Round trips a pair for the bandwidth.", "round trips", 10
    )
    warmup: Repeats = quantity("Round trips before them that are left out.", "round trips", 2)
    turns: bool = quantity(
        "One pair after the other while the other nodes sleep; else all pairs of a round at once.",
        "none",
        False,
    )
    seed: Seed = quantity("Seed of the order of pairs.", "none", 1)
    rounds: int = quantity(
        "So many rounds, in each of which a node has one partner, of those of the whole"
        " tournament; 0: all, every pair.",
        "rounds",
        0,
        ge=0,
        le=MOST_NODES,
    )
    column_file: bool = quantity(
        f"Whether the values are in a column file next to the record; those of more than"
        f" {MOST_IN_RECORD} pairs always do.",
        "none",
        False,
    )
    only: Annotated[list[PairOfHosts], Field(max_length=MOST_PAIRS)] = quantity(
        "Pairs of hosts that are measured, as n1:n2, regardless of `rounds`; none: every pair of"
        " the rounds.",
        "none",
        [],
    )

    younger: ClassVar[frozenset[str]] = ProfiledParameters.younger | {
        *("ranks_per_node", "rounds", "column_file", "only")
    }

    @property
    def nodes(self) -> int:
        """Nodes of the launch."""
        return self.ranks // self.ranks_per_node

    @property
    def pairs(self) -> int:
        """Number of pairs that are measured; of listed ones at most, for hosts may be absent."""
        return len(self.only) or pairs_measured(self.nodes, self.rounds)

    @property
    def most_rounds(self) -> int:
        """Number of rounds measured; of listed pairs at most, for two may meet in one round."""
        rounds = rounds_measured(self.nodes, 0 if self.only else self.rounds)
        return min(len(self.only), rounds) if self.only else rounds

    @model_validator(mode="after")
    def _has_pairs(self) -> AlltoallPairsParameters:
        if self.ranks % self.ranks_per_node or not 2 <= self.nodes <= MOST_NODES:
            raise ValueError(
                f"ranks = {self.ranks} at ranks_per_node = {self.ranks_per_node}; allowed are as"
                f" many ranks on each of 2 to {MOST_NODES} nodes"
            )
        if (length := argument_bytes(self.only)) > MOST_BYTES_OF_PAIRS:
            raise ValueError(
                f"only: found {len(self.only)} pairs in {length} bytes, allowed are"
                f" {MOST_BYTES_OF_PAIRS} bytes, as they are one argument of a command line; name"
                " fewer pairs, or measure a sample of all with `rounds`"
            )
        return self


class AlltoallPairsDefinition(ManyRanksDefinition[AlltoallPairsParameters]):
    """Layout and cost of the tournament of pairs."""

    name = "alltoall_pairs"
    title = "All pairs of nodes"
    deciding = "pair_bandwidth"
    shown = "pair_bandwidth"
    parameters = AlltoallPairsParameters
    example = {"ranks": 4, "turns": True}
    metrics = (
        time_metric(
            "pair_latency",
            "one-way time of a short message between two nodes; the launch's value is the median",
            "latency of the pair",
            limit="link",
        ),
        rate_metric(
            "pair_bandwidth",
            "length of a long message over its median one-way time between two nodes",
            "bandwidth of the pair",
            limit="link",
        ),
        SCANNED,
    )
    points = (NODE, PEER, SUMMARY)
    no_options = frozenset({"column_file"})

    def in_file(self, params: AlltoallPairsParameters) -> bool:
        """True if the values go into a file: those of many pairs, or by `column_file`."""
        return params.column_file or params.pairs > MOST_IN_RECORD

    def options(self, params: AlltoallPairsParameters) -> dict[str, object]:
        """Without a list or a number of rounds every pair is measured."""
        options = super().options(params)
        told = {k: v for k, v in options.items() if k not in ("only", "rounds") or v}
        return {**told, "file": FILE} if self.in_file(params) else told

    def measured(
        self, params: AlltoallPairsParameters, hosts: Sequence[str]
    ) -> Iterator[tuple[str, str]]:
        """The pairs of nodes that are measured, the lower rank's node first."""
        names = list(dict.fromkeys(hosts))
        if params.only or params.rounds:
            lows, highs = self._some(params, names)
            return ((names[a], names[b]) for a, b in zip(lows, highs, strict=True))
        return combinations(names, 2)

    def _some(
        self, params: AlltoallPairsParameters, names: Sequence[str]
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Numbers of the nodes of the listed pairs, else of those of the rounds, lower ones first.

        Listed pairs come once, ascending; hosts that the launch does not have are left out.
        """
        import numpy as np  # slow: numpy

        from records.site.pair_scans import sampled_pairs  # slow: numpy

        if not params.only:
            return sampled_pairs(len(names), params.rounds, params.seed)
        number = {name: place for place, name in enumerate(names)}
        listed = [[number.get(name, -1) for name in pair.split(":")] for pair in params.only]
        ends = np.unique(np.sort(np.array(listed, dtype=np.int64), axis=1), axis=0)
        low, high = ends[ends[:, 0] >= 0].T
        return low, high

    def wanted(self, params: AlltoallPairsParameters, names: Sequence[str]) -> NDArray[Any]:
        """The places of the pairs that are measured among all of the nodes, ascending."""
        import numpy as np  # slow: numpy

        from records.site.pair_scans import positions_of  # slow: numpy

        count = len(names)
        if not params.only and not params.rounds:
            return np.arange(count * (count - 1) // 2)
        return np.sort(positions_of(*self._some(params, names), count))

    def expected(self, params: AlltoallPairsParameters, hosts: Sequence[str]) -> Iterator[Asked]:
        """Latency and bandwidth of every pair, the lower rank's node first; of a file no lines."""
        for node, peer in () if self.in_file(params) else self.measured(params, hosts):
            at = {NODE: node, PEER: peer}
            yield Asked("pair_latency", at)
            yield Asked("pair_bandwidth", at)

    def summary(self, values: Mapping[str, NDArray[Any]]) -> list[Metric]:
        """Least, median and greatest over all pairs, and how many there are."""
        import numpy as np  # slow: numpy

        found = [measured(SCANNED, len(next(iter(values.values()))))]
        for name, column in values.items():
            of = {"least": column.min(), "median": np.median(column), "greatest": column.max()}
            metric = self.metrics_by_name[name]
            found += [measured(metric, float(of[word]), {SUMMARY: word}) for word in of]
        return found

    def too_long(
        self, params: AlltoallPairsParameters, metrics: Sequence[Metric], output: Output
    ) -> str | None:
        """Fault of a summary whose medians take longer than the launch."""
        middle = [metric for metric in metrics if (metric.at or {}).get(SUMMARY) == "median"]
        (pairs,) = (metric.value for metric in metrics if metric.name == SCANNED.name)
        return longer_than_launch(pairs * self.least_duration_s(params, middle), output)

    def notes(self, params: AlltoallPairsParameters, hosts: Sequence[str]) -> Mapping[str, Any]:
        """The rounds that were measured, and that the payload was checked."""
        rounds = params.most_rounds
        if params.only:
            from records.site.pair_scans import rounds_of_pairs  # slow: numpy

            names = list(dict.fromkeys(hosts))
            met = rounds_of_pairs(*self._some(params, names), len(names), params.seed)
            rounds = len(set(met.tolist()))
        return {"rounds": rounds, "payload_verified": str}

    def _half_s(self, params: AlltoallPairsParameters, metric: Metric) -> float:
        """Half of the round trips that a value of a pair was measured by."""
        if metric.name == "pair_latency":
            return params.latency_iterations * metric.value
        sent = params.ranks_per_node * params.bandwidth_bytes
        return params.bandwidth_iterations * sent / metric.value

    def least_duration_s(self, params: AlltoallPairsParameters, metrics: Sequence[Metric]) -> float:
        """Half of the round trips, as values are medians; of pairs that take no turns, a share."""
        spent_s = sum(self._half_s(params, metric) for metric in metrics)
        return spent_s if params.turns else spent_s / (params.nodes // 2)

    def durations_s(
        self, params: AlltoallPairsParameters, metrics: Sequence[Metric]
    ) -> Iterable[float]:
        """The round trips of each pair, of the length for which they took less."""
        spent_s: dict[str, float] = {}
        for metric in metrics:
            if metric.name != SCANNED.name:
                pair, once_s = str(metric.at), 2 * self._half_s(params, metric)
                spent_s[pair] = min(spent_s.get(pair, math.inf), once_s)
        return spent_s.values()

    def node_pairs(self, params: AlltoallPairsParameters, hosts: Sequence[str]) -> NodePairs:
        """Every measured pair, at its own point; none where a file has the nodes' switches."""
        pairs = () if self.in_file(params) else self.measured(params, hosts)
        return [((node, peer), {NODE: node, PEER: peer}) for node, peer in pairs]

    def bytes_per_rank(self, params: AlltoallPairsParameters) -> int:
        """Two buffers of the greater length and the allowance, a rank."""
        return 2 * max(params.latency_bytes, params.bandwidth_bytes)

    def estimate_s(
        self, params: AlltoallPairsParameters, layout: Layout, site: SiteCapacity
    ) -> float:
        """Launch overhead + every round trip at 100 µs each way and the link's speed.

        Pairs of a round count once when they run at once, and each when they take turns.
        """
        rounds = params.pairs if params.turns else params.most_rounds
        sent = params.ranks_per_node * params.bandwidth_bytes
        small_s = 1e-4 + params.latency_bytes / site.network_bytes_per_s
        great_s = 1e-4 + sent / site.network_bytes_per_s
        trips_s = (params.latency_iterations + params.warmup) * small_s
        trips_s += (params.bandwidth_iterations + params.warmup) * great_s
        return site.launch_overhead_s + 2 * rounds * trips_s


CHECK = AlltoallPairsDefinition()
