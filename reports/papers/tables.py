# SPDX-License-Identifier: Apache-2.0
"""Printed tables with a run's values beside them, and their ratio."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from records.flags import shares_cores
from records.units import unit_of
from reports.notation.units import ReadableUnit, count_text, fixed, readable_unit, three_digits
from reports.papers.beside import SHARED, SHARED_MEANS, Beside, of_variant
from reports.papers.matching import Point, plain_value, why_absent, why_nothing
from reports.show.rows import environments, value_cell
from reports.show.tables import Cell, Column, Table

#: A smaller value in the unit of its table is written in its own.
FAINT = 0.002
#: Of a longer table the points that were measured stand by themselves before it.
LONG = 100


def tables_of(found: Sequence[Beside], anchor: str) -> list[Table]:
    """A printed table as tables: machines in rows where it has no keys, else one a quantity."""
    if not found[0].table.keys:
        return [_machines(found, anchor)]
    notes = [found[0].table.note, *[""] * len(found)]
    return [
        table
        for number, one in enumerate(found)
        for table in _with_measured(one, f"{anchor}-{number}", notes[number])
    ]


def _with_measured(one: Beside, anchor: str, note: str) -> list[Table]:
    """A quantity's table, and before a long one what was measured at its points."""
    both = [point for point in one.points if point in one.printed.values]
    points = one.points if one.table.further else both
    measured = [point for point in both if point in one.now]
    if len(points) <= LONG or not measured:
        return [_points(one, points, anchor, note)]
    short = _points(one, measured, f"{anchor}-measured", note)
    whole = _points(one, points, anchor, "")
    return [
        replace(short, title=f"{short.title}: the points that were measured"),
        replace(whole, title=f"{whole.title}: all points", note=""),
    ]


def _points(one: Beside, points: Sequence[Point], anchor: str, note: str) -> Table:
    """A line a point: what stood across then, what each environment has now, and their ratio."""
    numbers = [all(_is_number(text) for text in texts) for texts in zip(*points, strict=True)]
    columns = [
        Column(item.title, numeric=numeric)
        for item, numeric in zip(one.table.keys, numbers, strict=True)
    ]
    columns += [Column(f"{name} then".strip(), numeric=True) for name in one.across]
    for name in one.environments:
        columns += [Column("now", numeric=True, environment=name), Column("now ÷ then", True)]
    words = [{plain_value(v): k for k, v in item.today.items() if k} for item in one.table.keys]
    rows = []
    for point in points:
        told = zip(words, point, strict=True)
        texts = (printed.get(text, text) for printed, text in told)
        cells = [Cell(one.study.words.get(text, text)) for text in texts]
        cells += [_then_cell(one, point, name) for name in one.across]
        for name in one.environments:
            cells += _now_cells(one, point, name)
        rows.append(cells)
    title = f"{one.table.number}: {one.column.title}"
    unit = f", {one.unit.label}" if one.unit.label else ""
    below = " ".join(filter(None, [_note(one), _shared([one]), note]))
    return Table(anchor, f"{title}{unit}", columns, rows, below, len(rows))


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdecimal()


def _then_cell(one: Beside, point: Point, name: str) -> Cell:
    value = one.si(point, name)
    if value is None:
        return Cell("")
    printed = one.texts.get(point, {}).get(name)
    if printed is None:
        return Cell(_calculated(one, value), title=f"by what is printed; {one.column.were}")
    scale = one.column.factor / one.unit.factor
    text = as_printed(printed[0], scale)
    if printed[1]:
        text += f" ± {as_printed(printed[1], scale)}"
    text += "".join(map(mark_of, one.marks.get(point, {}).get(name, ())))
    return Cell(text, title=f"printed: {printed[0]}; {one.column.were}")


def _calculated(one: Beside, value: float) -> str:
    """Of a closed form or a quotient alone three digits; of what steps calculate four."""
    scaled = value / one.unit.factor
    if one.table.law or not one.column.steps:
        return three_digits(scaled)
    return fixed(scaled, max(0, 3 - math.floor(math.log10(abs(scaled))))) if scaled else "0"


def mark_of(place: int) -> str:
    """What stands at a doubtful value: the place of what is said of it."""
    return f" [{place}]"


def as_printed(text: str, scale: float) -> str:
    """A printed number times a scale, with as many digits as are printed."""
    digits = len(text.lstrip("-0.").replace(".", ""))
    value = float(text) * scale
    if not value:
        return text
    return fixed(value, max(0, digits - 1 - math.floor(math.log10(abs(value)))))


