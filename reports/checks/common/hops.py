# SPDX-License-Identifier: Apache-2.0
"""Messages against the hops between nodes, where a site declares how its nodes are joined.

t(m, h) = α + β·m + (h − 1)·γ with γ the time per hop [J. J. Dongarra and T. H. Dunigan,
ORNL/TM-13006, 1996]. γ of one block is the slope of its times over the hop counts, by least
squares: launches of one block have met the same state of the machine, and blocks are independent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean, median

from reports.analysis import Analysis, Row, flags_of
from reports.checks.common.cells import name_cell
from reports.notation.units import bytes_text, fixed
from reports.notation.values import between, interval_text, not_resolved
from reports.show.lines import EFFORT, counted_footer, joined, picture_of
from reports.show.panel import Axis, Panel, Picture, Series
from reports.show.rows import message_bytes
from reports.show.tables import Cell, Column, Table, Value, pivot
from reports.statistics.descriptive import Summary, summarise

#: The time that each check takes of a message.
TIMES = {"alltoall_pairs": "pair_latency", "echo": "half_round_trip", "pt2pt": "half_round_trip"}
#: Parameters in which cases of different hop counts may differ.
_FREE = (*EFFORT, "hops", "distance")

#: Fewer blocks give no time per hop: of two, one outlier decides.
LEAST_BLOCKS = 3
#: Series beyond these are not shown; the note says so.
MOST_SERIES = 120
#: Times, s, by hop count and block.
Times = dict[int, dict[int, list[float]]]


@dataclass(frozen=True)
class HopSeries:
    """One environment and message length at two hop counts or more.

    `times` are medians over launches in s, by hop count; `per_hop` sums up the blocks' slopes in
    s a hop, None where no block has two hop counts.
    """

    title: str
    environment: str
    message_bytes: int
    times: dict[int, float]
    launches: int
    per_hop: Summary | None
    flags: tuple[str, ...]


@lru_cache(maxsize=16)
def hop_series(analysis: Analysis, check: str) -> tuple[HopSeries, ...]:
    """Those of a check, by case, message length and environment."""
    times: dict[tuple[str, int, str], Times] = {}
    rows: dict[tuple[str, int, str], list[Row]] = {}
    hops = {(row.series.case, row.series.at): row for row in analysis.rows_of(check, "hops")}
    for row in analysis.rows_of(check, TIMES[check]) if hops else ():
        there = hops.get((row.series.case, row.series.at if check == "alltoall_pairs" else ()))
        if there is None or row.series.at_value("construct") not in (None, "Send/Recv"):
            continue
        case = analysis.case(row)
        title = analysis.labels[check].name(case, _FREE)
        size = message_bytes(row) or int(case.params.get("latency_bytes", 0))
        key = (title, size, case.environment)
        rows.setdefault(key, []).append(row)
        # Each launch counts for the hops that the launch of the same block lay apart.
        lay, found = there.series.by_block(), times.setdefault(key, {})
        for block, time_s in row.series.by_block().items():
            if block in lay:
                found.setdefault(int(lay[block]), {}).setdefault(block, []).append(time_s)
    order = list(analysis.looks)
    result = []
    for key in sorted(times, key=lambda key: (key[0], key[1], order.index(key[2]))):
        title, size, environment = key
        found = times[key]
        medians = {
            hops: median([t for values in found[hops].values() for t in values])
            for hops in sorted(found)
        }
        slopes = slopes_by_block(found)
        launches = min(len(blocks) for blocks in found.values())
        per_hop = summarise(slopes) if slopes else None
        one = HopSeries(title, environment, size, medians, launches, per_hop, flags_of(rows[key]))
        result += [one] if len(medians) > 1 else []
    return tuple(result)


def slopes_by_block(times: Times) -> list[float]:
    """γ in s a hop of every block that has two hop counts or more, by ascending block."""
    blocks: dict[int, dict[int, float]] = {}
    for hops, found in times.items():
        for block, values in found.items():
            blocks.setdefault(block, {})[hops] = median(values)
    return [slope(blocks[block]) for block in sorted(blocks) if len(blocks[block]) > 1]


def slope(times: Mapping[int, float]) -> float:
    """Least squares: Σ(h − h̄)·t / Σ(h − h̄)² over two hop counts or more."""
    middle = fmean(times)
    above = sum((hops - middle) * time_s for hops, time_s in times.items())
    return above / sum((hops - middle) ** 2 for hops in times)


def hops_picture(check: str) -> Callable[[Analysis], Picture | None]:
    """The picture of a check's times against hop counts."""

    def picture(analysis: Analysis) -> Picture | None:
        groups: dict[str, list[HopSeries]] = {}
        for one in hop_series(analysis, check):
            title = joined(bytes_text(one.message_bytes), one.title)
            groups.setdefault(title, []).append(one)
        return picture_of(
            analysis,
            groups.items(),
            lambda group: _panel(analysis, *group),
            anchor=f"picture-{check}-hops",
            title="Half round trip against hop count",
            caption="One panel for each message length: medians over launches against the hops"
            " between the two nodes, by the topology that the site declares.",
        )

    return picture


