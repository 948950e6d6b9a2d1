# SPDX-License-Identifier: Apache-2.0
"""A prediction as a result: its tables and sentences."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Literal

from plugins.predict.outcome import (
    EstimatePart,
    PointPart,
    Predicted,
    PredictionForm,
    PredictionOutcome,
    SubjectPart,
    scaling_words,
)
from reports.analysis.run import Analysis
from reports.notation.labels import PAPER
from reports.notation.units import (
    ReadableUnit,
    between,
    count_text,
    fixed,
    percent,
    quantity,
    readable_unit,
    significant,
)
from reports.result import EVERYWHERE, Badge, Block, Result, Section, Sentence, Tone
from reports.show.lines import joined, picture_of
from reports.show.panel import Axis, Mark, Panel, Picture, Series
from reports.show.tables import Cell, numeric, pivot, slug

_Panel = tuple[str, list[Predicted]]


def prediction_picture(analysis: Analysis, outcome: PredictionOutcome) -> Picture | None:
    """Picture of one panel for each check and problem, with a line for each environment."""
    groups: dict[tuple[str, str, str], list[Predicted]] = {}
    for item in outcome.predicted:
        key = item.part.check, item.part.title, scaling_words(item.part.scaling)
        groups.setdefault(key, []).append(item)
    return picture_of(
        analysis,
        [(joined(*key), found) for key, found in groups.items()],
        lambda group: _panel(analysis, group),
        anchor="picture-prediction",
        title="Time on node counts that were not measured",
        caption="Filled: medians that the law rests on; open: measured, not learnt from. Lines: the"
        " law; bands: its 95 % intervals.",
    )


def _panel(analysis: Analysis, group: _Panel) -> Panel:
    name, found = group
    values = [one.time_s.value for item in found for one in item.curve]
    unit = readable_unit("s", values)
    runs = {len(one.time_s) for item in found for one in item.subject.measured}
    ends = str(min(runs)) if len(runs) == 1 else between(min(runs), max(runs), 0)
    lines, told = zip(*(_line(analysis, item, unit) for item in found), strict=True)
    ticks = sorted({one.nodes for item in found for one in item.curve})
    shown = ticks[::-1][:: -(-len(ticks) // 6)]
    return Panel(
        name,
        [mark for marks in lines for mark in marks],
        f"{name}: {'; '.join(told)}",
        Axis("nodes", scale="log2", ticks={tick: fixed(tick, 0) for tick in shown}),
        Axis(f"time, {unit.label}", scale="log"),
        f"n = {ends} launches a point; run {analysis.run.run_id}",
    )


def _line(analysis: Analysis, item: Predicted, unit: ReadableUnit) -> tuple[list[Mark], str]:
    """A subject's line with its points, and what it shows in words."""
    name = item.part.environment
    look = analysis.looks[name]
    nodes = [float(one.nodes) for one in item.curve]
    low, centre, high = (
        [getattr(one.time_s, end) / unit.factor for one in item.curve]
        for end in ("low", "value", "high")
    )
    marks: list[Mark] = [Series(nodes, centre, look, name, low, high, width=1.4, size=0)]
    for one in item.subject.measured:
        face = "" if one.problem.nodes in item.part.learnt_from else PAPER
        middle = one.median_s / unit.factor
        marks.append(Series([one.problem.nodes], [middle], look, size=5.2, face=face))
    last = item.curve[-1]
    ends = between(last.time_s.low, last.time_s.high, lambda value: quantity(value, unit))
    return marks, f"{name} on {count_text(last.nodes, 'node')} {ends}"


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
                Section(f"subject-{n}", _title(one), partial(_table, one), shown_on=EVERYWHERE)
                for n, one in enumerate(form.subjects)
            ),
            Section("held-out", "", lambda: _held_out(form), shown_on=EVERYWHERE),
            Section("missing", "Cannot be predicted", lambda: _missing(form), shown_on=EVERYWHERE),
            Section("picture", "Picture", lambda: [prediction_picture(analysis, outcome)]),
        ],
        looks=analysis.looks,
    )


def _title(subject: SubjectPart) -> str:
    """ "hpl, mpich, N = 3000: one problem on more nodes"."""
    names = ", ".join([subject.check, subject.environment, subject.title])
    return f"{names}: {scaling_words(subject.scaling)}"


def _table(subject: SubjectPart) -> Iterator[Block | None]:
    """The predictions, a node count a row, then what they rest on."""
    unit = readable_unit("s", [one.time_s.value for one in subject.points])
    measured = any(one.measured for one in subject.points)

    def cells(one: PointPart) -> list[Cell | str]:
        row: list[Cell | str] = [str(one.nodes), _with_ends(one.time_s, unit)]
        row += [_with_ends(one.efficiency, ReadableUnit("", 0.01)) + " %"]
        row += [percent(one.communication_share, 0)]
        return row + (_measured_cells(one, unit) if measured else [])

    columns = numeric("nodes", f"time / {unit.label} (95 %)", "efficiency (95 %)", "msgs")
    columns += [*numeric(f"seen / {unit.label}"), ""] if measured else []
    anchor = f"table-{slug(_title(subject))}"
    yield pivot(subject.points, [(columns, cells)], anchor=anchor, title="")
    counts = ", ".join(map(str, subject.learnt_from))
    errors = ", ".join(f"{name} {percent(error)}" for name, error in subject.errors.items())
    grounds = f"fitted to {counts} nodes", f"error of a node count: {errors}", *subject.notes
    yield Sentence("; ".join(grounds))
    yield from (Sentence(_problem(one)) for one in subject.points)


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