def _now_cells(one: Beside, point: Point, name: str) -> list[Cell]:
    if why := one.without.get(point, {}).get(name):
        return [Cell("–", title=why, badges=(why,)), Cell("")]
    row = one.now.get(point, {}).get(name)
    if row is None:
        return [Cell(""), Cell("")]
    reference = one.reference(point, name)
    known = reference is not None and reference > 0 and row.summary.mean > 0
    ratio = three_digits(row.summary.mean / reference) if reference and known else ""
    unit = own_unit(one, row.summary.mean)
    cell = value_cell([row], unit, label=unit != one.unit)
    if shares_cores(row.flags):
        cell = replace(cell, text=f"{cell.text} {SHARED}")
    return [cell, Cell(ratio)]


def own_unit(one: Beside, value: float) -> ReadableUnit:
    """The table's unit, or a smaller one, if there is any, for a value that is small in it."""
    small = 0 < abs(value) < FAINT * one.unit.factor
    several = len(unit_of(one.column.unit).steps) > 1
    return readable_unit(one.column.unit, [value]) if small and several else one.unit


def _note(one: Beside) -> str:
    parts = [f"Then: {one.column.were}."]
    if one.column.without:
        parts.append(f"Nothing of the run stands beside it: {one.column.without}.")
    elif not one.environments:
        why = why_nothing(one.analysis, one.column.ours) if one.column.ours else ""
        parts.append(f"This run did not measure it{f': {why}' if why else ''}.")
    else:
        counts = [row.summary.n for by in one.now.values() for row in by.values()]
        least = f", at least {count_text(min(counts), 'launch', 'launches')}" if counts else ""
        parts.append(f"Now: mean ± s of launches (of rates the arithmetic mean){least}.")
        both = sum(point in one.now for point in one.printed.values)
        if both:
            held = "the same library's" if one.table.libraries else "the best machine's"
            parts.append(f"The ratio is to {held} value of then.")
        were = "was" if both == 1 else "were"
        parts.append(f"{both} of {len(one.printed.values)} points of then {were} measured.")
        why = why_absent(one.analysis, one.column.ours) if one.column.ours else ""
        if why and both < len(one.printed.values):
            parts.append(f"Of the cases that do not fit, the first: {why}.")
    return " ".join(parts)


def _shared(found: Sequence[Beside]) -> str:
    """What the mark of values says; "" where none has it."""
    rows = (row for one in found for by in one.now.values() for row in by.values())
    return SHARED_MEANS if any(shares_cores(row.flags) for row in rows) else ""


def _machines(found: Sequence[Beside], anchor: str) -> Table:
    """A line a machine of then, and a line an environment of now, for each kind of rows."""
    table, analysis = found[0].table, found[0].analysis
    columns = [Column(table.stands)]
    columns += [Column(_heading(one), numeric=True) for one in found]
    rows = [
        [Cell(name), *(_then_cell(one, (), name) for one in found)]
        for name in dict.fromkeys(name for one in found for name in one.across)
    ]
    begun = len(rows)
    lacking: list[str] = []
    kinds = [("", found)] if not table.variants else []
    kinds += [(kind.title, of_variant(found, kind)) for kind in table.variants]
    marked = ""
    for title, own in kinds:
        marked = marked or _shared(own)
        if title and not any(one.environments for one in own):
            lacking.append(_lacking(title, own))
        for name in environments(analysis, (n for one in own for n in one.environments)):
            cells = (_now_cells(one, (), name)[0] for one in own)
            badges = (title,) if title else ()
            rows.append([Cell(name, environment=name, badges=badges), *cells])
    notes = _together("", ((one.column.title, one.column.were) for one in found))
    lacks = ((one.column.title, one.column.without) for one in found if one.column.without)
    notes += _together(" of today", lacks)
    now = "Below: this cluster, mean ± s of launches (of rates the arithmetic mean)"
    below = [now] if begun < len(rows) else []
    note = ". ".join([*notes, *below, *lacking]) + "."
    groups = frozenset({begun}) if begun < len(rows) else frozenset()
    return Table(
        anchor,
        f"{table.number}: then{' and now' if begun < len(rows) else ''}",
        columns,
        rows,
        " ".join(filter(None, [note, marked, table.note])),
        len(rows),
        groups,
    )


def _together(of: str, told: Iterable[tuple[str, str]]) -> list[str]:
    """What is told of columns, once where it is the same of several."""
    titles: dict[str, list[str]] = {}
    for title, text in told:
        titles.setdefault(text, []).append(title)
    return [f"{' and '.join(names)}{of}: {text}" for text, names in titles.items()]


def _lacking(title: str, own: Sequence[Beside]) -> str:
    """That no row is of this kind, and why."""
    asked = [one.column.ours for one in own if one.column.ours]
    why = next((why for one in asked if (why := why_nothing(own[0].analysis, one))), "")
    return f"No row {title!r}: this run did not measure it{f' ({why})' if why else ''}"


def _heading(one: Beside) -> str:
    return f"{one.column.title}, {one.unit.label}" if one.unit.label else one.column.title
