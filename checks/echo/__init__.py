# SPDX-License-Identifier: Apache-2.0
"""Echo between two ranks or of a rank with itself: half round trips by two methods of timing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

from checks.common.answer import Asked, length_over
from checks.common.definition import FastMachine
from checks.common.messages import (
    LOGIN_NODE,
    EchoesDefinition,
    Sizes,
    SocketsDefinition,
    TwoRankParameters,
    expand_sizes,
    sizes_field,
)
from checks.common.metrics import (
    BANDWIDTHS,
    ECHO_RELATIONS,
    HALF_ROUND_TRIPS,
    rate_metric,
    time_metric,
)
from checks.common.parameters import Repeats, Seed, quantity
from records.metric import Metric, MetricDefinition

EchoPlacement = Literal["self", "within-node", "between-nodes", "login-node"]
#: What carries the messages: the MPI library, or sockets without it.
EchoTransport = Literal["library", "tcp", "udp"]
#: Bytes in one UDP datagram over IPv4.
DATAGRAM_MOST_BYTES = 65_507

#: Two sizes an octave to 4 MiB, and the greatest of the study of 1996.
DEFAULT_SIZES = expand_sizes([{"from": 1, "to": 2**22, "per_octave": 2}, 1_000_000])


class EchoParameters(TwoRankParameters):
    """Parameters of the echo program. A library's 0 bytes are always measured: its latency."""

    younger: ClassVar[frozenset[str]] = TwoRankParameters.younger | {"transport"}

    transport: EchoTransport = quantity(
        "What carries the messages: the MPI library, or TCP or UDP without it. A lost datagram is"
        " counted and sent again.",
        "none",
        "library",
    )
    placement: EchoPlacement = quantity(
        "Which ranks: one with itself, two on a node, or two on two nodes; or, over TCP or UDP, one"
        " and a process on the login node.",
        "none",
        "between-nodes",
    )
    distance: int = quantity(
        "How far apart the two nodes are in the job's order of nodes; those between them sleep.",
        "nodes",
        1,
        ge=1,
        le=4096,
    )
    sizes: Sizes = sizes_field(DEFAULT_SIZES, "Message sizes besides 0")
    iterations: Repeats = quantity(
        "Round trips a size, by each method of timing.", "round trips", 100
    )
    warmup: Repeats = quantity("Round trips before them that are left out.", "round trips", 10)
    seed: Seed = quantity("Seed of the order of sizes.", "none", 1)

    def model_post_init(self, context: Any) -> None:
        """Refuse a distance without nodes, and what the transport does not have."""
        if self.distance > 1 and self.placement != "between-nodes":
            raise ValueError(
                f"distance = {self.distance} needs placement = between-nodes, found"
                f" {self.placement}"
            )
        if self.distance > 1 and self.hops:
            raise ValueError(f"distance = {self.distance} and hops = {self.hops}; give one of them")
        if self.transport == "library":
            if self.placement == LOGIN_NODE:
                raise ValueError(
                    f"placement = {LOGIN_NODE} does not go with transport = library; allowed are"
                    " tcp, udp"
                )
            return
        ends = ("within-node", "between-nodes", LOGIN_NODE)
        fitting = {"placement": ends, "distance": (1,), "mpi_profile": (False,)}
        for name, allowed in fitting.items():
            if (found := getattr(self, name)) not in allowed:
                raise ValueError(
                    f"transport = {self.transport} does not go with {name} = {found}; allowed are"
                    f" {', '.join(str(value) for value in allowed)}"
                )
        greatest = expand_sizes(self.sizes)[-1]
        if self.transport == "udp" and greatest > DATAGRAM_MOST_BYTES:
            raise ValueError(
                f"transport = udp does not go with {greatest} bytes; allowed are at most"
                f" {DATAGRAM_MOST_BYTES}, which one datagram holds"
            )


