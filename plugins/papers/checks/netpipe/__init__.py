# SPDX-License-Identifier: Apache-2.0
"""NetPIPE: an independent ping-pong, to compare our own echo with."""

from collections.abc import Iterable, Sequence
from typing import Any

from checks.common.definition import OrdinaryMachine
from checks.common.messages import Length, Placement, TwoRankDefinition
from checks.common.metrics import rate_metric, time_metric
from checks.common.parameters import Parameters, Repeats, quantity, refuse_least_above_greatest
from plugins.papers.checks.sockets import Transport
from records.metric import Metric

#: NetPIPE's trials of each size, of which the best counts.
TRIALS = 3


class NetpipeParameters(Parameters):
    """A run of NetPIPE between two ranks, or two hosts."""

    transport: Transport = quantity(
        "What carries the messages: the library (MPI or PVM), or TCP without it.", "none", "library"
    )
    placement: Placement = quantity("Where the two ends are.", "none", "between-nodes")
    least_bytes: Length = quantity("Least message.", "bytes", 1)
    greatest_bytes: Length = quantity("Greatest message.", "bytes", 2**20)
    perturbation_bytes: int = quantity(
        "Sizes so much below and above each are measured too; 0 for none.",
        "bytes",
        0,
        ge=0,
        le=1024,
    )
    repeats: Repeats = quantity("Round trips of each of NetPIPE's trials.", "round trips", 50)

    def model_post_init(self, context: Any) -> None:
        """Refuse a range without a size."""
        refuse_least_above_greatest(self.least_bytes, self.greatest_bytes)


class NetpipeDefinition(TwoRankDefinition[NetpipeParameters]):
    """Layout and cost of NetPIPE."""

    name = "netpipe"
    title = "NetPIPE"
    deciding = "netpipe_half_round_trip"
    shown = "netpipe_bandwidth"
    parameters = NetpipeParameters
    example = {"greatest_bytes": 65536}
    metrics = (
        time_metric(
            "netpipe_half_round_trip",
            "half a round trip as NetPIPE gives it: the least of its trials' means",
            "NetPIPE one-way time",
            limit="link",
        ),
        rate_metric(
            "netpipe_bandwidth",
            "message length over NetPIPE's one-way time",
            "NetPIPE bandwidth",
            limit="link",
        ),
    )
    points = ("message_bytes",)
    #: The NetPIPE that was built for the library, MPI or PVM.
    features = frozenset({"program:netpipe"})

    def features_of(self, params: NetpipeParameters) -> frozenset[str]:
        """For TCP its own NetPIPE, which MPI starts."""
        tcp = frozenset({"mpi", "program:netpipe-tcp"})
        return self.features if params.transport == "library" else tcp

    def durations_s(self, params: NetpipeParameters, metrics: Sequence[Metric]) -> Iterable[float]:
        """The round trips of all trials of each size."""
        for metric in metrics:
            if metric.name == self.deciding:
                yield 2 * TRIALS * params.repeats * metric.value

    def measuring_s(self, params: NetpipeParameters, machine: OrdinaryMachine) -> Iterable[float]:
        """Round trips of sizes that double."""
        size = params.least_bytes
        while size <= params.greatest_bytes:
            yield 2 * TRIALS * params.repeats * machine.message_s(size)
            size *= 2

    def bytes_per_rank(self, params: NetpipeParameters) -> int:
        """Two buffers of the greatest size, and the allowance, for each rank."""
        return 2 * params.greatest_bytes


CHECK = NetpipeDefinition()
