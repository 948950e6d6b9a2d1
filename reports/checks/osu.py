# SPDX-License-Identifier: Apache-2.0
"""The OSU micro-benchmarks: each by its own quantity, compared with our own measurements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from reports.analysis import Analysis
from reports.checks.common.cells import compared_cells, name_cell
from reports.checks.common.echo_times import ByBlock
from reports.notation.units import ReadableUnit, bytes_text
from reports.show.generic import side_by_side_table
from reports.show.rows import message_bytes
from reports.show.section import Section
from reports.show.tables import Cell, Column, Table, numeric, pivot

_CHECK = "osu"
#: What benchmarks are read by.
_HEADLINES = (
    "osu_message_rate",
    "osu_bandwidth",
    "osu_overall_time",
    "osu_latency",
    "osu_init_mean",
)


@dataclass(frozen=True)
class _Measured:
    """A metric of a check: of cases with these parameters, at points with these coordinates."""

    check: str
    metric: str
    params: Mapping[str, Any] = field(default_factory=dict)
    at: Mapping[str, Any] = field(default_factory=dict)


#: What we and the suite measure alike: its name and unit, ours, the suite's. OSU's windows are of
#: 64 messages.
_ALIKE = (
    (
        "half round trip, loop timed",
        ReadableUnit("µs", 1e-6),
        _Measured(
            "echo",
            "half_round_trip_loop",
            {"placement": "between-nodes", "transport": "library", "distance": 1, "hops": 0},
        ),
        _Measured(_CHECK, "osu_latency", {"test": "osu_latency"}),
    ),
    (
        "bandwidth of windows",
        ReadableUnit("MB/s", 1e6),
        _Measured(
            "streams",
            "window_rate",
            {"placement": "between-nodes", "transport": "library", "window": 64},
            {"direction": "one-way"},
        ),
        _Measured(_CHECK, "osu_bandwidth", {"test": "osu_bw"}),
    ),
    (
        "allreduce",
        ReadableUnit("µs", 1e-6),
        _Measured("collectives", "collective_time", at={"operation": "allreduce"}),
        _Measured(_CHECK, "osu_latency", {"test": "osu_allreduce"}),
    ),
)
#: Environment, ranks, ranks a node, message length.
_Place = tuple[str, int, int, int]


def comparison_table(analysis: Analysis) -> Table | None:
    """A line a quantity, length, layout and environment that both measured, with their ratio."""
    lines: list[tuple[str, ReadableUnit, _Place, ByBlock, ByBlock]] = []
    order = list(analysis.looks)
    for title, unit, *both in _ALIKE:
        ours, osu = (_values(analysis, measured) for measured in both)
        places = sorted(ours.keys() & osu.keys(), key=lambda p: (p[1:], order.index(p[0])))
        lines += [(title, unit, place, ours[place], osu[place]) for place in places]

    def cells(line: list[tuple[str, ReadableUnit, _Place, ByBlock, ByBlock]]) -> list[Cell]:
        _, unit, _, ours, osu = line[0]
        return compared_cells(ours, osu, unit)

    return pivot(
        lines,
        [
            ("quantity", lambda line: f"{line[0]}, {line[1].label}"),
            (Column("ranks", numeric=True), lambda line: str(line[2][1])),
            (Column("message", numeric=True), lambda line: bytes_text(line[2][3])),
            ("environment", lambda line: name_cell(line[2][0])),
        ],
        [(numeric("ours", "OSU", "ours / OSU", "95 % interval"), cells)],
        anchor="table-osu-beside-ours",
        title="Our measurements beside the suite's",
        note="Median of the launches, in brackets least and greatest; a ratio pairs launches of one"
        " block, its interval is that of Hodges and Lehmann's estimate. Both half round trips are"
        " means of a loop. Our rates and allreduces are medians over repetitions, of an allreduce"
        " the longest over the ranks of each; OSU's are means, of an allreduce over the ranks too:"
        " a disturbance, and ranks that do not leave together, weigh differently.",
        group=2,
    )


def _values(analysis: Analysis, measured: _Measured) -> dict[_Place, ByBlock]:
    """What was measured, by place and block. A parameter that a run does not know is right."""
    found: dict[_Place, ByBlock] = {}
    for row in analysis.rows_of(measured.check, measured.metric):
        case, point = analysis.case(row), dict(row.series.at)
        right = all(
            case.params.get(name, value) == value for name, value in measured.params.items()
        )
        if right and all(point.get(name) == value for name, value in measured.at.items()):
            place = case.environment, case.ranks, case.ranks_per_node, message_bytes(row)
            found.setdefault(place, {}).update(row.series.by_block())
    return found


SECTION = Section(
    tables=(
        comparison_table,
        *(partial(side_by_side_table, check=_CHECK, metric=metric) for metric in _HEADLINES),
    )
)
