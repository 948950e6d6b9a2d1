# SPDX-License-Identifier: Apache-2.0
"""Printed tables with a run's values and their ratio."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from plugins.papers.beside import Beside, by_variant
from plugins.papers.fields import Point, plain_value
from plugins.papers.run_values import NO_LIBRARY
from records.flags import MEANINGS, OVERSUBSCRIBED, shares_cores
from records.units import unit_of
from reports.notation.units import ReadableUnit, count_text, fixed, readable_unit, significant
from reports.show.lines import joined
from reports.show.rows import environments, value_cell
from reports.show.tables import Cell, Column, Table

#: A smaller value in the unit of its table is written in its own.
FAINT = 0.002
#: A longer table is preceded by one of the points that were measured.
LONG = 100
#: Marks what rests on launches that shared cores, and what the mark means.
SHARED = "*"
SHARED_MEANS = f"{SHARED} {OVERSUBSCRIBED}: {MEANINGS[OVERSUBSCRIBED]}."


def tables_of(found: Sequence[Beside], anchor: str) -> list[Table]:
    """A printed table as tables: machines in rows where it has no keys, else one a quantity."""
    if not found[0].keys:
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
    """A line a point: the printed values, what each environment has now, and their ratio."""
    numbers = [
        all(text.replace(".", "", 1).isdecimal() for text in texts)
        for texts in zip(*points, strict=True)
    ]
    words = [{plain_value(v): k for k, v in item.today.items() if k} for item in one.keys]
    columns = [Column(item.title, numbers[place]) for place, item in enumerate(one.keys)]
    columns += [Column(f"{name} then".strip(), numeric=True) for name in one.across]
    for name in one.environments:
        now = Column("now", numeric=True, environment=name)
        if one.label(name) != name:
            now = Column(f"{one.label(name)} now", numeric=True)
        columns += [now, Column("now ÷ then", True)]
    rows = []
    for point in points:
        texts = (word.get(text, text) for word, text in zip(words, point, strict=True))
        cells = [Cell(one.study.words.get(text, text)) for text in texts]
        cells += [_then_cell(one, point, name) for name in one.across]
        cells += [cell for name in one.environments for cell in _now_cells(one, point, name)]
        rows.append(cells)
    below = " ".join(filter(None, [_note(one), _shared([one]), note]))
    title = f"{one.table.number}: {joined(one.column.title, one.unit.label)}"
    return Table(anchor, title, columns, rows, below, len(rows))


def _then_cell(one: Beside, point: Point, name: str) -> Cell:
    value = one.si(point, name)
    if value is None:
        return Cell("")
    printed = one.in_print.get(point, {}).get(name)
    if printed is None:
        return Cell(_calculated(one, value), title=f"by what is printed; {one.column.were}")
    scale = one.column.factor / one.unit.factor
    text = as_printed(printed.text, scale)
    if printed.spread:
        text += f" ± {as_printed(printed.spread, scale)}"
    text += "".join(map(mark_of, printed.doubts))
    return Cell(text, title=f"printed: {printed.text}; {one.column.were}")


def _calculated(one: Beside, value: float) -> str:
    """Of a law three digits; of what is calculated from several values four."""
    scaled = value / one.unit.factor
    if one.is_by_law:
        return significant(scaled)
    return fixed(scaled, max(0, 3 - math.floor(math.log10(abs(scaled))))) if scaled else "0"


def mark_of(place: int) -> str:
    """Mark of a doubtful value: the number of its remark."""
    return f" [{place}]"


def as_printed(text: str, scale: float) -> str:
    """A printed number times a scale, with as many digits as are printed."""
    digits = len(text.lstrip("-0.").replace(".", ""))
    value = float(text) * scale
    if not value:
        return text
    return fixed(value, max(0, digits - 1 - math.floor(math.log10(abs(value)))))


def _now_cells(one: Beside, point: Point, name: str) -> list[Cell]:
    row = one.measured.get(point, {}).get(name)
    if row is None:
        return [Cell(""), Cell("")]
    if why := one.no_number(row):
        return [Cell("–", title=why, badges=(why,)), Cell("")]
    reference = one.reference(point, name)
    known = reference is not None and reference > 0 and row.summary.mean > 0
    ratio = significant(row.summary.mean / reference) if reference and known else ""
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
        why = one.why_nothing()
        parts.append(f"This run did not measure it{f': {why}' if why else ''}.")
    else:
        counts = [row.summary.n for by in one.now.values() for row in by.values()]
        least = f", at least {count_text(min(counts), 'launch')}" if counts else ""
        parts.append(f"Now: mean ± s of launches (of rates the arithmetic mean){least}.")
        both = sum(point in one.now for point in one.printed.values)
        if both:
            held = "the same library's" if one.table.libraries else "the best machine's"
            parts.append(f"The ratio is to {held} value of then.")
        were = "was" if both == 1 else "were"
        parts.append(f"{both} of {len(one.printed.values)} points of then {were} measured.")
        why = one.requests[0].why_absent() if both < len(one.printed.values) else ""
        if why:
            parts.append(f"Of the cases that do not fit, the first: {why}.")
    return " ".join(parts)


def _shared(found: Sequence[Beside]) -> str:
    """Meaning of the mark of shared cores; "" where no value has it."""
    rows = (row for one in found for by in one.now.values() for row in by.values())
    return SHARED_MEANS if any(shares_cores(row.flags) for row in rows) else ""


def _machines(found: Sequence[Beside], anchor: str) -> Table:
    """A line a machine of then, and a line an environment of now, for each kind of rows."""
    table, analysis = found[0].table, found[0].analysis
    titles = [joined(one.column.title, one.unit.label) for one in found]
    columns = [Column(table.stands), *(Column(title, numeric=True) for title in titles)]
    rows = [
        [Cell(name), *(_then_cell(one, (), name) for one in found)]
        for name in dict.fromkeys(name for one in found for name in one.across)
    ]
    begun, lacking, marked = len(rows), [], ""
    for title, own in by_variant(found):
        marked = marked or _shared(own)
        if title and not any(one.environments for one in own):
            why = next(filter(None, (one.why_nothing() for one in own)), "")
            told = f"No row {title!r}: this run did not measure it"
            lacking.append(f"{told} ({why})" if why else told)
        for name in environments(analysis, (n for one in own for n in one.environments)):
            badges = (title,) if title else ()
            for label in sorted({one.label(name) for one in own if name in one.environments}):
                cells = (
                    _now_cells(one, (), name)[0] if one.label(name) == label else Cell("")
                    for one in own
                )
                shown = "" if label == NO_LIBRARY else name
                rows.append([Cell(label, environment=shown, badges=badges), *cells])
    notes = _together("", ((one.column.title, one.column.were) for one in found))
    lacks = ((one.column.title, one.column.without) for one in found if one.column.without)
    notes += _together(" of today", lacks)
    is_measured = begun < len(rows)
    if is_measured:
        notes.append("Below: this cluster, mean ± s of launches (of rates the arithmetic mean)")
    return Table(
        anchor,
        f"{table.number}: then{' and now' if is_measured else ''}",
        columns,
        rows,
        " ".join(filter(None, [". ".join([*notes, *lacking]) + ".", marked, table.note])),
        len(rows),
    )


def _together(of: str, told: Iterable[tuple[str, str]]) -> list[str]:
    """Remarks on columns, one where it is the same of several."""
    titles: dict[str, list[str]] = {}
    for title, text in told:
        titles.setdefault(text, []).append(title)
    return [f"{' and '.join(names)}{of}: {text}" for text, names in titles.items()]
