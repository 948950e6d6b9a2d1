# SPDX-License-Identifier: Apache-2.0
"""Streams between two ranks: windows of non-blocking messages, one way and both ways at once."""

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import Field

from checks.common.definition import OrdinaryMachine
from checks.common.messages import (
    MessagesDefinition,
    Placement,
    Sizes,
    TwoRankParameters,
    expand_sizes,
    sizes_field,
)
from checks.common.metrics import rate_metric
from checks.common.parameters import Repeats, Seed, quantity
from plugins.papers.checks.sockets import SocketsDefinition, Transport
from records.metric import Metric

Direction = Literal["one-way", "both-ways"]

DEFAULT_SIZES = expand_sizes([{"from": 1, "to": 2**20, "per_octave": 1}])


class StreamsParameters(TwoRankParameters):
    """A launch of the stream program. Over TCP 2048 messages of 50000 bytes are ttcp's."""

    younger: ClassVar[frozenset[str]] = TwoRankParameters.younger | {"transport"}

    transport: Transport = quantity(
        "What carries the messages: the MPI library, or TCP without it, one way.", "none", "library"
    )
    placement: Placement = quantity("Where the two ranks are.", "none", "between-nodes")
    directions: Annotated[list[Direction], Field(min_length=1, max_length=2)] = quantity(
        "From one rank to the other, or both ways at the same time.",
        "none",
        list(get_args(Direction)),
    )
    sizes: Sizes = sizes_field(DEFAULT_SIZES)
    window: int = quantity("Messages in flight each way.", "messages", 32, ge=1, le=4096)
    iterations: Repeats = quantity("Windows for each direction and size.", "windows", 20)
    warmup: Repeats = quantity("Windows before them that are left out.", "windows", 2)
    seed: Seed = quantity("Seed of the order of points.", "none", 1)

    def model_post_init(self, context: Any) -> None:
        """Refuse what TCP does not have."""
        if self.transport == "tcp" and (self.directions != ["one-way"] or self.mpi_profile):
            raise ValueError(
                "transport = tcp needs directions = [one-way] and no mpi_profile, found"
                f" {', '.join(self.directions)}, {self.mpi_profile}"
            )


class StreamsDefinition(
    SocketsDefinition[StreamsParameters], MessagesDefinition[StreamsParameters]
):
    """Layout and cost of the streams."""

    name = "streams"
    title = "Streams"
    deciding = "window_rate"
    shown = "window_rate"
    parameters = StreamsParameters
    example = {"sizes": [1024, 65536]}
    metrics = (
        rate_metric(
            "window_rate",
            "bytes of a window of non-blocking messages over the median time until the"
            " receiver has said that it has them; both ways: the bytes of both directions"
            " together",
            limit="links",
        ),
    )
    #: Samples are rates; the value is that of the median time.
    relations = {
        "window_rate": lambda here: 1 / median(1 / rate for rate in here.samples("window_rate"))
    }
    points = ("direction", "message_bytes")
    swept = {"direction": "directions", "message_bytes": "sizes"}
    samples = {"window_rate": "iterations"}
    no_options = frozenset({"transport"})
    without_library = {"tcp": "tcp_stream"}

    def options(self, params: StreamsParameters) -> dict[str, object]:
        """Over TCP there is one direction."""
        options = super().options(params)
        if params.transport == "tcp":
            del options["directions"]
        return options

    def durations_s(self, params: StreamsParameters, metrics: Sequence[Metric]) -> Iterable[float]:
        """The windows of each direction and size."""
        for metric in metrics:
            window_bytes = params.window * float((metric.at or {})["message_bytes"])
            if metric.samples:
                yield sum(window_bytes / rate for rate in metric.samples)

    def measuring_s(self, params: StreamsParameters, machine: OrdinaryMachine) -> Iterable[float]:
        """Times on a machine at full speed."""
        for size in self.message_bytes(params) * len(params.directions):
            yield params.iterations * machine.message_s(params.window * size)

    def messages_held(self, params: StreamsParameters) -> int:
        """A window each way; over TCP one message."""
        return 2 * params.window if params.transport == "library" else 1


CHECK = StreamsDefinition()
