# SPDX-License-Identifier: Apache-2.0
"""The time of an application's calls in an environment, from the curves that a run measured.

Between two measured lengths the time is a straight line in the length, as α + β·m is within a
protocol segment. Row 0 of each array is what was measured, the others are resamples of whole
blocks (`prediction.library.Resampled`), their distances from row 0 widened as Student's t asks for
so few blocks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from records.flags import shares_cores
from reports.analysis.run import Analysis, Row, flags_of
from reports.checks.collectives.measured import CHECK as COLLECTIVES
from reports.checks.collectives.measured import METRIC, points_of
from reports.checks.common.blocks import ByBlock, by_block, echo_times, median_by_block, rows_where
from reports.models.collectives import CollectiveModel, fit_collective
from reports.models.collectives_ahead import Ahead
from reports.notation.units import bytes_text, count_text
from reports.show.rows import message_bytes
from reports.statistics.descriptive import Matrix, Vector
from reports.verdicts.advice.demand import OPERATIONS, Demand
from reports.verdicts.prediction.library import SEED, Resampled

MESSAGES, PAIRS, EXCHANGE = "pt2pt", "alltoall_pairs", "streams"
#: Calls whose messages mostly pass both ways at once, as a halo's do.
_BOTH_WAYS = (
    *("Isend", "Ibsend", "Issend", "Irsend", "Irecv", "Imrecv", "Start", "Startall"),
    *("Sendrecv", "Sendrecv_replace"),
)
#: Beyond so many times the greatest measured length or rank count there is no curve, …
MOST_BEYOND = 8.0
#: … and up to there each doubling adds this relative error [choice].
ERROR_PER_DOUBLING = 0.1
#: Up to here a time counts as measured: a length between the last ones and the rounding of bins.
_BARELY = 1.05


@dataclass(frozen=True, slots=True)
class NoCurve:
    """Why a call has no time, and the check that measures it."""

    why: str
    check: str


@dataclass(frozen=True, eq=False, slots=True)
class CallTime:
    """One call in s, by resample. `error` is the relative error of what was not measured there;
    `beyond` says what of it was not measured, `crowded` that ranks shared cores."""

    time_s: Vector
    error: float = 0.0
    beyond: str = ""
    crowded: bool = False


@dataclass(frozen=True, eq=False)
class LengthCurve:
    """Times by ascending message length, shape (resamples, lengths)."""

    sizes: Vector
    time_s: Matrix
    crowded: bool = False

    def at(self, length: float) -> tuple[Vector, float]:
        """The time at a length, and how many times beyond the greatest length that is; shorter than
        the least the line of the first two goes on, to half of the least time at most."""
        time_s, sizes = self.time_s, self.sizes
        if len(sizes) == 1:
            beyond = max(1.0, length / max(1.0, float(sizes[0])))  # a barrier has no bytes
            return time_s[:, 0] * beyond, beyond
        place = int(np.clip(np.searchsorted(sizes, length), 1, len(sizes) - 1))
        low, high = time_s[:, place - 1], time_s[:, place]
        share = (length - sizes[place - 1]) / (sizes[place] - sizes[place - 1])
        if share > 1:
            high = np.maximum(high, low)
        found = low + share * (high - low)
        return np.maximum(found, 0.5 * low), max(1.0, length / float(sizes[-1]))


class EnvironmentCurves:
    """What a run measured of one environment."""

    def __init__(self, analysis: Analysis, environment: str) -> None:
        self.analysis, self.environment = analysis, environment
        mine = [
            row.series for row in analysis.rows if analysis.case(row).environment == environment
        ]
        blocks = sorted({int(block) for one in mine for block in one.blocks})
        self.resampled = Resampled(tuple(blocks))
        n = len(blocks)
        wide = special.stdtrit(n - 1, 0.95) / special.ndtri(0.95) if n > 1 else 1.0
        self._wider = wide * math.sqrt(n / (n - 1)) if n > 1 else 1.0
        self._ways: dict[tuple[bool, bool], LengthCurve | None] = {}
        self._operations: dict[tuple[str, bool, int], tuple[list[Row], dict[int, LengthCurve]]] = {}

    def of(self, demand: Demand, on_node: int, nodes: int) -> CallTime | NoCurve:
        """One call of a demand, of an application with so many ranks a node on so many nodes."""
        if demand.call in OPERATIONS:
            return self._collective(demand, min(on_node, demand.ranks), nodes)
        return self._message(demand, on_node)

    def _medians(self, series: list[ByBlock]) -> Matrix:
        rows = self.resampled.medians(series)
        wider = np.asarray(rows[0] * (rows / rows[0]) ** self._wider)
        wider[0] = rows[0]
        return wider

    def _way(self, within: bool, both_ways: bool) -> LengthCurve | None:
        """A message alone, or one of two that pass both ways at once; None: not measured."""
        if (within, both_ways) not in self._ways:
            place = "within-node" if within else "between-nodes"
            measured = self._exchange_times if both_ways else self._echo_times
            times = measured(place)
            self._ways[within, both_ways] = self._curve(times) if times else None
        return self._ways[within, both_ways]

    def _echo_times(self, place: str) -> dict[int, ByBlock]:
        return echo_times(self.analysis, self.environment, placement=place)

    def _exchange_times(self, place: str) -> dict[int, ByBlock]:
        """Of windows of one message, less the answer that ends them: as long as the shortest."""
        params = {"placement": place, "window": 1, "transport": "library", "hops": 0}
        rows = rows_where(self.analysis, EXCHANGE, "window_rate", params, direction="both-ways")
        own = (row for row in rows if self.analysis.case(row).environment == self.environment)
        rates = by_block(own, message_bytes)
        least = min(rates, default=0)
        answer = {block: least / rate for block, rate in rates.get(least, {}).items()}
        return {
            size: {
                block: max(answer[block], 2 * size / rate - answer[block])
                for block, rate in values.items()
                if block in answer
            }
            for size, values in rates.items()
        }

    def _curve(self, times: Mapping[int, ByBlock], crowded: bool = False) -> LengthCurve:
        sizes = sorted(times)
        return LengthCurve(
            np.array(sizes, float), self._medians([times[m] for m in sizes]), crowded
        )

    def _message(self, demand: Demand, on_node: int) -> CallTime | NoCurve:
        both_ways = demand.call in _BOTH_WAYS
        curve = self._way(demand.within, both_ways) or self._way(demand.within, not both_ways)
        if curve is None:
            where = "within a node" if demand.within else "between nodes"
            return NoCurve(f"messages {where} were not measured", MESSAGES)
        found = _at_length(curve, demand.message_bytes)
        if demand.within or on_node == 1 or isinstance(found, NoCurve):
            return found
        alone, together = self._pairs(1), self._pairs(on_node)
        if alone is None or together is None:
            return NoCurve(f"messages of {on_node} ranks a node at once were not measured", PAIRS)
        factor = together.at(demand.message_bytes)[0] / alone.at(demand.message_bytes)[0]
        crowded = found.crowded or together.crowded
        return replace(found, time_s=found.time_s * factor, crowded=crowded)

    def _pairs(self, on_node: int) -> LengthCurve | None:
        """A message of each of so many ranks a node at once: two lengths of the check
        alltoall_pairs, medians over its pairs."""
        found = {}
        for metric in ("pair_latency", "pair_bandwidth"):
            rows = [
                row
                for row in rows_where(self.analysis, PAIRS, metric, {"ranks_per_node": on_node})
                if self.analysis.case(row).environment == self.environment
            ]
            if not rows:
                return None
            params = self.analysis.case(rows[0]).params
            values = median_by_block(rows)
            if metric == "pair_latency":
                found[int(params.get("latency_bytes", 8))] = values
            else:
                length = int(params.get("bandwidth_bytes", 2**20))
                found[length] = {block: on_node * length / rate for block, rate in values.items()}
        return self._curve(found, shares_cores(flags_of(rows)))

    def _collective(self, demand: Demand, on_node: int, nodes: int) -> CallTime | NoCurve:
        operation, alone = OPERATIONS[demand.call], demand.within or nodes == 1
        key = operation, alone, 0 if alone else on_node
        if key not in self._operations:
            self._operations[key] = self._of_operation(*key)
        rows, curves = self._operations[key]
        layout = "" if alone or on_node == 1 else f" with {on_node} ranks a node"
        layout += " within a node" if alone else ""
        name = operation.replace("_", " ") + layout
        if not curves:
            return NoCurve(f"{name} was not measured", COLLECTIVES)
        if demand.ranks in curves:
            return _at_length(curves[demand.ranks], demand.message_bytes)
        return self._over_ranks(curves, rows, demand, name)

    def _of_operation(
        self, operation: str, alone: bool, on_node: int
    ) -> tuple[list[Row], dict[int, LengthCurve]]:
        """The rows of an operation on one node, or with so many ranks on each of several, and the
        curve of each rank count."""
        at: dict[int, list[Row]] = {}
        for row in rows_where(self.analysis, COLLECTIVES, METRIC, {}, operation=operation):
            case = self.analysis.case(row)
            layout = case.nodes == 1 if alone else case.nodes > 1 and case.ranks_per_node == on_node
            if case.environment == self.environment and layout:
                at.setdefault(case.ranks, []).append(row)
        curves = {
            p: self._curve(by_block(rows, message_bytes), shares_cores(flags_of(rows)))
            for p, rows in at.items()
        }
        return [row for rows in at.values() for row in rows], curves

    def _over_ranks(
        self, curves: Mapping[int, LengthCurve], rows: list[Row], demand: Demand, name: str
    ) -> CallTime | NoCurve:
        """A rank count that was not measured: by the run's law where there is one, else along a
        straight line in log₂p through the two counts next to it."""
        p, counts = demand.ranks, sorted(curves)
        beyond = max(p / counts[-1], counts[0] / p, 1.0)
        text = f"{name} on {p} ranks, {_counts(counts)} measured"
        if beyond > MOST_BEYOND or len(counts) < 2:
            return NoCurve(text, COLLECTIVES)
        crowded = any(curve.crowded for curve in curves.values())
        model = fit_collective(points_of(self.analysis, rows))
        if isinstance(model, CollectiveModel) and model.best.time_s(demand.message_bytes, p) > 0:
            medians = self._medians([row.series.by_block() for row in rows])
            ahead = Ahead(model, points_of(self.analysis, rows), medians)
            drawn = ahead.drawn_s(demand.message_bytes, p, np.random.default_rng([SEED, p]))
            drawn[0] = model.best.time_s(demand.message_bytes, p)
            return CallTime(drawn, 0.0, text, crowded)
        place = int(np.clip(np.searchsorted(counts, p), 1, len(counts) - 1))
        low, high = counts[place - 1], counts[place]
        (first, _), (second, far) = (curves[k].at(demand.message_bytes) for k in (low, high))
        if far > MOST_BEYOND:
            return _too_long(curves[high], demand.message_bytes)
        share = math.log2(p / low) / math.log2(high / low)
        time_s = np.maximum(first + share * (second - first), 0.5 * np.minimum(first, second))
        error = ERROR_PER_DOUBLING * (1 + math.log2(beyond * far))
        return CallTime(time_s, error, text, crowded)


def _at_length(curve: LengthCurve, length: float) -> CallTime | NoCurve:
    """The time of a measured curve, with what its extrapolation adds."""
    time_s, beyond = curve.at(length)
    if beyond > MOST_BEYOND:
        return _too_long(curve, length)
    if beyond <= _BARELY:
        return CallTime(time_s, crowded=curve.crowded)
    text = f"messages of {bytes_text(round(length))}, {bytes_text(curve.sizes[-1])} measured"
    return CallTime(time_s, ERROR_PER_DOUBLING * math.log2(beyond), text, curve.crowded)


def _too_long(curve: LengthCurve, length: float) -> NoCurve:
    longest = bytes_text(curve.sizes[-1])
    return NoCurve(
        f"messages of {bytes_text(round(length))}; the longest measured has {longest}", ""
    )


def _counts(counts: Iterable[int]) -> str:
    every = [*counts]
    return (
        f"{', '.join(map(str, every[:-1]))} and {every[-1]}"
        if every[1:]
        else count_text(every[0], "rank")
    )
