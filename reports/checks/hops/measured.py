# SPDX-License-Identifier: Apache-2.0
"""Times by message length and hop count, and the time per hop, block by block.

t(m, h) = α + β·m + (h − 1)·γ with γ the time per hop [J. J. Dongarra and T. H. Dunigan,
ORNL/TM-13006, 1996]. γ of one block is the slope of its times over the hop counts, by least
squares: launches of one block have met the same state of the machine, and blocks are independent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean, median

from records.flags import OVERSUBSCRIBED
from reports.analysis import Analysis, Row
from reports.checks.point_to_point import JOINED
from reports.statistics.descriptive import Summary, summarise

#: The time that each check takes of a message.
TIMES = {"alltoall_pairs": "pair_latency", "echo": "half_round_trip", "pt2pt": "half_round_trip"}
#: Parameters in which cases of different hop counts may differ.
_FREE = (*JOINED, "hops", "distance")

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
    flags: dict[tuple[str, int, str], dict[str, None]] = {}
    hops = {(row.series.case, row.series.at): row for row in analysis.rows_of(check, "hops")}
    for row in analysis.rows_of(check, TIMES[check]) if hops else ():
        place = row.series.at if check == "alltoall_pairs" else ()
        if (there := hops.get((row.series.case, place))) and _is_plain(row):
            key = _key(analysis, check, row)
            flags.setdefault(key, {}).update(dict.fromkeys(row.flags))
            _add(times.setdefault(key, {}), row, there)
    order = list(analysis.looks)
    keys = sorted(times, key=lambda key: (key[0], key[1], order.index(key[2])))
    return tuple(_series(key, times[key], flags[key]) for key in keys if len(times[key]) > 1)


def _is_plain(row: Row) -> bool:
    return row.series.at_value("construct") in (None, "Send/Recv")


def _key(analysis: Analysis, check: str, row: Row) -> tuple[str, int, str]:
    case = analysis.case(row)
    size = row.series.at_value("message_bytes")
    if size is None:
        size = case.params.get("latency_bytes", 0)
    title = ", ".join(analysis.labels[check].parts(case, _FREE))
    return title, int(size), case.environment


def _add(times: Times, row: Row, hops: Row) -> None:
    """Put each launch of `row` where the launch of the same block lay."""
    lay = dict(zip(hops.series.blocks.tolist(), hops.series.values.tolist(), strict=True))
    for block, time_s in zip(row.series.blocks.tolist(), row.series.values.tolist(), strict=True):
        if block in lay:
            times.setdefault(int(lay[block]), {}).setdefault(block, []).append(time_s)


def _series(key: tuple[str, int, str], times: Times, flags: Mapping[str, None]) -> HopSeries:
    every = {
        hops: [t for found in blocks.values() for t in found] for hops, blocks in times.items()
    }
    slopes = slopes_by_block(times)
    return HopSeries(
        title=key[0],
        environment=key[2],
        message_bytes=key[1],
        times={hops: median(every[hops]) for hops in sorted(every)},
        launches=min(len(blocks) for blocks in times.values()),
        per_hop=summarise(slopes) if slopes else None,
        flags=tuple(flag for flag in flags if flag.startswith(OVERSUBSCRIBED)),
    )


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
