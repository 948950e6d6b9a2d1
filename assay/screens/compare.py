# SPDX-License-Identifier: Apache-2.0
"""Two runs side by side, for people: what differs, then every change, the greatest first."""

from __future__ import annotations

from collections.abc import Sequence

from assay.machine.runs import Changed, Compared, Differs
from assay.screens.screen import Column, Screen, Tone, Toned
from reports.notation.units import readable_unit, signed_percent, three_digits
from reports.notation.values import between

#: Rows of each table, and things that differ, that are shown unless all are asked for.
MOST_CHANGED, MOST_UNRESOLVED, MOST_DIFFERENT = 30, 5, 8
_TONES: dict[str, Tone] = {"better": "good", "worse": "bad", "beyond launches": "open"}
#: Title of a table, the readings that stand in it, and how many of its rows are shown.
_TABLES = (
    ("changed, each value by itself at 95 %", ("better", "worse"), MOST_CHANGED),
    (
        "beyond the launches' spread; two days cannot tell a change from the day",
        ("beyond launches",),
        MOST_CHANGED,
    ),
    ("not resolved", ("not resolved", "no interval"), MOST_UNRESOLVED),
)


def show_comparison(screen: Screen, told: Compared, *, every: bool) -> None:
    """`every`: no row is left out."""
    screen.line((f"{told.b} against {told.a}", "head"), hang=2)
    for fact in told.facts:
        screen.line(fact, indent=2, hang=2)
    _differing(screen, "provenance", told.provenance, every=every)
    _differing(screen, "builds", told.builds, every=every)
    for title, readings, most in _TABLES:
        found = [one for one in told.changes if one.reading in readings]
        _table(screen, title, found, None if every else most)


def _differing(screen: Screen, what: str, found: Sequence[Differs], *, every: bool) -> None:
    if not found:
        screen.line(f"{what}: no difference", indent=2)
        return
    shown = found if every else found[:MOST_DIFFERENT]
    for one in shown:
        screen.line((f"{what}: ", "quiet"), f"{one.what}: {one.a} → {one.b}", indent=2, hang=4)
    if len(shown) < len(found):
        screen.line(f"{what}: {len(found) - len(shown)} further differences (--all)", indent=2)


def _table(screen: Screen, title: str, found: Sequence[Changed], most: int | None) -> None:
    if not found:
        return
    screen.blank()
    screen.line((f"{title}: {len(found)}", "head"))
    columns = [Column("B/A", numeric=True), Column("95 % interval", numeric=True)]
    columns += [Column("A → B", numeric=True), Column("")]
    rows = [_row(one) for one in found[:most]]
    if found[0].reading in ("better", "worse"):
        columns.insert(3, Column("B is"))
        for row, one in zip(rows, found, strict=False):
            row.insert(3, (one.reading, _TONES.get(one.reading, "plain")))
    screen.table(columns, rows)
    if most is not None and len(found) > most:
        screen.line(f"{len(found) - most} further ones: --all, --html FILE, --json", indent=2)


def _row(one: Changed) -> list[Toned]:
    what = f"{one.check} {one.environment}, {one.case}: {one.metric.replace('_', ' ')}"
    unit = readable_unit(one.unit, [side.mean for side in (one.a, one.b) if side.mean])
    a, b = (
        "–" if side.mean is None else three_digits(side.mean / unit.factor)
        for side in (one.a, one.b)
    )
    tone = _TONES.get(one.reading, "plain")
    change = "–" if one.ratio is None else signed_percent(one.ratio)
    ends = ""
    if one.interval:
        ends = between(one.interval.low, one.interval.high, _ends)
    # Lines break at thin spaces too.
    return [(change, tone), ends, f"{a} → {b} {unit.label}", what.replace("\u202f", "")]


def _ends(ratio: float) -> str:
    """An end of an interval, in per cent."""
    return signed_percent(ratio).removesuffix(" %")
