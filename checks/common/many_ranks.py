# SPDX-License-Identifier: Apache-2.0
"""Layouts of the checks whose number of ranks is a parameter."""

from __future__ import annotations

from typing import Any, TypeVar

from checks.common.definition import CheckDefinition
from checks.common.parameters import Parameters, RanksPerNode

P = TypeVar("P", bound=Parameters)


class ManyRanksDefinition(CheckDefinition[P]):
    """Parameters have `ranks` and `ranks_per_node`."""

    def ranks(self, params: Any) -> int:
        """The parameter `ranks`."""
        return int(params.ranks)

    def ranks_asked_per_node(self, params: Any) -> RanksPerNode:
        """The parameter `ranks_per_node`."""
        asked: RanksPerNode = params.ranks_per_node
        return asked


class RankANodeDefinition(ManyRanksDefinition[P]):
    """Parameters have `ranks`; each lies on a node of its own."""

    def ranks_asked_per_node(self, params: P) -> RanksPerNode:
        """One, so that a pair of ranks is a pair of nodes."""
        del params
        return 1
