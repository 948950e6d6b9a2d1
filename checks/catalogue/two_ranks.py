# SPDX-License-Identifier: Apache-2.0
"""What the checks between two ranks share: where the ranks lie, and their message buffers."""

from __future__ import annotations

from typing import Any, TypeVar

from checks.catalogue.definition import (
    RANK_ALLOWANCE_BYTES,
    CheckDefinition,
    Layout,
    Parameters,
    RanksPerNode,
    gigabytes,
)

P = TypeVar("P", bound=Parameters)


class TwoRankDefinition(CheckDefinition[P]):
    """Two ranks whose parameters have `placement` and, ascending, `message_bytes`."""

    def ranks(self, params: P) -> int:
        """Always two."""
        del params
        return 2

    def ranks_asked_per_node(self, params: Any) -> RanksPerNode:
        """One between nodes, two within a node."""
        return 2 if params.placement == "within-node" else 1

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
