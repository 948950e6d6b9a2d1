# SPDX-License-Identifier: Apache-2.0
"""A scan of pairs: very many values come in a file and lie in one beside the record."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from checks.alltoall_pairs import FILE, AlltoallPairsDefinition, AlltoallPairsParameters
from checks.alltoall_pairs.listed_hosts import nodes_for_pairs
from checks.common.answer import Reading
from checks.common.base import OwnProgram
from checks.common.json_lines import Output
from records.metric import Metric
from records.topology import Topology

#: The table in the launch's folder.
TABLE = "points.parquet"


class Run(OwnProgram):
    """Every pair of nodes, or some."""

    definition: AlltoallPairsDefinition
    #: The table that a run kept, where a launch is judged again without the program's file.
    kept_table: bytes | None = None

    def nodes_asked(self) -> Sequence[str] | None:
        """Those of listed pairs, to which Slurm adds others; in an allocation with others of it."""
        asked = super().nodes_asked()
        if asked or self.switches or not self.params.only:
            return asked
        here, params = self.current_partition, self.params
        where = here.extras["slurm_partition"], here.access
        return nodes_for_pairs(params.only, params.nodes, *where, self.drawn_by)

    def read(self, output: Output, text: str) -> Reading:
        """The values asked for; those of a file as a table, with a summary of them."""
        reading = super().read(output, text)
        if reading.wrong is not None or not self.definition.in_file(self.params):
            return reading
        if self.kept_table is not None:
            return read_kept(self.definition, self.params, output, self.kept_table)
        return read_file(
            self.definition,
            self.params,
            output,
            Path(self.stagedir),
            self.declared_topology(),
        )

    def _hops(self, output: Output) -> list[Metric]:
        """Of a file none: it has the switches of the nodes."""
        return [] if self.definition.in_file(self.params) else super()._hops(output)


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
    switches = [at.get(name, "") for name in names] if at else None
    pairs.write(folder / TABLE, switches)
    metrics = definition.summary(pairs.values)
    wrong = definition.too_long(params, metrics, output)
    return Reading(wrong=wrong) if wrong else Reading(metrics, table=str(folder / TABLE))


def read_kept(
    definition: AlltoallPairsDefinition,
    params: AlltoallPairsParameters,
    output: Output,
    table: bytes,
) -> Reading:
    """The summary of a table that `read_file` made."""
    from checks.alltoall_pairs.pair_file import read_table  # slow: polars

    names = list(dict.fromkeys(output.hosts()))
    values = read_table(table, names, definition.wanted(params, names))
    return Reading(definition.summary(values), table=TABLE)
