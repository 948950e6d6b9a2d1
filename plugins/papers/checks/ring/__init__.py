# SPDX-License-Identifier: Apache-2.0
"""A message round a ring of all ranks, as T. H. Dunigan timed it (ORNL/TM-10881, 1988, table 6)."""

from collections.abc import Iterable
from typing import Literal

from checks.common.definition import LEAST_ONCE_S, Layout, OrdinaryMachine, SiteCapacity
from checks.common.messages import (
    ManyRanksDefinition,
    MessagesDefinition,
    Sizes,
    expand_sizes,
    sizes_field,
)
from checks.common.metrics import rate_metric, time_metric
from checks.common.parameters import (
    ProfiledParameters,
    Ranks,
    RanksPerNode,
    Repeats,
    Seed,
    quantity,
)

RingOrder = Literal["natural", "gray", "random"]

#: The lengths of table 6, and larger ones of today.
DEFAULT_SIZES = expand_sizes([{"from": 8, "to": 8192, "per_octave": 1}, 65536, 1048576])


class RingParameters(ProfiledParameters):
    """A launch of the ring program. In the order `gray` neighbours differ in one bit."""

    ranks: Ranks = quantity("Ranks in the ring.", "ranks")
    ranks_per_node: RanksPerNode = "fill"
    order: RingOrder = quantity(
        "Order of the ranks in the ring; gray needs a power of two of them.", "none", "natural"
    )
    sizes: Sizes = sizes_field(DEFAULT_SIZES)
    turns: Repeats = quantity("Turns round the ring for each size.", "turns", 100)
    warmup: Repeats = quantity("Turns before them that are left out.", "turns", 2)
    seed: Seed = quantity("Seed of the random order, and of the order of sizes.", "none", 1)


class RingDefinition(ManyRanksDefinition[RingParameters], MessagesDefinition[RingParameters]):
    """Layout and cost of the ring."""

    name = "ring"
    title = "Ring"
    deciding = "ring_time"
    shown = "ring_rate"
    parameters = RingParameters
    example = {"ranks": 4, "sizes": [8, 1024]}
    metrics = (
        time_metric("ring_time", "time of all turns of a message round a ring of all ranks"),
        rate_metric(
            "ring_rate",
            "from node to node: ranks × turns × message length over the time of all turns",
            limit="link",
        ),
        time_metric(
            "ring_turn", "time of one turn; the launch's value is the median", limit="link"
        ),
    )
    relations = {
        "ring_time": lambda here: sum(here.samples("ring_turn")),
        "ring_rate": lambda here: (
            here.params.ranks * here.params.turns * here.at["message_bytes"] / here("ring_time")
        ),
    }
    points = ("order", "message_bytes")
    swept = {"order": "order", "message_bytes": "sizes"}
    samples = {"ring_turn": "turns"}
    timed = ("ring_time", 1.0)
    noted = {"payload_verified": str}
    least_measured_s = LEAST_ONCE_S

    def options(self, params: RingParameters) -> dict[str, object]:
        """The program takes several orders."""
        options = super().options(params)
        return {"orders": options.pop("order"), **options}

    def measuring_s(self, params: RingParameters, machine: OrdinaryMachine) -> Iterable[float]:
        """All turns of each size, in one go."""
        for size in self.message_bytes(params):
            yield params.turns * params.ranks * machine.message_s(size)

    def infeasible(self, params: RingParameters, layout: Layout, site: SiteCapacity) -> str | None:
        """A Gray code needs a power of two; then what every check asks for."""
        if params.order == "gray" and params.ranks & (params.ranks - 1):
            return (
                f"{params.ranks} ranks have no Gray-code ring;"
                f" {1 << params.ranks.bit_length() - 1} and {1 << params.ranks.bit_length()} do"
            )
        return super().infeasible(params, layout, site)


CHECK = RingDefinition()
