# SPDX-License-Identifier: Apache-2.0
"""What the checks over a number of ranks that the campaign states share: where the ranks lie."""

from __future__ import annotations

from typing import Any, TypeVar

from checks.common.definition import CheckDefinition
from checks.common.parameters import Parameters, RanksPerNode

P = TypeVar("P", bound=Parameters)


class ManyRanksDefinition(CheckDefinition[P]):
    """Parameters have `ranks` and `ranks_per_node`."""

    def ranks(self, params: Any) -> int:
        """As asked."""
        return int(params.ranks)

    def ranks_asked_per_node(self, params: Any) -> RanksPerNode:
        """As the parameter says."""
        asked: RanksPerNode = params.ranks_per_node
        return asked


class RankANodeDefinition(ManyRanksDefinition[P]):
    """Parameters have `ranks`; each lies on a node of its own."""

    def ranks_asked_per_node(self, params: P) -> RanksPerNode:
        """One: a pair of ranks is a pair of nodes."""
        del params
        return 1
