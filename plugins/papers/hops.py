# SPDX-License-Identifier: Apache-2.0
"""Messages against the hops between nodes, where a site declares how its nodes are joined.

t(m, h) = α + β·m + (h − 1)·γ with γ the time per hop [J. J. Dongarra and T. H. Dunigan,
ORNL/TM-13006, 1996]. γ of one block is the slope of its times over the hop counts, by least
squares: launches of one block have met the same state of the machine, and blocks are independent.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from operator import itemgetter
from statistics import linear_regression, median

from reports.analysis.run import Analysis, Row, flags_of
from reports.notation.units import (
    between,
    bytes_text,
    count_text,
    fixed,
    interval_text,
    not_resolved,
)
from reports.show.lines import EFFORT
from reports.show.rows import message_bytes, name_cell
from reports.show.tables import Cell, Table, numeric, pivot
from reports.statistics.descriptive import Summary, summarise

#: Metric of each check that is the time of a message.
TIMES = {"echo": "half_round_trip", "pt2pt": "half_round_trip"}
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
    """Times of an environment and message length at two hop counts or more.

    `times` are medians over launches in s, by hop count; `per_hop` sums up the blocks' slopes in
    s a hop, None where no block has two hop counts.
    """

    title: str
    environment: str
    message_bytes: int
    times: dict[int, float]
    per_hop: Summary | None
    flags: tuple[str, ...]


@lru_cache(maxsize=16)
def hop_series(analysis: Analysis, check: str) -> tuple[HopSeries, ...]:
    """Series of a check by case, message length and environment."""
    groups: dict[tuple[str, int, int, str], tuple[list[Row], Times]] = {}
    order = list(analysis.looks)
    hops = {row.series.case: row for row in analysis.rows_of(check, "hops")}
    for row in analysis.rows_of(check, TIMES[check]) if hops else ():
        distance = hops.get(row.series.case)
        if distance is None or row.series.at_value("construct") not in (None, "Send/Recv"):
            continue
        case = analysis.case(row)
        title = analysis.labels[check].name(case, _FREE)
        size = message_bytes(row)
        key = title, size, order.index(case.environment), case.environment
        rows, times = groups.setdefault(key, ([], {}))
        rows.append(row)
        # Each launch counts for the hops that the launch of the same block lay apart.
        hops_of = distance.series.by_block()
        for block, time_s in row.series.by_block().items():
            if block in hops_of:
                times.setdefault(int(hops_of[block]), {}).setdefault(block, []).append(time_s)
    result = []
    for (title, size, _, environment), (rows, times) in sorted(groups.items(), key=itemgetter(0)):
        if len(times) > 1:
            medians = {count: median(chain(*times[count].values())) for count in sorted(times)}
            slopes = slopes_by_block(times)
            per_hop = summarise(slopes) if slopes else None
            result.append(HopSeries(title, environment, size, medians, per_hop, flags_of(rows)))
    return tuple(result)


def slopes_by_block(times: Times) -> list[float]:
    """γ in s a hop of every block that has two hop counts or more, by ascending block: least
    squares."""
    blocks: dict[int, dict[int, float]] = {}
    for count, by_block in times.items():
        for block, values in by_block.items():
            blocks.setdefault(block, {})[count] = median(values)
    return [
        linear_regression([*at], [*at.values()]).slope
        for _, at in sorted(blocks.items())
        if len(at) > 1
    ]


def hops_table(analysis: Analysis, check: str) -> Table | None:
    """A check's times against hop counts, a column each."""
    series = hop_series(analysis, check)
    counts = sorted({count for item in series for count in item.times})

    def times(line: list[HopSeries]) -> list[Cell]:
        at = [line[0].times.get(count) for count in counts]
        return [Cell("–" if t is None else _us(t), title=f"{t:.9g} s" if t else "") for t in at]

    return pivot(
        series[:MOST_SERIES],
        [
            ("case", lambda item: item.title),
            ("environment", lambda item: name_cell(item.environment, item.flags)),
            (numeric("message"), lambda item: bytes_text(item.message_bytes)),
        ],
        [
            ([f"{count_text(h, 'hop')}, µs" for h in counts], times),
            (
                ["time per hop, µs", "its interval, µs", "blocks"],
                lambda line: _per_hop_cells(line[0].per_hop),
            ),
        ],
        anchor=f"table-{check}-hops",
        title="Against hop counts",
        note="Medians over launches. Hops by the topology that the site declares: switches that a"
        " message passes in a tree. Time per hop: the slope of the half round"
        " trip over the hop count inside each block, by least squares; shown is its median over at"
        " least three blocks where their interval, or below five blocks all of them, lie above 0;"
        " else why there is none.",
        total=len(series),
    )


def _per_hop_cells(summary: Summary | None) -> list[Cell]:
    if summary is None:
        return [Cell("–", title="no block has two hop counts"), Cell("–"), Cell("0")]
    ends = Cell("–", title="needs 5 blocks")
    if interval := summary.median_interval:
        ends = Cell(between(interval.low, interval.high, _us), title=interval_text(interval, _us))
    slope_cell = Cell(_us(summary.median), title=f"{summary.median:.9g} s a hop")
    if why := _no_time_per_hop(summary):
        slope_cell = Cell("–", title=why, badges=(why,))
    return [slope_cell, ends, Cell(str(summary.n))]


def _no_time_per_hop(summary: Summary) -> str | None:
    """Reason why the blocks' slopes give no time per hop; None where they do."""
    if summary.n < LEAST_BLOCKS:
        return f"needs {LEAST_BLOCKS} blocks"
    interval = summary.median_interval
    low, high = (interval.low, interval.high) if interval else (summary.least, summary.greatest)
    if high < 0:
        return "negative: no time per hop"
    return not_resolved(summary.n) if low <= 0 else None


def _us(time_s: float) -> str:
    """Microseconds with two decimals; what rounds to nothing has no sign."""
    return fixed(round(time_s * 1e6, 2) + 0.0, 2)
