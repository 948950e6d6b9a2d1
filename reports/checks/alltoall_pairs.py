# SPDX-License-Identifier: Apache-2.0
"""Pairs of nodes: matrices of all, but of a large machine; slow pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import NDArray

from records.forms import key
from records.site.pair_scans import PEER, Indices, sample_told
from reports.analysis.run import Analysis
from reports.load.launches import Series
from reports.load.scans import columns_of
from reports.notation.units import ReadableUnit, count_text, percent, readable_unit, significant
from reports.show.lines import counted_footer, joined, picture_of
from reports.show.panel import Heat, Panel, Picture, heat_panel, multiples, shares
from reports.show.section import Section
from reports.show.tables import Table, table_of

_CHECK = "alltoall_pairs"
METRICS = ("pair_bandwidth", "pair_latency")
#: A pair below this share of the best bandwidth, or above this multiple of the least latency, is
#: outlined (the limits of NVIDIA ClusterKit's pairwise scan). Of a large machine, of the median:
#: the best of half a million pairs is luck.
LEAST_SHARE, GREATEST_MULTIPLE = 0.93, 2.1
#: Pairs of more nodes than this have no number of their own.
MOST_NAMES = 12
#: Of more nodes than this there is no matrix, and the median is what pairs are held against.
MOST_NODES = 128
#: Slow pairs that a table lists of each case.
MOST_LISTED = 200


@dataclass(frozen=True)
class Seen:
    """The pairs of one case and environment: medians over `launches` in SI units, by the numbers of
    their nodes; `switches` where they are known. `sample` tells what was not measured."""

    metric: str
    title: str
    launches: int
    names: Sequence[str]
    switches: Sequence[str]
    low: Indices
    high: Indices
    values: NDArray[np.float64]
    higher: bool
    sample: str = ""

    @property
    def is_large(self) -> bool:
        """True where the machine is too large for a matrix of its nodes."""
        return len(self.names) > MOST_NODES

    @cached_property
    def level(self) -> float:
        """Value that pairs are held against: the best, of a large machine the median."""
        best = np.max if self.higher else np.min
        return float(np.median(self.values) if self.is_large else best(self.values))

    @cached_property
    def bad(self) -> NDArray[np.bool_]:
        """The pairs that are outlined."""
        ratio = self.values / self.level
        return np.asarray(ratio < LEAST_SHARE if self.higher else ratio > GREATEST_MULTIPLE)

    @cached_property
    def worst_first(self) -> Indices:
        """The rows of bad pairs, the worst first."""
        rows = np.flatnonzero(self.bad)
        order = np.argsort(self.values[rows], kind="stable")
        return rows[order if self.higher else order[::-1]]

    def pair(self, of: Sequence[str], row: int) -> str:
        """Names or switches of the ends of a pair."""
        return "–".join(of[int(end[row])] for end in (self.low, self.high)) if of else "–"


@lru_cache(maxsize=2)
def seen(analysis: Analysis, metric: str) -> list[Seen]:
    """The pairs of each case and environment, those in records before those in files."""
    definition = analysis.register.metrics.get(metric)
    if definition is None:
        return []
    higher = definition.better == "higher"

    groups: dict[int, list[Series]] = {}
    for row in analysis.rows_of(_CHECK, metric):
        if row.series.at_value(PEER) is not None:
            groups.setdefault(row.series.case, []).append(row.series)
    found = [(case, columns_of(series)) for case, series in groups.items()]
    found += [(s.case, s.columns(metric)) for s in analysis.run.scans if metric in s.metrics]
    result = []
    for position, columns in found:
        case = analysis.run.plan.cases[position]
        title = joined(*analysis.labels[_CHECK].parts(case), case.environment)
        switches = columns.switches if any(columns.switches) else ()
        ends = columns.names, switches, columns.low, columns.high
        values = np.nanmedian(columns.values, axis=1).astype(np.float64)
        sample = sample_told(case.nodes, case.params) or ""
        n = len(columns.blocks)
        result.append(Seen(metric, title, n, *ends, values, higher, sample))
    return result


def matrices(analysis: Analysis, metric: str) -> Picture | None:
    """The bandwidth or latency of every pair of nodes, one panel an environment and case."""
    limit = f"below {100 * LEAST_SHARE:.0f} % of the best pair"
    if metric == "pair_latency":
        limit = f"above {GREATEST_MULTIPLE} × the least latency"
    every = [pairs for pairs in seen(analysis, metric) if not pairs.is_large]
    if not every:
        return None
    unit = readable_unit(analysis.register.metrics[metric].unit, (pairs.level for pairs in every))
    caption = f"Medians over launches in {unit.label}; brighter is better; outlined in red: {limit}"
    caption += " of the panel"
    return picture_of(
        analysis,
        every,
        lambda pairs: _panel(analysis, pairs, unit),
        anchor=f"picture-{metric.replace('_', '-')}",
        title=f"{analysis.register.metric_title(metric).capitalize()}: every pair of nodes",
        caption=". ".join(dict.fromkeys([caption, *(s.sample for s in every if s.sample)])) + ".",
    )


def _panel(analysis: Analysis, pairs: Seen, unit: ReadableUnit) -> Panel:
    """The matrix of one case and environment, bad pairs outlined."""
    names, bad = list(pairs.names), pairs.bad
    values = np.full((len(names), len(names)), np.nan)
    values[pairs.low, pairs.high] = values[pairs.high, pairs.low] = pairs.values
    cells = {*zip(pairs.low[bad].tolist(), pairs.high[bad].tolist(), strict=True)}
    known = np.argwhere(np.isfinite(values)).tolist() if len(names) <= MOST_NAMES else []
    scale = shares("the best pair") if pairs.higher else multiples("the least latency")
    heat = Heat(
        names,
        names,
        values / pairs.level,
        scale,
        {(i, j): significant(values[i, j] / unit.factor) for i, j in known},
        sorted(cells | {(j, i) for i, j in cells}),
    )
    least, greatest = pairs.values.min() / unit.factor, pairs.values.max() / unit.factor
    return heat_panel(
        pairs.title,
        counted_footer(analysis, [pairs.launches]),
        heat,
        f"{pairs.title}: {count_text(len(pairs.values), 'pair')} from {significant(least)} to"
        f" {significant(greatest)} {unit.label};"
        f" {count_text(int(bad.sum()), 'pair')} outlined",
    )


class SlowPair(msgspec.Struct, frozen=True):
    """An outlined pair, a row of a table."""

    case: Annotated[str, key("Case and environment.", "case")]
    metric: Annotated[str, key("Metric, as it is called.", "metric")]
    pair: Annotated[str, key("Names of its ends.", "pair")]
    switches: Annotated[str, key("Switches of its ends.", "switches")]
    share: Annotated[float, key("Value over the level.", "of the level", percent, numeric=True)]


def slow_pairs_table(analysis: Analysis) -> Table | None:
    """Pairs that are outlined, the worst first."""
    return table_of(
        (
            SlowPair(
                pairs.title,
                analysis.register.metric_title(metric),
                pairs.pair(pairs.names, row),
                pairs.pair(pairs.switches, row),
                float(pairs.values[row] / pairs.level),
            )
            for metric in METRICS
            for pairs in seen(analysis, metric)
            for row in pairs.worst_first[:MOST_LISTED].tolist()
        ),
        anchor="table-slow-pairs",
        title="Slow pairs",
        note="Held against the best pair, of a large machine against the median; which node, link"
        " or cut explains them says `assay accept`. Of scans in files every value is in the Parquet"
        " files of the run's folder points.",
        most=len(METRICS) * MOST_LISTED,
    )


SECTION = Section(
    pictures=[partial(matrices, metric=metric) for metric in METRICS],
    tables=(slow_pairs_table,),
)
