# SPDX-License-Identifier: Apache-2.0
"""Context of a run, from its provenance: software, machine, network and nodes, flat."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from records.run.provenance import Provenance
from records.site.node_facts import facts_by_value, value_text

#: Parts of provenance.json that make the context; the rest (times, seeds, ids) differs every night.
_PARTS = ("harness", "site", "host", "slurm", "environments", "variables")
#: Differ from night to night and decide nothing.
_LEFT_OUT = ("site.asked_as", "site.description", "site.nodes_left_out", "site.partition_nodes")
#: Begins the names of facts of nodes: one value, or each with the nodes that have it.
NODE = "node."
#: What Slurm sets for each job says nothing about the software.
_JOB_VARIABLES = "variables.SLURM_"


def context_of(provenance: Provenance, nodes: Sequence[str]) -> dict[str, str]:
    """Name -> text, e.g. {"host.kernel": "6.1.0", "environments.lam.packages.liblam4": "7.1.4"}."""
    flat: dict[str, str] = {}
    known = msgspec.to_builtins(provenance)
    for part in _PARTS:
        flat |= dict(_leaves(part, known[part]))
    kept = {
        name: text
        for name, text in flat.items()
        if name not in _LEFT_OUT and not name.startswith(_JOB_VARIABLES)
    }
    facts = facts_by_value(provenance.nodes)
    told = {f"{NODE}{fact}": value_text(values) for fact, values in facts.items()}
    return {**kept, **told, "nodes": " ".join(nodes)}


def _leaves(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(f"{name}.{key}", inner)
    elif isinstance(value, list):
        yield name, " ".join(map(str, value))
    elif value is not None:
        yield name, str(value)