class EchoDefinition(SocketsDefinition[EchoParameters], EchoesDefinition[EchoParameters]):
    """Layout and cost of the echo."""

    name = "echo"
    title = "Echo"
    deciding = "half_round_trip"
    shown = "echo_latency"
    parameters = EchoParameters
    example = {"sizes": [1, 1024, 65536]}
    metrics = (
        *HALF_ROUND_TRIPS,
        time_metric(
            "half_round_trip_loop",
            "half a round trip from one interval round the whole loop: a mean, with no samples",
            "one-way time, loop timed",
            limit="link",
        ),
        *BANDWIDTHS[:2],
        rate_metric(
            "bandwidth_loop",
            "message length over the one-way time of the whole loop",
            "bandwidth, loop timed",
            limit="link",
        ),
        time_metric(
            "echo_latency",
            "one-way time of 0 bytes, the median of a launch",
            "latency (median of 0 bytes)",
        ),
        time_metric(
            "echo_latency_least",
            "one-way time of 0 bytes, the least of a launch: the latency of Dongarra and"
            " Dunigan (1996)",
            "latency (least of 0 bytes)",
        ),
        MetricDefinition(
            "datagrams_lost",
            "1",
            "lower",
            "datagrams of a size that had no answer within 0.1 s, of all that were sent",
            may_be_zero=True,
            title="datagrams lost",
        ),
    )
    relations = {
        **ECHO_RELATIONS,
        "bandwidth_loop": length_over("half_round_trip_loop"),
        "echo_latency": lambda here: here("half_round_trip", message_bytes=0),
        "echo_latency_least": lambda here: here("half_round_trip_best", message_bytes=0),
    }
    no_options = frozenset({"transport", "distance"})
    without_library = {"tcp": "tcp_echo", "udp": "udp_echo"}
    points = ("message_bytes",)
    noted = {"buffers": "reused", "payload_verified": str}

    def message_bytes(self, params: Any) -> list[int]:
        """All sizes measured, ascending: 0 first, but for sockets, which know no empty message."""
        return [0, *params.sizes] if params.transport == "library" else list(params.sizes)

    def options(self, params: EchoParameters) -> dict[str, object]:
        """The sizes with 0 among them."""
        return {**super().options(params), "sizes": self.message_bytes(params)}

    def expected(self, params: EchoParameters, hosts: Sequence[str]) -> Iterator[Asked]:
        """Half round trips of every size by both methods, and what follows from them."""
        for size in self.message_bytes(params):
            at = {"message_bytes": size}
            yield Asked("half_round_trip", at, params.iterations)
            for name in ("best", "mean", "worst", "loop"):
                yield Asked(f"half_round_trip_{name}", at)
            if size:
                yield Asked("bandwidth", at)
                yield Asked("bandwidth_best", at)
                yield Asked("bandwidth_loop", at)
            else:
                yield Asked("echo_latency")
                yield Asked("echo_latency_least")
            if params.transport == "udp":
                yield Asked("datagrams_lost", at)

    def least_duration_s(self, params: EchoParameters, metrics: Sequence[Metric]) -> float:
        """All round trips, by both methods."""
        loops_s = sum(2 * m.value for m in metrics if m.name == "half_round_trip_loop")
        return super().least_duration_s(params, metrics) + params.iterations * loops_s

    def ranks(self, params: EchoParameters) -> int:
        """Number of ranks: one with itself or the login node, two on a node, or one on each node
        from one end to the other."""
        alone = {"self": 1, LOGIN_NODE: 1, "within-node": 2}
        return alone.get(params.placement, params.distance + 1)

    def fastest_s(self, params: EchoParameters, fast: FastMachine) -> Iterable[float]:
        """As of every echo; between a node and the login node too there is the network."""
        if params.placement == LOGIN_NODE:
            fast = replace(fast, nodes=2)
        return super().fastest_s(params, fast)


CHECK = EchoDefinition()
