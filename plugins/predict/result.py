# SPDX-License-Identifier: Apache-2.0
"""A prediction as a result: its tables and sentences."""

from collections.abc import Iterator
from functools import partial
from typing import Literal

from plugins.predict.outcome import (
    EstimatePart,
    PointPart,
    PredictionForm,
    SubjectPart,
    scaling_words,
)
from reports.analysis.run import Analysis
from reports.notation import units
from reports.result import EVERYWHERE, Badge, Block, Result, Section, Sentence, Tone
from reports.show.tables import Cell, numeric, pivot, slug

_BEWARE = (
    "No law knows what no measured count shows: a further level of switches, a full trunk. The"
    " interval holds the trend of the measured counts and what it leaves open."
)


def prediction_result(analysis: Analysis, form: PredictionForm) -> Result[PredictionForm]:
    """A prediction of a run."""
    return Result(
        kicker=f"{form.campaign} on {form.site}, run {form.run_id}",
        title=f"Prediction for {', '.join(map(str, form.nodes or form.left_out))} nodes",
        data=form,
        sections=[
            *(
                Section(f"subject-{n}", _title(one), partial(_table, one), shown_on=EVERYWHERE)
                for n, one in enumerate(form.subjects)
            ),
            Section("held-out", "", lambda: _held_out(form), shown_on=EVERYWHERE),
            Section("missing", "Cannot be predicted", lambda: _missing(form), shown_on=EVERYWHERE),
        ],
        looks=analysis.looks,
    )


def _title(subject: SubjectPart) -> str:
    """ "hpl, mpich, N = 3000: one problem on more nodes"."""
    names = ", ".join([subject.check, subject.environment, subject.title])
    return f"{names}: {scaling_words(subject.scaling)}"


def _table(subject: SubjectPart) -> Iterator[Block | None]:
    """The predictions, a node count a row, then what they rest on."""
    unit = units.readable_unit("s", [one.time_s.value for one in subject.points])
    measured = any(one.measured for one in subject.points)

    def cells(one: PointPart) -> list[Cell | str]:
        row: list[Cell | str] = [str(one.nodes), _with_ends(one.time_s, unit)]
        row += [_with_ends(one.efficiency, units.ReadableUnit("", 0.01)) + " %"]
        row += [units.percent(one.communication_share, 0)]
        return row + (_measured_cells(one, unit) if measured else [])

    columns = numeric("nodes", f"time / {unit.label} (95 %)", "efficiency (95 %)", "msgs")
    columns += [*numeric(f"seen / {unit.label}"), ""] if measured else []
    anchor = f"table-{slug(_title(subject))}"
    yield pivot(subject.points, [(columns, cells)], anchor=anchor, title="")
    counts = ", ".join(map(str, subject.learnt_from))
    errors = ", ".join(f"{name} {units.percent(error)}" for name, error in subject.errors.items())
    grounds = f"fitted to {counts} nodes", f"error of a node count: {errors}", *subject.notes
    yield Sentence("; ".join(grounds))
    yield from (Sentence(_problem(one)) for one in subject.points)


def _measured_cells(one: PointPart, unit: units.ReadableUnit) -> list[Cell | str]:
    if one.measured is None:
        return ["", ""]
    word: tuple[str, Literal["good", "bad"]] = ("inside", "good")
    if not one.measured.inside:
        word = ("outside", "bad")
    return [units.significant(one.measured.value / unit.factor), Cell(word[0], tone=word[1])]


def _problem(one: PointPart) -> str:
    """Problem that runs on a node count, and what was measured there."""
    ranks = units.count_text(one.ranks, "rank")
    text = f"{units.count_text(one.nodes, 'node')}, {ranks}: {one.problem}"
    if one.measured is None:
        return text
    fitted = "left out" if one.measured.left_out else "in the fit"
    return "; ".join([text, f"measured n = {one.measured.n}, {fitted}", *one.measured.flags])


def _held_out(form: PredictionForm) -> Iterator[Block | None]:
    if form.held_out:
        tone: Tone = "good" if form.inside >= 0.9 * form.held_out else "bad"
        text = "measured points that were left out lie in their 95 % intervals."
        yield Sentence(text, badge=Badge(f"{form.inside} of {form.held_out}", tone))
    if form.subjects:
        yield Sentence(_BEWARE)


def _missing(form: PredictionForm) -> Iterator[Block | None]:
    alike: dict[tuple[str, str, str, str], list[str]] = {}
    for one in form.missing:
        alike.setdefault((one.check, one.what, one.why, one.add), []).append(one.environment)
    for (check, what, why, add), names in alike.items():
        where = ", ".join([check, what, *filter(None, names)])
        yield Sentence(f"{where}: {why}. To do: {add}.")


def _with_ends(estimate: EstimatePart, unit: units.ReadableUnit) -> str:
    def text(value: float) -> str:
        return units.significant(value / unit.factor)

    return f"{text(estimate.value)} ({units.between(estimate.low, estimate.high, text)})"
