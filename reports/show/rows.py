# SPDX-License-Identifier: Apache-2.0
"""The rows of an analysis in words and cells: order, labels, points, environments, statistics."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from heapq import nsmallest
from typing import Any

import msgspec

from records.flags import BEYOND_LIMIT
from records.run.provenance import Provenance
from records.site.node_facts import facts_by_value, value_text
from records.units import axis_of
from reports.analysis.run import Analysis, Row
from reports.notation import units
from reports.notation.labels import point_text, shortened
from reports.notation.units import PLAIN, summary_text, with_range, with_spread
from reports.show.tables import Cell, Column, Value, across


def message_bytes(row: Row) -> int:
    """The message length of a row's point; 0 for a point without one."""
    return int(row.series.at_value("message_bytes") or 0)


def environments(analysis: Analysis, names: Iterable[str]) -> list[str]:
    """Each name once, in the order of the plan."""
    known = set(names)
    return [name for name in analysis.looks if name in known]


def measured_in(analysis: Analysis, rows: Iterable[Row]) -> list[str]:
    """The environments that the rows are of."""
    return environments(analysis, (analysis.case(row).environment for row in rows))


def name_cell(environment: str, flags: Iterable[str] = ()) -> Cell:
    """An environment's name with its sign, and what marks its launches."""
    return Cell(environment, environment=environment, badges=tuple(flags))


def side_by_side(
    analysis: Analysis, rows: Iterable[Row], cell: Callable[[list[Row]], Cell | str]
) -> Value[Row]:
    """Columns of `pivot`: one for each environment that the rows are of."""
    return across(
        measured_in(analysis, rows),
        lambda row: analysis.case(row).environment,
        cell,
        lambda name: Column("", numeric=True, environment=name),
    )


def value_cell(
    rows: Sequence[Row], unit: units.ReadableUnit = PLAIN, *, label: bool = False
) -> Cell:
    """Mean ± s of the first row, with the unit if `label`; the title has the rest."""
    if not rows:
        return Cell("–", title="no valid launch")
    row = rows[0]
    text = with_spread(row.summary.mean, row.summary.stddev, unit)
    title = "; ".join([summary_text(row.summary, row.unit), *row.flags])
    badges = tuple(flag for flag in row.flags if flag.startswith(BEYOND_LIMIT))
    return Cell(f"{text} {unit.label}" if label else text, title=title, badges=badges)


def range_cell(values: Iterable[float], unit: units.ReadableUnit = PLAIN) -> Cell:
    """Median (least … greatest) of launches; the title tells n."""
    every = list(values)
    if not every:
        return Cell("–", title="not measured")
    return Cell(with_range(every, unit), title=f"median of n = {len(every)}")


def row_label(analysis: Analysis, row: Row) -> str:
    """Case and point in words."""
    case = analysis.case(row)
    labels = analysis.labels[case.check]
    words: list[str] = []
    lengths: list[str] = []
    for name, value in row.series.at:
        (lengths if axis_of(name).unit else words).append(point_text(name, value))
    point = [" ".join(part) for part in [(*words[-1:], *lengths)] if part]
    if not point:
        return labels.name(case)
    return ", ".join([*words[:-1], *point, *labels.parts(case)])


def in_reading_order(analysis: Analysis, rows: Sequence[Row], most: int | None = None) -> list[Row]:
    """By ranks and parameters, then by point, then by environment; the first `most` or all."""
    names = {name: index for index, name in enumerate(analysis.looks)}
    places, cases = _case_places(analysis), analysis.run.plan.cases
    points = {row.series.at for row in rows}
    orders = {at: tuple(_sortable(value) for _, value in at) for at in points}

    def key(row: Row) -> tuple[object, ...]:
        case, at = row.series.case, orders[row.series.at]
        return places[case], at, names[cases[case].environment]

    return sorted(rows, key=key) if most is None else nsmallest(most, rows, key=key)


@lru_cache(maxsize=2)
def _case_places(analysis: Analysis) -> list[int]:
    """Each case's place by ranks and varying parameters; in all environments the same."""
    orders = [
        (
            case.check,
            case.ranks,
            *(_sortable(case.params.get(name)) for name in analysis.labels[case.check].varying),
        )
        for case in analysis.run.plan.cases
    ]
    places = {order: index for index, order in enumerate(sorted(set(orders)))}
    return [places[order] for order in orders]


def _sortable(value: object) -> tuple[float, str]:
    return (value, "") if isinstance(value, int | float) else (0.0, str(value))


def provenance_rows(provenance: Provenance) -> list[tuple[str, list[tuple[str, str]]]]:
    """Provenance as sections of (key, text); nested objects become dotted keys.

    Of nodes each fact is listed once, with the nodes of each value where they are not alike.
    """
    plain: list[tuple[str, str]] = []
    sections = []
    for name, value in msgspec.to_builtins(provenance).items():
        if name == "nodes":
            facts = facts_by_value(provenance.nodes)
            sections.append(
                (name, [(fact, value_text(by_value)) for fact, by_value in facts.items()])
            )
        elif isinstance(value, Mapping):
            sections.append((name, list(_flat(value.items(), ""))))
        else:
            plain.append((name, _text(value)))
    return [("run", plain), *sections]


def _flat(items: Iterable[tuple[Any, Any]], prefix: str) -> Iterator[tuple[str, str]]:
    for key, value in items:
        name = f"{prefix}{key}"
        if isinstance(value, Mapping) and value and "hash" not in value:
            yield from _flat(value.items(), f"{name}.")
        else:
            yield name, _text(value)


def _text(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if isinstance(value, list):
        return ", ".join(map(_text, value)) or "none"
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {_text(item)}" for key, item in value.items()) or "none"
    return shortened(str(value), 2000)
