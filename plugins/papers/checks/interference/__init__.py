# SPDX-License-Identifier: Apache-2.0
"""Interference: what messages cost a computing node, and computing a stream of messages."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from checks.common.answer import Asked, Reading
from checks.common.definition import Layout, SiteCapacity
from checks.common.json_lines import Output
from checks.common.messages import ManyRanksDefinition, MessagesDefinition, Sizes, sizes_field
from checks.common.metrics import rate_metric, time_metric
from checks.common.parameters import Parameters, RanksPerNode, quantity
from records.metric import Metric, MetricDefinition

#: Ranks count alone one after the other, so that their number costs time.
MAX_INTERFERENCE_RANKS = 256


METRICS = (
    time_metric(
        "counting_time",
        "a counting loop of fixed turns, median over samples, while all other ranks rest"
        " or while messages pass; the most slowed rank of its kind (endpoint, neighbour on"
        " an endpoint's node, neighbour on another node)",
    ),
    MetricDefinition(
        "compute_slowdown",
        "1",
        "lower",
        "time of the counting loop while messages pass over its time while all other ranks rest",
    ),
    time_metric(
        "exchange_time", "one message each way at once between the endpoints", limit="link"
    ),
    MetricDefinition(
        "overlap",
        "1",
        "higher",
        "1 − (t_both − t_compute) / t_exchange, cut to 0 … 1: what of a non-blocking"
        " exchange hides behind computing that takes as long alone",
        may_be_zero=True,
        kind="share",
    ),
    MetricDefinition(
        "availability",
        "1",
        "higher",
        "t_compute / t_both, at most 1: what the exchange leaves of the processor to"
        " computing that takes as long alone",
        kind="share",
    ),
    rate_metric(
        "stream_rate",
        "bytes of a window of messages one way over its time until answered, neighbours"
        " resting or computing",
        limit="link",
    ),
    MetricDefinition(
        "message_slowdown",
        "1",
        "lower",
        "time of a stream's window beside computing neighbours over its time beside resting ones",
    ),
)


class InterferenceParameters(Parameters):
    """Launch: two endpoints exchange messages, every further rank is a neighbour."""

    ranks: int = quantity(
        "Two endpoints, on two nodes where there are two, and neighbours that count meanwhile.",
        "ranks",
        2,
        ge=2,
        le=MAX_INTERFERENCE_RANKS,
    )
    ranks_per_node: RanksPerNode = "fill"
    sizes: Sizes = sizes_field([1, 64, 1024, 16384, 65536, 262144])
    samples: int = quantity("Samples of each quantity and size.", "samples", 20, ge=3, le=100_000)
    warmup: int = quantity(
        "Calls before the first sample that are left out.", "calls", 3, ge=1, le=100_000
    )
    window: int = quantity("Messages under way at once.", "messages", 8, ge=1, le=1024)
    work_s: float = quantity("Time of one counting loop.", "s", 1e-3, ge=1e-5, le=10)


class InterferenceDefinition(
    ManyRanksDefinition[InterferenceParameters], MessagesDefinition[InterferenceParameters]
):
    """Layout and cost of a launch of the interference program."""

    name = "interference"
    title = "Interference"
    deciding = "compute_slowdown"
    shown = "overlap"
    parameters = InterferenceParameters
    example = {"ranks": 4}
    metrics = METRICS
    relations = {
        "compute_slowdown": lambda here: (
            here("counting_time", messages="passing") / here("counting_time", messages="none")
        ),
        "message_slowdown": lambda here: (
            here("stream_rate", neighbours="resting") / here("stream_rate", neighbours="computing")
        ),
    }
    points = ("counting", "messages", "neighbours", "message_bytes")

    def options(self, params: InterferenceParameters) -> dict[str, object]:
        """The program calls the time of a counting loop its work."""
        options = super().options(params)
        return {"work": options.pop("work-s"), **options}

    def expected(self, params: InterferenceParameters, hosts: Sequence[str]) -> Iterator[Asked]:
        """Costs of each kind of rank and message to the others, for every size."""
        roles = roles_of(hosts)
        for size in self.message_bytes(params):
            at = {"message_bytes": size}
            for role in roles:
                for messages in ("none", "passing"):
                    point = {"counting": role, "messages": messages, **at}
                    yield Asked("counting_time", point)
                yield Asked("compute_slowdown", {"counting": role, **at})
            yield from (Asked(name, at) for name in ("exchange_time", "overlap", "availability"))
            yield Asked("stream_rate", {"neighbours": "resting", **at})
            if len(hosts) > 2:
                yield Asked("stream_rate", {"neighbours": "computing", **at})
                yield Asked("message_slowdown", at)

    def notes(self, params: InterferenceParameters, hosts: Sequence[str]) -> Mapping[str, Any]:
        """Warm-up, ranks and their roles, and that all was checked."""
        return {
            "warmup": params.warmup,
            "ranks": params.ranks,
            "second_endpoint": second_endpoint(hosts),
            "verified": str,
        }

    def least_duration_s(self, params: InterferenceParameters, metrics: Sequence[Metric]) -> float:
        """Half of the loops that were counted alone, of the exchanges and of the windows: values
        are medians."""
        halves_s = 0.0
        for metric in metrics:
            at = metric.at or {}
            alone = metric.name == "counting_time" and at["messages"] == "none"
            if alone or metric.name == "exchange_time":
                halves_s += metric.value
            elif metric.name == "stream_rate":
                halves_s += params.window * at["message_bytes"] / metric.value
        return params.samples / 2 * halves_s

    def check_values(self, params: InterferenceParameters, output: Output) -> Reading:
        """Shares are at most 1."""
        for metric in output.metrics:
            if metric.name in ("overlap", "availability") and metric.value > 1:
                return Reading(wrong=f"{metric.name} at {metric.at} is {metric.value:g}")
        return super().check_values(params, output)

    def messages_held(self, params: InterferenceParameters) -> int:
        """A window each way."""
        return 2 * params.window

    def estimate_s(
        self, params: InterferenceParameters, layout: Layout, site: SiteCapacity
    ) -> float:
        """Launch overhead + counting loops in turn and during messages."""
        calls = params.samples + params.warmup + 1
        loops_s = (params.ranks + 3) * params.work_s * len(params.sizes)
        return site.launch_overhead_s + calls * loops_s


def second_endpoint(hosts: Sequence[str]) -> int:
    """The rank that rank 0 exchanges messages with: the first on another host, or rank 1."""
    return next((rank for rank, host in enumerate(hosts) if host != hosts[0]), 1)


def roles_of(hosts: Sequence[str]) -> list[str]:
    """Roles of ranks by where they are: two endpoints, neighbours on their nodes or on others.

    The endpoints are rank 0 and the first rank of another host, or rank 1 where there is one host.
    """
    second = second_endpoint(hosts)
    neighbours = [host for rank, host in enumerate(hosts) if rank not in {0, second}]
    roles = ["endpoint"]
    if any(host in {hosts[0], hosts[second]} for host in neighbours):
        roles.append("same-node")
    if any(host not in {hosts[0], hosts[second]} for host in neighbours):
        roles.append("other-node")
    return roles


CHECK = InterferenceDefinition()
