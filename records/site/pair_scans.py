# SPDX-License-Identifier: Apache-2.0
"""Scans of pairs of nodes: how a sample of rounds is drawn, what it misses, where values lie.

A tournament of n nodes has R rounds of disjoint pairs, R = n − 1 for even n, else n. Of a sample
the first k are measured; nodes are players in an order that the seed shuffles, so that each pair is
in it with the chance k/R.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: The artifact with the values of a scan, beside its record, and the folder of the run directory.
ARTIFACT, FOLDER, SUFFIX = "points", "points", "parquet"
#: Columns of its pairs; in the record the key of `at` at which a summary over all pairs stands.
NODE, PEER, SUMMARY = "node", "peer", "pairs"
#: Members of the file's metadata, JSON texts: the names of its nodes, and the switch of each.
NODES_META, SWITCHES_META = "assay.nodes", "assay.switches"


def rounds_of_all(nodes: int) -> int:
    """Rounds of disjoint pairs in which every pair is once."""
    return nodes - 1 + nodes % 2


def rounds_measured(nodes: int, rounds: int) -> int:
    """Rounds of which `rounds` are asked for; 0: all."""
    every = rounds_of_all(nodes)
    return min(rounds, every) if rounds else every


def pairs_measured(nodes: int, rounds: int) -> int:
    """Pairs in them: each round has ⌊n/2⌋."""
    return rounds_measured(nodes, rounds) * (nodes // 2)


def chance_link_missed(nodes: int, rounds: int) -> float:
    """Chance that a given pair is in none of the rounds: 1 − k/R."""
    return 1 - rounds_measured(nodes, rounds) / rounds_of_all(nodes)


def chance_node_missed(nodes: int, rounds: int) -> float:
    """Chance that a given node has no partner in any of them: only of odd n, in a single round."""
    return 1 / nodes if nodes % 2 and rounds_measured(nodes, rounds) == 1 else 0.0


def sample_told(nodes: int, params: Mapping[str, Any]) -> str | None:
    """Sentence of what a sample of rounds can miss; None where it is all or a list."""
    asked = params.get("rounds", 0)
    if params.get("only") or not isinstance(asked, int) or not 0 < asked < rounds_of_all(nodes):
        return None
    return (
        f"{asked} of {rounds_of_all(nodes)} rounds: {pairs_measured(nodes, asked)} of"
        f" {nodes * (nodes - 1) // 2} pairs of {nodes} nodes; the chance to miss a single bad link"
        f" is {100 * chance_link_missed(nodes, asked):.3g} %, a bad node"
        f" {100 * chance_node_missed(nodes, asked):.3g} %"
    )
