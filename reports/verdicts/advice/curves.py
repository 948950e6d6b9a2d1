# SPDX-License-Identifier: Apache-2.0
"""The time of an application's calls in an environment, from the curves that a run measured.

Between two measured lengths the time is a straight line in the length, as α + β·m is within a
protocol segment. Row 0 of each array is what was measured, the others are resamples of whole
blocks (`prediction.library.Resampled`), their distances from row 0 widened as Student's t asks for
so few blocks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from records.flags import shares_cores
from reports.analysis.run import Analysis, Row, flags_of
from reports.answers import listed
from reports.checks.collectives.measured import CHECK as COLLECTIVES
from reports.checks.collectives.measured import METRIC, points_of, words
from reports.checks.common.blocks import ByBlock, by_block, echo_times, median_by_block, rows_where
from reports.models.collectives import CollectiveModel, fit_collective
from reports.models.collectives_ahead import Ahead
from reports.notation.units import count_text
from reports.show.rows import message_bytes
from reports.statistics.descriptive import Matrix
from reports.verdicts.advice.demand import OPERATIONS, Demand
from reports.verdicts.advice.lengths import (
    ERROR_PER_DOUBLING,
    MOST_BEYOND,
    CallTime,
    LengthCurve,
    NoCurve,
    at_length,
    of_many,
)
from reports.verdicts.prediction.library import SEED, Resampled

MESSAGES, PAIRS, EXCHANGE = "pt2pt", "alltoall_pairs", "streams"

#: From so many messages on a window is a stream: sender and receiver hardly wait for each other.
_STREAM = 8


class EnvironmentCurves:
    """What a run measured of one environment."""

    def __init__(self, analysis: Analysis, environment: str) -> None:
        self.analysis, self.environment = analysis, environment
        self.resampled = Resampled.of(analysis, environment)
        n = len(self.resampled.blocks)
        wide = special.stdtrit(n - 1, 0.95) / special.ndtri(0.95) if n > 1 else 1.0
        self._wider = wide * math.sqrt(n / (n - 1)) if n > 1 else 1.0
        self._ways: dict[str, dict[int, LengthCurve]] = {}
        self._operations: dict[tuple[str, bool, int], tuple[list[Row], dict[int, LengthCurve]]] = {}

    def of(self, demand: Demand, on_node: int, nodes: int) -> CallTime | NoCurve:
        """One call of a demand, of an application with so many ranks a node on so many nodes."""
        if demand.call in OPERATIONS:
            return self._collective(demand, min(on_node, demand.ranks), nodes)
        return self._message(demand, on_node)

    def asks_first(self, demand: Demand) -> bool:
        """Whether the library announces such messages, so that a sender waits for the receiver."""
        echo = self._messages(demand.within).get(0)
        return echo is not None and echo.asks_at(demand.message_bytes)

    def _rows(self, check: str, metric: str, params: Mapping[str, Any], **at: str) -> list[Row]:
        """As `rows_where`, of this environment."""
        rows = rows_where(self.analysis, check, metric, params, **at)
        return [row for row in rows if self.analysis.case(row).environment == self.environment]

    def _medians(self, series: list[ByBlock]) -> Matrix:
        rows = self.resampled.medians(series)
        wider = np.asarray(rows[0] * (rows / rows[0]) ** self._wider)
        wider[0] = rows[0]
        return wider

    def _messages(self, within: bool) -> dict[int, LengthCurve]:
        """A message, by how many pass each way at the same time; 0: it is alone; -1: it is one of a
        stream, whose sender and receiver take as long as each other."""
        place = "within-node" if within else "between-nodes"
        if place not in self._ways:
            times = {0: echo_times(self.analysis, self.environment, placement=place)}
            shortest = times[0][min(times[0])] if times[0] else {}
            params = {"placement": place, "transport": "library", "hops": 0}
            for row in self._rows(EXCHANGE, "window_rate", params):
                case, length = self.analysis.case(row), message_bytes(row)
                window, ways = int(case.params.get("window", 1)), 1
                if row.series.at_value("direction") == "both-ways":
                    key, ways = window, 2
                elif window >= _STREAM:
                    key = -1
                else:
                    continue
                once = times.setdefault(key, {}).setdefault(length, {})
                for block, rate in row.series.by_block().items():
                    whole = ways * length / rate
                    # The answer that ends a window takes as long as the shortest message.
                    answer = min(shortest.get(block, whole), whole / 2)
                    once[block] = (whole - answer / window) * (2 if key == -1 else 1)
            self._ways[place] = {many: self._curve(one) for many, one in times.items() if one}
        return self._ways[place]

    def _curve(self, times: Mapping[int, ByBlock], crowded: bool = False) -> LengthCurve:
        sizes = sorted(times)
        return LengthCurve(
            np.array(sizes, float), self._medians([times[m] for m in sizes]), crowded
        )

    def _message(self, demand: Demand, on_node: int) -> CallTime | NoCurve:
        curves = self._messages(demand.within)
        if not curves:
            where = "within a node" if demand.within else "between nodes"
            return NoCurve(f"messages {where} were not measured", MESSAGES)
        found = of_many(curves, demand)
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
        latencies, bandwidths = (
            self._rows(PAIRS, metric, {"ranks_per_node": on_node})
            for metric in ("pair_latency", "pair_bandwidth")
        )
        if not (latencies and bandwidths):
            return None
        short = int(self.analysis.case(latencies[0]).params.get("latency_bytes", 8))
        long = int(self.analysis.case(bandwidths[0]).params.get("bandwidth_bytes", 2**20))
        rates = median_by_block(bandwidths)
        times = {block: on_node * long / rate for block, rate in rates.items()}
        both = {short: median_by_block(latencies), long: times}
        return self._curve(both, shares_cores(flags_of(bandwidths)))

    def _collective(self, demand: Demand, on_node: int, nodes: int) -> CallTime | NoCurve:
        operation, alone = OPERATIONS[demand.call], demand.within or nodes == 1
        key = operation, alone, 0 if alone else on_node
        if key not in self._operations:
            self._operations[key] = self._of_operation(*key)
        rows, curves = self._operations[key]
        layout = "" if alone or on_node == 1 else f" with {on_node} ranks a node"
        layout += " within a node" if alone else ""
        name = words(operation) + layout
        if not curves:
            return NoCurve(f"{name} was not measured", COLLECTIVES)
        if demand.ranks in curves:
            return at_length(curves[demand.ranks], demand.message_bytes)
        return self._over_ranks(curves, rows, demand, name)

    def _of_operation(
        self, operation: str, alone: bool, on_node: int
    ) -> tuple[list[Row], dict[int, LengthCurve]]:
        """The rows of an operation on one node, or with so many ranks on each of several, and the
        curve of each rank count."""
        at: dict[int, dict[str, list[Row]]] = {}
        for row in self._rows(COLLECTIVES, METRIC, {}, operation=operation):
            case = self.analysis.case(row)
            layout = case.nodes == 1 if alone else case.nodes > 1 and case.ranks_per_node == on_node
            if layout:
                procedure = str(case.params.get("procedure", "each"))
                at.setdefault(case.ranks, {}).setdefault(procedure, []).append(row)
        curves = {p: self._met(by_procedure) for p, by_procedure in at.items()}
        return [row for of in at.values() for row in next(iter(of.values()))], curves

    def _met(self, rows: Mapping[str, list[Row]]) -> LengthCurve:
        """An operation by how its ranks come to it: after a barrier, and from the one before. A
        program's ranks come in neither way: between the two, which is the error."""
        every = [row for some in rows.values() for row in some]
        once, *others = (
            self._curve(by_block(some, message_bytes), shares_cores(flags_of(every)))
            for some in rows.values()
        )
        time_s, spread = once.time_s.copy(), np.zeros(len(once.sizes))
        for other in others:
            _, mine, theirs = np.intersect1d(once.sizes, other.sizes, return_indices=True)
            ratio = other.time_s[:, theirs] / once.time_s[:, mine]
            time_s[:, mine] *= np.sqrt(ratio)
            spread[mine] = np.abs(np.log(ratio[0])) / 2
        return replace(once, time_s=time_s, spread=spread)

    def _over_ranks(
        self, curves: Mapping[int, LengthCurve], rows: list[Row], demand: Demand, name: str
    ) -> CallTime | NoCurve:
        """A rank count that was not measured: by the run's law where there is one, else along a
        straight line in log₂p through the two counts next to it."""
        p, counts = demand.ranks, sorted(curves)
        beyond = max(p / counts[-1], counts[0] / p, 1.0)
        several = listed([*map(str, counts)], most=len(counts))
        known = several if len(counts) > 1 else count_text(counts[0], "rank")
        text = f"{name} on {p} ranks, {known} measured"
        if beyond > MOST_BEYOND or len(counts) < 2:
            return NoCurve(text, COLLECTIVES if beyond <= MOST_BEYOND else "")
        crowded = any(curve.crowded for curve in curves.values())
        model = fit_collective(points_of(self.analysis, rows))
        if isinstance(model, CollectiveModel) and model.best.time_s(demand.message_bytes, p) > 0:
            medians = self._medians([row.series.by_block() for row in rows])
            ahead = Ahead(model, points_of(self.analysis, rows), medians)
            return CallTime(ahead.resampled_s(demand.message_bytes, p, SEED), 0.0, text, crowded)
        place = int(np.clip(np.searchsorted(counts, p), 1, len(counts) - 1))
        low, high = counts[place - 1], counts[place]
        few, many = (at_length(curves[k], demand.message_bytes) for k in (low, high))
        if isinstance(few, NoCurve) or isinstance(many, NoCurve):
            return many
        share = math.log2(p / low) / math.log2(high / low)
        first, second = few.time_s, many.time_s
        time_s = np.maximum(first + share * (second - first), 0.5 * np.minimum(first, second))
        error = math.hypot(many.error, ERROR_PER_DOUBLING * (1 + math.log2(beyond)))
        return CallTime(time_s, error, text, crowded)
