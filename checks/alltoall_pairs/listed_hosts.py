# SPDX-License-Identifier: Apache-2.0
"""The nodes of a launch that measures listed pairs of hosts: those hosts must be among them."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from random import Random

from checks.common.slurm.allocation import told_allocation
from checks.common.slurm.commands import output, usable_nodes
from checks.common.slurm.scheduler import RUN_ID
from checks.common.slurm.text import option_values


def nodes_for_pairs(
    pairs: Sequence[str], count: int, slurm_partition: str, access: Sequence[str], drawn_by: str
) -> list[str] | None:
    """Hosts of the pairs, at most `count`, that Slurm or the allocation has; None: none.

    Slurm adds others by itself; those of an allocation are drawn and added here. `access`: options
    of every job, which may exclude nodes.
    """
    allocation = told_allocation()
    if allocation is None:
        there = usable_nodes(slurm_partition) - _excluded(access)
    else:
        there = set(allocation.nodes)
    dice = Random(f"{os.environ.get(RUN_ID)}.{drawn_by}")  # noqa: S311  not for secrets
    named = _hosts_of(pairs, count, there, dice)
    if not named or len(there) < count:
        return None
    if allocation is None:
        return sorted(named)
    others = [node for node in allocation.nodes if node not in named]
    named.update(dice.sample(others, count - len(named)))
    return [node for node in allocation.nodes if node in named]


def _excluded(access: Sequence[str]) -> set[str]:
    """The nodes that the options of every job keep it off."""
    listed = option_values(access, "exclude", "x")[-1:]
    told = output(["scontrol", "show", "hostnames", *listed]) if listed else None
    return {*(told or "").split()}


def _hosts_of(pairs: Sequence[str], count: int, there: Collection[str], dice: Random) -> set[str]:
    """Both hosts of as many pairs as `count` nodes hold, taken at random, so that in several
    launches each has its chance."""
    chosen: set[str] = set()
    for pair in dice.sample(pairs, len(pairs)):
        ends = set(pair.split(":"))
        if all(end in there for end in ends) and len(chosen) + len(ends - chosen) <= count:
            chosen |= ends
    return chosen
