# SPDX-License-Identifier: Apache-2.0
"""Echo between two ranks or of a rank with itself: half round trips by two methods of timing."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from checks.common import messages
from checks.common.answer import Asked, length_over
from checks.common.metrics import (
    BANDWIDTHS,
    ECHO_RELATIONS,
    HALF_ROUND_TRIPS,
    rate_metric,
    time_metric,
)
from checks.common.parameters import Repeats, Seed, quantity
from records.metric import Metric

EchoPlacement = Literal["self", "within-node", "between-nodes"]

#: Two sizes an octave to 4 MiB, and the greatest of the study of 1996.
DEFAULT_SIZES = messages.expand_sizes([{"from": 1, "to": 2**22, "per_octave": 2}, 1_000_000])


class EchoParameters(messages.TwoRankParameters):
    """Parameters of the echo program. A library's 0 bytes are always measured: its latency."""

    placement: EchoPlacement = quantity(
        "Which ranks: one with itself, two on a node, or two on two nodes.", "none", "between-nodes"
    )
    distance: int = quantity(
        "How far apart the two nodes are in the job's order of nodes; those between them sleep.",
        "nodes",
        1,
        ge=1,
        le=4096,
    )
    sizes: messages.Sizes = messages.sizes_field(DEFAULT_SIZES, "Message sizes besides 0")
    iterations: Repeats = quantity(
        "Round trips a size, by each method of timing.", "round trips", 100
    )
    warmup: Repeats = quantity("Round trips before them that are left out.", "round trips", 10)
    seed: Seed = quantity("Seed of the order of sizes.", "none", 1)

    def model_post_init(self, context: Any) -> None:
        """Refuse a distance without nodes."""
        if self.distance > 1 and self.placement != "between-nodes":
            raise ValueError(
                f"distance = {self.distance} needs placement = between-nodes, found"
                f" {self.placement}"
            )
        if self.distance > 1 and self.hops:
            raise ValueError(f"distance = {self.distance} and hops = {self.hops}; give one of them")


class EchoDefinition(
    messages.TwoRankDefinition[EchoParameters], messages.EchoesDefinition[EchoParameters]
):
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
    )
    relations = {
        **ECHO_RELATIONS,
        "bandwidth_loop": length_over("half_round_trip_loop"),
        "echo_latency": lambda here: here("half_round_trip", message_bytes=0),
        "echo_latency_least": lambda here: here("half_round_trip_best", message_bytes=0),
    }
    no_options = frozenset({"distance"})
    points = ("message_bytes",)
    noted = {"buffers": "reused", "payload_verified": str}

    def message_bytes(self, params: Any) -> list[int]:
        """All sizes measured, ascending: 0 first."""
        return [0, *params.sizes]

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

    def least_duration_s(self, params: EchoParameters, metrics: Sequence[Metric]) -> float:
        """All round trips, by both methods."""
        loops_s = sum(2 * m.value for m in metrics if m.name == "half_round_trip_loop")
        return super().least_duration_s(params, metrics) + params.iterations * loops_s

    def ranks(self, params: EchoParameters) -> int:
        """Number of ranks: one with itself, two on a node, or one on each node from one end to the
        other."""
        return {"self": 1, "within-node": 2}.get(params.placement, params.distance + 1)


CHECK = EchoDefinition()
