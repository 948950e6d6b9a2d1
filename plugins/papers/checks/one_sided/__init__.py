# SPDX-License-Identifier: Apache-2.0
"""One-sided copies between two ranks: put and get, completed by fences or under a lock."""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal, get_args

from checks.common.answer import length_over, of_samples
from checks.common.definition import OrdinaryMachine
from checks.common.messages import (
    MessagesDefinition,
    Placement,
    Sizes,
    TwoRankDefinition,
    TwoRankParameters,
    expand_sizes,
    refuse_many_samples,
    sizes_field,
)
from checks.common.metrics import rate_metric, time_metric
from checks.common.parameters import EachOnce, Repeats, Seed, quantity
from records.metric import Metric

Operation = Literal["put", "get"]
OPERATIONS: tuple[Operation, ...] = get_args(Operation)

#: Two sizes an octave, and the length of the study of 1996.
DEFAULT_SIZES = expand_sizes([{"from": 8, "to": 2**20, "per_octave": 2}, 1_000_000])


class OneSidedParameters(TwoRankParameters):
    """A launch of the program. LAM has fences alone."""

    placement: Placement = quantity("Where the two ranks are.", "none", "between-nodes")
    operations: Annotated[list[Operation], EachOnce(OPERATIONS, "operation")] = quantity(
        "MPI_Put, MPI_Get or both.", "none", list(OPERATIONS)
    )
    synchronisation: Literal["fence", "lock"] = quantity(
        "What completes a copy: MPI_Win_fence, the two ranks copying there and back; or"
        " MPI_Win_lock and MPI_Win_unlock, one rank copying alone.",
        "none",
        "fence",
    )
    sizes: Sizes = sizes_field(DEFAULT_SIZES, "Lengths of copies")
    iterations: Repeats = quantity("Copies for each operation and size.", "copies", 100)
    warmup: Repeats = quantity("Copies before them that are left out.", "copies", 10)
    seed: Seed = quantity("Seed of the order of points.", "none", 1)

    def model_post_init(self, context: Any) -> None:
        """Refuse more samples than a launch may keep."""
        refuse_many_samples(len(self.operations), len(self.sizes), self.iterations)


class OneSidedDefinition(
    TwoRankDefinition[OneSidedParameters], MessagesDefinition[OneSidedParameters]
):
    """Layout and cost of the one-sided copies."""

    name = "one_sided"
    title = "One-sided copies"
    deciding = "one_sided_time"
    shown = "one_sided_time"
    parameters = OneSidedParameters
    example = {"sizes": [8, 65536]}
    metrics = (
        time_metric(
            "one_sided_time",
            "one one-sided copy until it is complete, the median of a launch; fence: half of a"
            " copy there and its answer back, with the fences that they take; lock: lock, copy and"
            " unlock",
            "time of a copy",
            limit="link",
        ),
        time_metric(
            "one_sided_time_least",
            "least time of a copy of a launch",
            "least time of a copy",
            limit="link",
        ),
        rate_metric(
            "one_sided_rate",
            "length of a copy over its median time",
            "rate of copies",
            limit="link",
        ),
        rate_metric(
            "one_sided_rate_best",
            "length of a copy over its least time",
            "best rate of copies",
            limit="link",
        ),
    )
    relations = {
        "one_sided_time_least": of_samples(min, "one_sided_time"),
        "one_sided_rate": length_over("one_sided_time"),
        "one_sided_rate_best": length_over("one_sided_time_least"),
    }
    points = ("operation", "message_bytes")
    swept = {"operation": "operations", "message_bytes": "sizes"}
    samples = {"one_sided_time": "iterations"}
    timed = ("one_sided_time", 1.0)
    noted = {"payload_verified": str}

    def features_of(self, params: OneSidedParameters) -> frozenset[str]:
        """A lock needs passive targets, which libraries have that keep to MPI-3."""
        return self.features | ({"mpi-3"} if params.synchronisation == "lock" else frozenset())

    def least_duration_s(self, params: OneSidedParameters, metrics: Sequence[Metric]) -> float:
        """All copies, and by fences their answers."""
        copies = 2 if params.synchronisation == "fence" else 1
        return copies * super().least_duration_s(params, metrics)

    def messages_held(self, params: OneSidedParameters) -> int:
        """The window, the other end of a copy, and what a put is verified by."""
        return 3

    def measuring_s(self, params: OneSidedParameters, machine: OrdinaryMachine) -> Iterable[float]:
        """The copies of each size."""
        for size in self.message_bytes(params):
            yield params.iterations * machine.message_s(size)


CHECK = OneSidedDefinition()
