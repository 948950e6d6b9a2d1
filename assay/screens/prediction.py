# SPDX-License-Identifier: Apache-2.0
"""Predictions for people: a table for each problem, what was left out, what is missing."""

from __future__ import annotations

from collections.abc import Iterator

from assay.screens.screen import Screen, Toned
from reports.checks.collectives.measured import CHECK as COLLECTIVES
from reports.notation.units import ReadableUnit, percent, readable_unit, three_digits
from reports.notation.values import between
from reports.prediction.forms import EstimatePart, PointPart, PredictionForm, SubjectPart
from reports.prediction.outcome import scaling_words
from reports.show.tables import Column

_BEWARE = (
    "No law knows what no measured count shows: a further level of switches, a full trunk. The"
    " interval holds the trend of the measured counts and what it leaves open."
)


def show_prediction(screen: Screen, told: PredictionForm) -> None:
    """All of it."""
    for subject in told.subjects:
        if subject.check != COLLECTIVES:
            _subject(screen, subject)
    operations: dict[str, list[SubjectPart]] = {}
    for subject in told.subjects:
        if subject.check == COLLECTIVES:
            operations.setdefault(subject.environment, []).append(subject)
    for environment, found in operations.items():
        _operations(screen, environment, found)
    if told.held_out:
        screen.line(
            (f"{told.inside} of {told.held_out}", "good" if _covers(told) else "bad"),
            " measured points that were left out lie in their 95 % intervals.",
        )
    if told.missing:
        screen.line(("Cannot be predicted:", "head"))
    alike: dict[tuple[str, str, str, str], list[str]] = {}
    for one in told.missing:
        key = (one.check, one.what, one.why, one.add)
        alike.setdefault(key, []).append(one.environment)
    for (check, what, why, add), names in alike.items():
        where = ", ".join([check, what, *filter(None, names)])
        screen.line(f"{where}: {why}.", indent=2, hang=2)
        screen.line(("To do: ", "quiet"), f"{add}.", indent=4, hang=2)
    if told.subjects:
        screen.line((_BEWARE, "quiet"))


def _covers(told: PredictionForm) -> bool:
    return told.inside >= 0.9 * told.held_out


def _subject(screen: Screen, subject: SubjectPart) -> None:
    words = scaling_words(subject.scaling)
    head = f"{subject.check}, {subject.environment}, {subject.title}: {words}"
    screen.line((head, "head"), hang=2)
    screen.line(_learnt(subject), indent=2, hang=2)
    unit = readable_unit("s", [one.time_s.value for one in subject.points])
    columns = [
        Column("nodes", numeric=True),
        Column(f"time / {unit.label} (95 %)", numeric=True),
        Column("efficiency (95 %)", numeric=True),
        Column("msgs", numeric=True),
    ]
    if any(one.measured for one in subject.points):
        columns += [Column(f"seen / {unit.label}", numeric=True), Column("")]
    rows = [[*_cells(one, unit)][: len(columns)] for one in subject.points]
    screen.table(columns, rows)
    for one in subject.points:
        screen.line(_problem(one), indent=2, hang=2)
    screen.blank()


def _operations(screen: Screen, environment: str, subjects: list[SubjectPart]) -> None:
    """All collective operations of an environment in one table, and their laws below it."""
    words = scaling_words(subjects[0].scaling)
    screen.line((f"{COLLECTIVES}, {environment}: {words}", "head"), hang=2)
    every = [(subject, one) for subject in subjects for one in subject.points]
    columns = [
        Column("operation"),
        *(Column(title, numeric=True) for title in ("nodes", "time (95 %)")),
    ]
    if any(one.measured for _, one in every):
        columns += [Column("seen", numeric=True), Column("")]
    rows: list[list[Toned]] = []
    for subject, one in every:
        unit = readable_unit("s", [one.time_s.value])
        nodes, _, _, _, seen, word = _cells(one, unit)
        time = f"{_with_ends(one.time_s, unit)} {unit.label}"
        row = [subject.title, nodes, time, seen and f"{seen} {unit.label}", word]
        rows.append(row[: len(columns)])
    screen.table(columns, rows)
    for text in dict.fromkeys(map(_learnt, subjects)):
        screen.line(text, indent=2, hang=2)
    screen.blank()


def _learnt(subject: SubjectPart) -> str:
    counts = ", ".join(map(str, subject.learnt_from))
    errors = ", ".join(f"{name} {percent(error)}" for name, error in subject.errors.items())
    return "; ".join(
        [f"learnt from {counts} nodes", f"error of a node count: {errors}", *subject.notes]
    )


def _problem(one: PointPart) -> str:
    """What runs on a node count, and what was measured there."""
    text = f"{one.nodes} nodes, {one.ranks} ranks: {one.problem}"
    if one.measured is None:
        return text
    learnt = "left out" if one.measured.left_out else "learnt from"
    return "; ".join([text, f"measured n = {one.measured.n}, {learnt}", *one.measured.flags])


def _cells(one: PointPart, unit: ReadableUnit) -> Iterator[Toned]:
    yield str(one.nodes)
    yield _with_ends(one.time_s, unit)
    yield _with_ends(one.efficiency, ReadableUnit("", 0.01)) + " %"
    yield percent(one.communication_share, 0)
    seen = one.measured
    yield three_digits(seen.value / unit.factor) if seen else ""
    yield ("inside", "good") if seen and seen.inside else ("outside" if seen else "", "bad")


def _with_ends(estimate: EstimatePart, unit: ReadableUnit) -> str:
    def text(value: float) -> str:
        return three_digits(value / unit.factor)

    return f"{text(estimate.value)} ({between(estimate.low, estimate.high, text)})"
