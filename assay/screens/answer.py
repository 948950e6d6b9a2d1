# SPDX-License-Identifier: Apache-2.0
"""The answer of a run, for people: the sentence, the ranking, who leads, what is open, the page."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from assay.run.status import FailedFor
from assay.screens.screen import Screen, Tone, Toned
from assay.screens.status import show_reasons
from reports.answer.forms import LeaderPart, RankedPart, ReportForm
from reports.answers import AnswerPart
from reports.notation.units import count_text, fixed, level_text, signed_percent
from reports.notation.values import between
from reports.show.tables import Column

_TONES: dict[str, Tone] = {"good": "good", "warn": "open", "bad": "bad", "plain": "head"}
#: Further sentences that are shown.
MOST_DETAILS = 3


def show_answer(screen: Screen, answer: AnswerPart) -> None:
    """State and sentence, then what else carries it."""
    tone = _TONES[answer.colour]
    screen.line((f"{answer.word.upper()}: ", tone), (answer.sentence, "head"), hang=2)
    for text in answer.details[:MOST_DETAILS]:
        screen.line(text, indent=2, hang=2)


def show_rest(screen: Screen, answer: AnswerPart) -> None:
    """What is not known, and what comes next."""
    if answer.unknown:
        screen.line(("not known: ", "quiet"), answer.unknown, indent=2, hang=2)
    if answer.command:
        screen.line(("next: ", "quiet"), answer.command, indent=2, hang=6)


def show_report(screen: Screen, told: ReportForm, failed: Sequence[FailedFor]) -> None:
    """The last screen of `assay report` and `assay run`; `failed` are bad launches by reason."""
    counts = ", ".join(f"{count} {status}" for status, count in told.launches.items() if count)
    head = f"{told.campaign} on {told.site}, run {told.run_id}: {counts or 'no record'}"
    screen.line((head, "quiet"), hang=2)
    screen.blank()
    show_answer(screen, told.answer)
    # Too few launches of a failed run have a value.
    if told.ranking and told.answer.state != "failed":
        _ranking(screen, told)
    if told.leaders and told.answer.state != "failed":
        _leaders(screen, told)
    if failed:
        screen.blank()
        show_reasons(screen, failed, told.run)
    screen.blank()
    show_rest(screen, told.answer)
    show_files(screen, told)


def show_files(screen: Screen, told: ReportForm) -> None:
    """The page, and the files next to it."""
    page = told.files.get("html")
    others = [path for name, path in told.files.items() if name != "html"]
    if page:
        screen.line(("page: ", "quiet"), page, indent=2, hang=2)
        names = ", ".join(path.rpartition("/")[2] for path in others)
        if names:
            screen.line(("beside it: ", "quiet"), names, indent=2, hang=2)
        return
    for path in others:
        screen.line(path, indent=2)


def _ranking(screen: Screen, told: ReportForm) -> None:
    screen.blank()
    columns = [Column("place"), Column("environment"), Column("cost", numeric=True)]
    columns += [Column(_heading(told.ranking), numeric=True), Column("")]
    rows: list[list[Toned]] = []
    for item in told.ranking:
        best, worst = item.place
        failed = f"{item.failed} of {count_text(item.launched, 'launch', 'launches')} failed"
        rows.append(
            [
                str(best) if best == worst else f"{best}–{worst}",
                (item.environment, "head"),
                fixed(item.cost, 2),
                _ends(item, told.ranking, lambda value: fixed(value, 2)),
                (failed if item.failed else "", "bad"),
            ]
        )
    screen.table(columns, rows)
    screen.line((f"cost of the campaign's workload, {told.reference} = 1", "quiet"), indent=2)


def _leaders(screen: Screen, told: ReportForm) -> None:
    screen.blank()
    columns = [Column("best in"), Column(""), Column("ahead of"), Column("by", numeric=True)]
    columns += [Column(_heading(told.leaders), numeric=True), Column("verdict")]
    rows: list[list[Toned]] = []
    for item in told.leaders:
        decided = item.verdict in ("faster", "slower")
        rows.append(
            [
                item.scope,
                (item.best, "head"),
                item.runner_up,
                signed_percent(item.advantage),
                _ends(item, told.leaders, signed_percent),
                (item.verdict, "good" if decided else "open"),
            ]
        )
    screen.table(columns, rows)


def _heading(items: Sequence[RankedPart | LeaderPart]) -> str:
    """Shown with the estimates: the bounds that decide; of too few blocks for any the
    intervals of each pair alone with their level, of different ones the least."""
    levels = sorted({item.interval.level for item in items if item.interval})
    if not levels or any(item.bounds for item in items):
        return "bounds that decide"
    return f"{'≥ ' if len(levels) > 1 else ''}{level_text(levels[0])} of this pair alone"


def _ends(
    item: RankedPart | LeaderPart,
    items: Sequence[RankedPart | LeaderPart],
    show: Callable[[float], str],
) -> str:
    """What `_heading` names, of one item."""
    if item.bounds:
        return between(*item.bounds, show)
    if any(other.bounds for other in items):
        return "no bounds" if item.interval else ""
    return between(item.interval.low, item.interval.high, show) if item.interval else ""
