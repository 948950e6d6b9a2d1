# SPDX-License-Identifier: Apache-2.0
"""What the checks that send messages of listed sizes share: buffers, and time on the way."""

from __future__ import annotations

from typing import Any, TypeVar

from checks.common.definition import (
    RANK_ALLOWANCE_BYTES,
    CheckDefinition,
    Layout,
    Parameters,
    SiteCapacity,
    gigabytes,
)

P = TypeVar("P", bound=Parameters)


class MessagesDefinition(CheckDefinition[P]):
    """Parameters have, ascending, `message_bytes`."""

    def messages_held(self, params: P) -> int:
        """Messages of the greatest size that a rank has room for: one each way unless told."""
        del params
        return 2

    def memory_bytes_per_node(self, params: Any, cores_per_node: int) -> int:
        """The messages held, and the allowance, for each rank."""
        ranks = self.ranks_per_node(params, cores_per_node)
        held = self.messages_held(params) * params.message_bytes[-1]
        return int(ranks * (held + RANK_ALLOWANCE_BYTES))

    def memory_arithmetic(self, params: Any, layout: Layout) -> str:
        """The messages held, in numbers."""
        held, greatest = self.messages_held(params), params.message_bytes[-1]
        return (
            f"{layout.ranks_per_node} ranks a node with room for {held} messages of"
            f" {greatest} bytes need {gigabytes(held * greatest * layout.ranks_per_node)}"
        )

    def one_way_s(
        self, params: Any, layout: Layout, site: SiteCapacity, start_s: float = 1e-4
    ) -> float:
        """Seconds of one message of every size: `start_s` each and the link's speed.

        Assumes 1 GB/s within a node.
        """
        bytes_per_s = site.network_bytes_per_s if layout.nodes > 1 else 1e9
        sizes: list[int] = params.message_bytes
        return sum(sizes) / bytes_per_s + start_s * len(sizes)
