# SPDX-License-Identifier: Apache-2.0
"""Tables of half round trips against hop counts: today's, and those of the hypercubes of 1988."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reports.analysis import Analysis
from reports.checks.hops.measured import HopSeries, hop_series, slope
from reports.notation.units import bytes_text, fixed, level_text
from reports.show.tables import Cell, Column, Table
from reports.studies.hypercubes_1988 import times_by_hops

#: Series beyond these are not shown; the note says so.
MOST_SERIES = 120
#: Lengths of 1988 that stand beside today's.
_LENGTHS_1988 = (8, 1024, 8192)


def hops_table(check: str) -> Callable[[Analysis], Table | None]:
    """The table of a check's times against hop counts."""

    def table(analysis: Analysis) -> Table | None:
        found = hop_series(analysis, check)
        if not found:
            return None
        shown = found[:MOST_SERIES]
        counts = sorted({hops for one in shown for hops in one.times})
        columns = [
            Column("case"),
            Column("environment"),
            Column("message", numeric=True),
            *_hop_columns(counts),
            Column("time per hop, µs", numeric=True),
            Column("its interval, µs", numeric=True),
            Column("blocks", numeric=True),
        ]
        rows = [_row(one, counts) for one in shown]
        return Table(f"table-{check}-hops", "Against hop counts", columns, rows, _NOTE, len(found))

    return table


_NOTE = (
    "Medians over launches. Hops by the topology that the site declares: switches that a message"
    " passes in a tree, links in a torus. Time per hop: the slope of the half round trip over the"
    " hop count inside each block, by least squares; shown is its median over blocks. An interval"
    " that holds 0: not resolved."
)


def hops_1988(check: str) -> Callable[[Analysis], Table | None]:
    """The hypercubes of 1988, where today's times against hop counts are there to compare."""

    def table(analysis: Analysis) -> Table | None:
        if not hop_series(analysis, check):
            return None
        shown = {key: t for key, t in times_by_hops().items() if key[1] in _LENGTHS_1988}
        counts = sorted({hops for times in shown.values() for hops in times})
        rows = [
            [
                Cell(machine),
                Cell(bytes_text(size)),
                *_time_cells(times, counts),
                Cell(fixed(slope(times) * 1e6, 1)),
                Cell(fixed(100 * slope(times) / times[1], 1) + " %"),
            ]
            for (machine, size), times in shown.items()
        ]
        columns = [
            Column("machine"),
            Column("message", numeric=True),
            *_hop_columns(counts),
            Column("time per hop, µs", numeric=True),
            Column("over one hop's time", numeric=True),
        ]
        note = (
            "T. H. Dunigan, ORNL/TM-10881, tables 8 to 11: length over the printed rate. iPSC/1 and"
            " Ncube store and forward each message in every node on the way; the iPSC/2 connects"
            " the ends directly. The slope is that of least squares over all hop counts."
        )
        return Table(f"table-{check}-hops-1988", "Hypercubes of 1988", columns, rows, note)

    return table


def _hop_columns(counts: list[int]) -> list[Column]:
    return [Column(f"{h} hop{'s' if h > 1 else ''}, µs", numeric=True) for h in counts]


def _time_cells(times: Mapping[int, float], counts: list[int], places: int = 1) -> list[Cell]:
    return [
        Cell(fixed(times[h] * 1e6, places), title=f"{times[h]:.9g} s") if h in times else Cell("–")
        for h in counts
    ]


def _row(one: HopSeries, counts: list[int]) -> list[Cell]:
    return [
        Cell(one.title or "all parameters fixed"),
        Cell(one.environment, environment=one.environment, badges=one.flags),
        Cell(bytes_text(one.message_bytes)),
        *_time_cells(one.times, counts, 2),
        *_per_hop_cells(one),
    ]


def _per_hop_cells(one: HopSeries) -> list[Cell]:
    summary = one.per_hop
    if summary is None:
        return [Cell("–", title="no block has two hop counts"), Cell("–"), Cell("0")]
    found = summary.median_interval
    text = "–"
    if found is not None:
        text = f"{_us(found.low)} … {_us(found.high)}"
        if found.low <= 0 <= found.high:
            text += f", not resolved at n = {summary.n}"
    title = f"{level_text(found.level)} by {found.method}" if found else "needs 5 blocks"
    return [
        Cell(_us(summary.median), title=f"{summary.median:.9g} s a hop"),
        Cell(text, title=title),
        Cell(str(summary.n)),
    ]


def _us(time_s: float) -> str:
    """Microseconds with two decimals; what rounds to nothing has no sign."""
    return fixed(round(time_s * 1e6, 2) + 0.0, 2)
