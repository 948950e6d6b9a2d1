# SPDX-License-Identifier: Apache-2.0
"""All nodes in random pairs that send to each other at once: what the whole network carries."""

from collections.abc import Iterable, Sequence

from checks.common.answer import of_samples
from checks.common.definition import OrdinaryMachine
from checks.common.messages import Length, ManyRanksDefinition
from checks.common.metrics import rate_metric
from checks.common.parameters import MAX_NODES, ProfiledParameters, Repeats, Seed, quantity
from records.metric import Metric


class BisectionParameters(ProfiledParameters):
    """A launch over `ranks` nodes, one rank on each; of an odd number one sits out each time."""

    ranks: int = quantity("Nodes, with one rank on each.", "ranks", ge=2, le=MAX_NODES)
    message_bytes: Length = quantity("Message length.", "bytes", 262144)
    window: int = quantity("Messages in flight each way.", "messages", 8, ge=1, le=4096)
    matchings: int = quantity(
        "Random matchings of one half of the nodes with the other.", "matchings", 10, ge=1, le=10**5
    )
    iterations: Repeats = quantity("Windows a matching.", "windows", 10)
    warmup: Repeats = quantity("Windows before them that are left out.", "windows", 2)
    seed: Seed = quantity("Seed of the matchings.", "none", 1)


class BisectionDefinition(ManyRanksDefinition[BisectionParameters]):
    """Layout and cost of the matchings."""

    name = "bisection"
    title = "Bisection"
    deciding = "bisection_rate"
    shown = "bisection_rate"
    parameters = BisectionParameters
    example = {"ranks": 4}
    metrics = (
        rate_metric(
            "bisection_rate",
            "bytes of all pairs and both directions together, while all send at once, over the"
            " time of the slowest rank; median over random matchings of one half of the nodes"
            " with the other",
            limit="links",
        ),
        rate_metric("bisection_rate_least", "the same of the slowest matching", limit="links"),
    )
    samples = {"bisection_rate": "matchings"}
    noted = {"pairs": lambda asked: asked.ranks // 2, "payload_verified": str}
    relations = {"bisection_rate_least": of_samples(min, "bisection_rate")}

    def ranks_per_node(self, params: BisectionParameters, cores_per_node: int) -> int:
        """Always one, so that a pair of ranks is a pair of nodes."""
        return 1

    def durations_s(
        self, params: BisectionParameters, metrics: Sequence[Metric]
    ) -> Iterable[float]:
        """All windows, by the rates of the matchings."""
        moved = params.ranks // 2 * 2 * params.window * params.message_bytes
        rates = [rate for metric in metrics for rate in metric.samples or []]
        yield sum(params.iterations * moved / rate for rate in rates)

    def measuring_s(self, params: BisectionParameters, machine: OrdinaryMachine) -> Iterable[float]:
        """Times on a machine at full speed."""
        once_s = machine.message_s(params.window * params.message_bytes)
        yield params.matchings * params.iterations * once_s

    def least_duration_s(self, params: BisectionParameters, metrics: Sequence[Metric]) -> float:
        """Half of the windows: a matching's rate is that of its median window."""
        return super().least_duration_s(params, metrics) / 2

    def bytes_per_rank(self, params: BisectionParameters) -> int:
        """A window each way, and the allowance."""
        return 2 * params.window * params.message_bytes


CHECK = BisectionDefinition()
