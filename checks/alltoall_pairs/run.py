# SPDX-License-Identifier: Apache-2.0
"""A scan of pairs: its nodes, where pairs are listed; very many values, which come in a file."""

import os
from collections.abc import Sequence
from pathlib import Path
from random import Random

from checks.alltoall_pairs import FILE, AlltoallPairsDefinition, AlltoallPairsParameters
from checks.common.answer import Reading
from checks.common.base import OwnProgram
from checks.common.json_lines import Output
from checks.common.slurm.commands import HERE, option_values
from checks.common.slurm.job import RUN_ID, told_allocation
from records.site.topology import Topology

#: The table in the launch's folder.
TABLE = "points.parquet"


class Run(OwnProgram):
    """Every pair of nodes, or some."""

    definition: AlltoallPairsDefinition

    def nodes_asked(self) -> Sequence[str] | None:
        """Nodes of listed pairs, to which Slurm adds others; in an allocation with others of it."""
        asked, setting, params = super().nodes_asked(), self.setting, self.params
        if asked or not params.only:
            return asked
        where = setting.partition["slurm_partition"], setting.partition["access"]
        return nodes_for_pairs(params.only, params.nodes, *where, setting.drawn_by)

    def read(self, output: Output, text: str) -> Reading:
        """The values asked for; those of a file as a table, with a summary of them."""
        reading, setting = super().read(output, text), self.setting
        definition, params = self.definition, self.params
        if reading.wrong is not None or not definition.in_file(params):
            return reading
        if setting.kept_table is None:
            return read_file(definition, params, output, setting.folder, setting.topology)
        from checks.alltoall_pairs.pair_file import read_table  # slow: polars

        names = list(dict.fromkeys(output.hosts()))
        values = read_table(setting.kept_table, names, definition.wanted(params, names))
        return Reading(definition.summary(values), table=TABLE)


def read_file(
    definition: AlltoallPairsDefinition,
    params: AlltoallPairsParameters,
    output: Output,
    folder: Path,
    topology: Topology | None,
) -> Reading:
    """The summary of a launch's file, which becomes a table in the same folder."""
    from checks.alltoall_pairs.pair_file import read_pairs  # slow: polars

    names = list(dict.fromkeys(output.hosts()))
    wanted = definition.wanted(params, names)
    pairs = read_pairs(folder / FILE, output.notes.get("pair_file"), names, wanted)
    leaves = {} if topology is None else topology.leaves
    at = {node: leaf for leaf, nodes in leaves.items() for node in nodes}
    pairs.write(folder / TABLE, [at.get(name, "") for name in names] if at else None)
    metrics = definition.summary(pairs.values)
    wrong = definition.too_long(params, metrics, output)
    return Reading(wrong=wrong) if wrong else Reading(metrics, table=str(folder / TABLE))


def nodes_for_pairs(
    pairs: Sequence[str], count: int, slurm_partition: str, access: Sequence[str], drawn_by: str
) -> list[str] | None:
    """Hosts of the pairs, at most `count`, that Slurm or the allocation has; None: none.

    Pairs are taken at random, so that in several launches each has its chance. Slurm adds other
    nodes by itself; those of an allocation are drawn and added here. `access`: options of every
    job, which may exclude nodes.
    """
    allocation = told_allocation()
    if allocation is None:
        excluded = [HERE.hostnames(one) for one in option_values(access, "exclude", "x")[-1:]]
        there = HERE.usable_nodes(slurm_partition).difference(*excluded)
    else:
        there = set(allocation.nodes)
    dice = Random(f"{os.environ.get(RUN_ID)}.{drawn_by}")  # noqa: S311  not for secrets
    named: set[str] = set()
    for pair in dice.sample(pairs, len(pairs)):
        ends = set(pair.split(":"))
        if ends <= there and len(named | ends) <= count:
            named |= ends
    if not named or len(there) < count:
        return None
    if allocation is None:
        return sorted(named)
    others = [node for node in allocation.nodes if node not in named]
    named.update(dice.sample(others, count - len(named)))
    return [node for node in allocation.nodes if node in named]
