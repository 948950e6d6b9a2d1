# SPDX-License-Identifier: Apache-2.0
"""What the checks that send messages share: buffers, time on the link, values of an echo."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from checks.common.answer import Asked
from checks.common.definition import (
    RANK_ALLOWANCE_BYTES,
    CheckDefinition,
    Layout,
    SiteCapacity,
    gigabytes,
)
from checks.common.metrics import BANDWIDTHS, HALF_ROUND_TRIPS
from checks.common.parameters import Parameters

P = TypeVar("P", bound=Parameters)

#: Samples one launch may take (each is kept and printed): constructs × sizes × iterations.
MAX_SAMPLES = 10_000_000


def refuse_many_samples(constructs: int, sizes: int, iterations: int) -> None:
    """Raise ValueError where a launch would keep and print more than MAX_SAMPLES."""
    samples = constructs * sizes * iterations
    if samples > MAX_SAMPLES:
        raise ValueError(
            f"{constructs} constructs × {sizes} sizes × {iterations} iterations = {samples} samples"
            f" a launch; allowed are at most {MAX_SAMPLES}"
        )


def echoes(at: Mapping[str, Any], iterations: int) -> Iterator[Asked]:
    """The values of an echo at a point: half round trips, and bandwidths unless it is empty."""
    for metric in HALF_ROUND_TRIPS:
        samples = iterations if metric is HALF_ROUND_TRIPS[0] else 0
        yield Asked(metric.name, at, samples)
    if at["message_bytes"]:
        yield from (Asked(metric.name, at) for metric in BANDWIDTHS)


class MessagesDefinition(CheckDefinition[P]):
    """Parameters have `sizes`, unless `message_bytes` is overridden."""

    def message_bytes(self, params: Any) -> list[int]:
        """The explicit sizes, ascending."""
        return list(params.sizes)

    def messages_held(self, params: P) -> int:
        """Messages of the greatest size in a rank's buffers: one each way, unless overridden."""
        del params
        return 2

    def memory_bytes_per_node(self, params: P, cores_per_node: int) -> int:
        """The messages held, and the allowance, for each rank."""
        held = self.messages_held(params) * self.message_bytes(params)[-1]
        return self.ranks_per_node(params, cores_per_node) * (held + RANK_ALLOWANCE_BYTES)

    def memory_arithmetic(self, params: P, layout: Layout) -> str:
        """The messages held, in numbers."""
        held, greatest = self.messages_held(params), self.message_bytes(params)[-1]
        return (
            f"{layout.ranks_per_node} ranks a node with room for {held} messages of"
            f" {greatest} bytes need {gigabytes(held * greatest * layout.ranks_per_node)}"
        )

    def one_way_s(
        self, params: P, layout: Layout, site: SiteCapacity, start_s: float = 1e-4
    ) -> float:
        """Seconds of one message of every size: `start_s` each and the link's speed.

        Assumes 1 GB/s within a node.
        """
        bytes_per_s = site.network_bytes_per_s if layout.nodes > 1 else 1e9
        sizes = self.message_bytes(params)
        return sum(sizes) / bytes_per_s + start_s * len(sizes)
