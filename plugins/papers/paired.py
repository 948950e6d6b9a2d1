# SPDX-License-Identifier: Apache-2.0
"""Values of two measurements, paired by block."""

from reports.checks.common import ByBlock
from reports.notation.units import ReadableUnit, between
from reports.show.rows import range_cell
from reports.show.tables import Cell
from reports.statistics.descriptive import LEAST_N, paired_effect


def together(first: ByBlock, second: ByBlock) -> list[tuple[float, float]]:
    """Pairs of values of the same block."""
    return [(first[block], second[block]) for block in sorted(first.keys() & second.keys())]


def ratio_interval_cell(pairs: list[tuple[float, float]]) -> Cell:
    """Where the ratio lies, from the launches' scatter; too few of them tell nothing."""
    if len(pairs) < LEAST_N:
        return Cell("–", title=f"an interval needs {LEAST_N} launches of each, not {len(pairs)}")
    effect = paired_effect(*zip(*pairs, strict=True))
    title = f"{effect.interval.level:.1%} interval of n = {effect.n}: about {effect.ratio:.3f}"
    return Cell(between(effect.interval.low, effect.interval.high, 3), title=title)


def compared_cells(ours: ByBlock, theirs: ByBlock, unit: ReadableUnit) -> list[Cell]:
    """Both, their ratio of each block, and its interval."""
    pairs = together(ours, theirs)
    values = (range_cell(found.values(), unit) for found in (ours, theirs))
    return [*values, range_cell(a / b for a, b in pairs), ratio_interval_cell(pairs)]
