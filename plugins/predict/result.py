# SPDX-License-Identifier: Apache-2.0
"""A prediction as a result: its tables and sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Literal

from plugins.predict.operations import CHECK as COLLECTIVES
from plugins.predict.outcome import (
    EstimatePart,
    PointPart,
    PredictionForm,
    PredictionOutcome,
    SubjectPart,
    scaling_words,
)
from plugins.predict.picture import prediction_picture
from reports.analysis.run import Analysis
from reports.notation.units import (
    ReadableUnit,
    between,
    count_text,
    percent,
    readable_unit,
    significant,
)
from reports.result import EVERYWHERE, Badge, Block, Result, Section, Sentence, Tone
from reports.show.tables import Cell, numeric, pivot, slug

_BEWARE = (
    "No law knows what no measured count shows: a further level of switches, a full trunk. The"
    " interval holds the trend of the measured counts and what it leaves open."
)


def prediction_result(
    analysis: Analysis, outcome: PredictionOutcome, nodes: list[int], left_out: list[int]
) -> Result[PredictionForm]:
    """The outcome of a prediction for these node counts, without those left out."""
    run = analysis.run
    form = PredictionForm(
        run_id=run.run_id,
        campaign=run.plan.campaign,
        site=run.plan.site,
        nodes=nodes,
        left_out=left_out,
        held_out=len(outcome.held_out),
        inside=outcome.inside,
        subjects=[item.part for item in outcome.predicted],
        missing=outcome.missing,
        pictures=[],
    )
    return Result(
        kicker=f"{run.plan.campaign} on {run.plan.site}, run {run.run_id}",
        title=f"Prediction for {', '.join(map(str, nodes or left_out))} nodes",
        data=form,
        sections=[
            *(
                Section(
                    f"subject-{place}", _title(group), partial(_table, group), shown_on=EVERYWHERE
                )
                for place, group in enumerate(_groups(form.subjects))
            ),
            Section("held-out", "", lambda: _held_out(form), shown_on=EVERYWHERE),
            Section("missing", "Cannot be predicted", lambda: _missing(form), shown_on=EVERYWHERE),
            Section("picture", "Picture", lambda: [prediction_picture(analysis, outcome)]),
        ],
        looks=analysis.looks,
    )


def _groups(subjects: Sequence[SubjectPart]) -> list[list[SubjectPart]]:
    """Groups that a table shows: a subject, or all collective operations of an environment."""
    found: dict[tuple[str, ...], list[SubjectPart]] = {}
    for one in subjects:
        alone = () if one.check == COLLECTIVES else (one.scaling, one.title)
        found.setdefault((one.check, one.environment, *alone), []).append(one)
    return sorted(found.values(), key=lambda group: group[0].check == COLLECTIVES)


def _title(group: Sequence[SubjectPart]) -> str:
    first = group[0]
    name = [] if first.check == COLLECTIVES else [first.title]
    return f"{', '.join([first.check, first.environment, *name])}: {scaling_words(first.scaling)}"


def _table(group: Sequence[SubjectPart]) -> Iterator[Block | None]:
    """The predictions, a node count a row, then what each rests on."""
    points = [(subject, one) for subject in group for one in subject.points]
    unit = readable_unit("s", [one.time_s.value for _, one in points])
    headings = ["operation"] if group[0].check == COLLECTIVES else []
    measured = any(one.measured for _, one in points)

    def cells(pair: tuple[SubjectPart, PointPart]) -> list[Cell | str]:
        subject, one = pair
        row: list[Cell | str] = [subject.title] if headings else []
        row += [str(one.nodes), _with_ends(one.time_s, unit)]
        row += [_with_ends(one.efficiency, ReadableUnit("", 0.01)) + " %"]
        row += [percent(one.communication_share, 0)]
        return row + (_measured_cells(one, unit) if measured else [])

    columns = [
        *headings,
        *numeric("nodes", f"time / {unit.label} (95 %)", "efficiency (95 %)", "msgs"),
    ]
    columns += [*numeric(f"seen / {unit.label}"), ""] if measured else []
    table = pivot(points, [(columns, cells)], anchor=f"table-{slug(_title(group))}", title="")
    yield table
    grounds = dict[str, None]()
    for subject in group:
        counts = ", ".join(map(str, subject.learnt_from))
        errors = ", ".join(f"{name} {percent(error)}" for name, error in subject.errors.items())
        fitted = f"fitted to {counts} nodes", f"error of a node count: {errors}"
        grounds["; ".join([*fitted, *subject.notes])] = None
    yield from map(Sentence, grounds)
    if not headings:
        yield from (Sentence(_problem(one)) for _, one in points)


def _measured_cells(one: PointPart, unit: ReadableUnit) -> list[Cell | str]:
    if one.measured is None:
        return ["", ""]
    word: tuple[str, Literal["good", "bad"]] = ("inside", "good")
    if not one.measured.inside:
        word = ("outside", "bad")
    return [significant(one.measured.value / unit.factor), Cell(word[0], tone=word[1])]


def _problem(one: PointPart) -> str:
    """Problem that runs on a node count, and what was measured there."""
    text = f"{count_text(one.nodes, 'node')}, {count_text(one.ranks, 'rank')}: {one.problem}"
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


def _with_ends(estimate: EstimatePart, unit: ReadableUnit) -> str:
    def text(value: float) -> str:
        return significant(value / unit.factor)

    return f"{text(estimate.value)} ({between(estimate.low, estimate.high, text)})"