def _panel(analysis: Analysis, title: str, found: list[HopSeries]) -> Panel:
    told = (
        f"{one.environment} "
        + ", ".join(f"{time_s * 1e6:.3g} µs at {hops}" for hops, time_s in one.times.items())
        for one in found
    )
    return Panel(
        title,
        [
            Series(
                list(one.times),
                [time_s * 1e6 for time_s in one.times.values()],
                analysis.looks[one.environment],
                one.environment,
            )
            for one in found
        ],
        f"{title}: {'; '.join(told)}",
        Axis("hops between the two nodes", counts=True),
        Axis("half round trip, µs", low=0),
        counted_footer(analysis, [one.launches for one in found]),
    )


_NOTE = (
    "Medians over launches. Hops by the topology that the site declares: switches that a message"
    " passes in a tree, links in a torus. Time per hop: the slope of the half round trip over the"
    " hop count inside each block, by least squares; shown is its median over at least three blocks"
    " where their interval, or below five blocks all of them, lie above 0; else why there is none."
)


def hops_table(check: str) -> Callable[[Analysis], Table | None]:
    """The table of a check's times against hop counts."""

    def table(analysis: Analysis) -> Table | None:
        found = hop_series(analysis, check)
        return pivot(
            found[:MOST_SERIES],
            [
                ("case", lambda one: one.title),
                ("environment", lambda one: name_cell(one.environment, one.flags)),
                (Column("message", numeric=True), lambda one: bytes_text(one.message_bytes)),
            ],
            [
                _times(found),
                (["time per hop, µs", "its interval, µs", "blocks"], _per_hop_cells),
            ],
            anchor=f"table-{check}-hops",
            title="Against hop counts",
            note=_NOTE,
            total=len(found),
        )

    return table


def _times(found: tuple[HopSeries, ...]) -> Value[HopSeries]:
    """A column for each hop count."""
    counts = sorted({hops for one in found for hops in one.times})

    def cells(line: list[HopSeries]) -> list[Cell]:
        times = line[0].times
        return [
            Cell(fixed(times[h] * 1e6, 2), title=f"{times[h]:.9g} s") if h in times else Cell("–")
            for h in counts
        ]

    return [f"{h} hop{'s' if h > 1 else ''}, µs" for h in counts], cells


def _per_hop_cells(line: list[HopSeries]) -> list[Cell]:
    summary = line[0].per_hop
    if summary is None:
        return [Cell("–", title="no block has two hop counts"), Cell("–"), Cell("0")]
    found = summary.median_interval
    text = "–" if found is None else between(found.low, found.high, _us)
    slope_cell = Cell(_us(summary.median), title=f"{summary.median:.9g} s a hop")
    if why := _no_time_per_hop(summary):
        slope_cell = Cell("–", title=why, badges=(why,))
    return [
        slope_cell,
        Cell(text, title=interval_text(found, _us) if found else "needs 5 blocks"),
        Cell(str(summary.n)),
    ]


def _no_time_per_hop(summary: Summary) -> str | None:
    """Why the blocks' slopes give no time per hop; None where they do."""
    if summary.n < LEAST_BLOCKS:
        return f"needs {LEAST_BLOCKS} blocks"
    found = summary.median_interval
    low, high = (found.low, found.high) if found else (summary.least, summary.greatest)
    if high < 0:
        return "negative: no time per hop"
    return not_resolved(summary.n) if low <= 0 else None


def _us(time_s: float) -> str:
    """Microseconds with two decimals; what rounds to nothing has no sign."""
    return fixed(round(time_s * 1e6, 2) + 0.0, 2)
