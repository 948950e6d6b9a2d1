# SPDX-License-Identifier: Apache-2.0
"""The OSU micro-benchmarks: each by its own quantity, compared with our own measurements."""

from __future__ import annotations

from functools import partial
from typing import Any

from reports.analysis.run import Analysis, Row
from reports.checks.common.blocks import ByBlock, by_block, compared_cells, rows_where
from reports.notation.units import ReadableUnit, bytes_text, readable_unit
from reports.show.rows import message_bytes, name_cell
from reports.show.section import Section, side_by_side_table
from reports.show.tables import Cell, Table, numeric, pivot

#: What benchmarks are read by.
_HEADLINES = (
    *("osu_message_rate", "osu_bandwidth", "osu_overall_time", "osu_latency", "osu_init_mean"),
)
_NEAR = {"placement": "between-nodes", "transport": "library"}
#: What we and the suite measure alike: its name and SI unit; our check, metric, parameters and
#: coordinates; the suite's metric and test. OSU's windows are of 64 messages.
_ALIKE: tuple[
    tuple[str, str, tuple[str, str, dict[str, Any], dict[str, str]], tuple[str, str]], ...
] = (
    (
        "one-way time, loop timed",
        "s",
        ("echo", "half_round_trip_loop", {**_NEAR, "distance": 1, "hops": 0}, {}),
        ("osu_latency", "osu_latency"),
    ),
    (
        "bandwidth of windows",
        "bytes/s",
        ("streams", "window_rate", {**_NEAR, "window": 64}, {"direction": "one-way"}),
        ("osu_bandwidth", "osu_bw"),
    ),
    (
        "allreduce",
        "s",
        ("collectives", "collective_time", {}, {"operation": "allreduce"}),
        ("osu_latency", "osu_allreduce"),
    ),
)
#: Ranks, ranks a node, message length, the environment's place in the order of the plan.
_Place = tuple[int, int, int, int]


def comparison_table(analysis: Analysis) -> Table | None:
    """A line a quantity, length, layout and environment that both measured, with their ratio."""
    names = list(analysis.looks)

    def place(row: Row) -> _Place:
        case = analysis.case(row)
        layout = case.ranks, case.ranks_per_node, message_bytes(row)
        return *layout, names.index(case.environment)

    lines: list[tuple[str, ReadableUnit, _Place, ByBlock, ByBlock]] = []
    for title, si, (check, metric, params, at), (osu_metric, test) in _ALIKE:
        ours = by_block(rows_where(analysis, check, metric, params, **at), place)
        osu = by_block(rows_where(analysis, "osu", osu_metric, {"test": test}), place)
        unit = readable_unit(si, (value for found in ours.values() for value in found.values()))
        lines += [(title, unit, one, ours[one], osu[one]) for one in sorted(ours.keys() & osu)]

    def cells(line: list[tuple[str, ReadableUnit, _Place, ByBlock, ByBlock]]) -> list[Cell]:
        _, unit, _, ours, osu = line[0]
        return compared_cells(ours, osu, unit)

    return pivot(
        lines,
        [
            ("quantity", lambda line: f"{line[0]}, {line[1].label}"),
            (numeric("ranks"), lambda line: str(line[2][0])),
            (numeric("message"), lambda line: bytes_text(line[2][2])),
            ("environment", lambda line: name_cell(names[line[2][3]])),
        ],
        [(numeric("ours", "OSU", "ours / OSU", "95 % interval"), cells)],
        anchor="table-osu-beside-ours",
        title="Our measurements beside the suite's",
        note="Median of the launches, in brackets least and greatest; a ratio pairs launches of one"
        " block, its interval is that of Hodges and Lehmann's estimate. Both one-way times are"
        " means of a loop. Our rates and allreduces are medians over repetitions, of an allreduce"
        " the longest over the ranks of each; OSU's are means, of an allreduce over the ranks too:"
        " a disturbance, and ranks that do not leave together, weigh differently.",
    )


SECTION = Section(
    tables=(
        comparison_table,
        *(partial(side_by_side_table, check="osu", metric=metric) for metric in _HEADLINES),
    )
)
