# SPDX-License-Identifier: Apache-2.0
"""Pairs of nodes: matrices of all, but of a large machine."""

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from records.site.pair_scans import PEER, sample_told
from reports.analysis.run import Analysis
from reports.load.launches import Series
from reports.load.loading import PairColumns, columns_of
from reports.notation.units import ReadableUnit, count_text, readable_unit, significant
from reports.show.lines import counted_footer, joined, picture_of
from reports.show.panel import Heat, Panel, Picture, heat_panel, multiples, shares
from reports.show.section import Section

_CHECK = "alltoall_pairs"
METRICS = ("pair_bandwidth", "pair_latency")
#: A pair below this share of the best bandwidth, or above this multiple of the least latency, is
#: outlined (the limits of NVIDIA ClusterKit's pairwise scan).
LEAST_SHARE, GREATEST_MULTIPLE = 0.93, 2.1
#: Pairs of more nodes than this have no number of their own; of more than the second no matrix.
MOST_NAMES, MOST_NODES = 12, 128


@dataclass(frozen=True)
class Seen:
    """The pairs of one case and environment: medians over launches in SI units. `sample` tells
    what was not measured."""

    title: str
    columns: PairColumns
    higher: bool
    sample: str

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """The median of each pair."""
        return np.nanmedian(self.columns.values, axis=1).astype(np.float64)

    @cached_property
    def level(self) -> float:
        """The best pair, that the others are held against."""
        return float(np.max(self.values) if self.higher else np.min(self.values))

    @cached_property
    def bad(self) -> NDArray[np.bool_]:
        """The pairs that are outlined."""
        ratio = self.values / self.level
        return np.asarray(ratio < LEAST_SHARE if self.higher else ratio > GREATEST_MULTIPLE)


def seen(analysis: Analysis, metric: str) -> list[Seen]:
    """The pairs of each case and environment, those in records before those in files."""
    definition = analysis.register.metrics.get(metric)
    if definition is None:
        return []
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
        sample = sample_told(case.nodes, case.params) or ""
        result.append(Seen(title, columns, definition.better == "higher", sample))
    return result


def matrices(analysis: Analysis, metric: str) -> Picture | None:
    """The bandwidth or latency of every pair of nodes, one panel an environment and case."""
    limit = f"below {100 * LEAST_SHARE:.0f} % of the best pair"
    if metric == "pair_latency":
        limit = f"above {GREATEST_MULTIPLE} × the least latency"
    every = [pairs for pairs in seen(analysis, metric) if len(pairs.columns.names) <= MOST_NODES]
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
    names, bad = list(pairs.columns.names), pairs.bad
    low, high = pairs.columns.low, pairs.columns.high
    values = np.full((len(names), len(names)), np.nan)
    values[low, high] = values[high, low] = pairs.values
    cells = {*zip(low[bad].tolist(), high[bad].tolist(), strict=True)}
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
        counted_footer(analysis, [len(pairs.columns.blocks)]),
        heat,
        f"{pairs.title}: {count_text(len(pairs.values), 'pair')} from {significant(least)} to"
        f" {significant(greatest)} {unit.label};"
        f" {count_text(int(bad.sum()), 'pair')} outlined",
    )


SECTION = Section(pictures=[partial(matrices, metric=metric) for metric in METRICS])
