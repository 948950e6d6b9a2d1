# SPDX-License-Identifier: Apache-2.0
"""The document of a study: tables and figures in the paper's order, claims and their verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from reports.analysis import Analysis, analyse
from reports.load.loading import load_run
from reports.notation.units import count_text, fixed
from reports.papers.beside import Beside, besides, measured_share, of_variant, settled
from reports.papers.claims import (
    DIFFERS,
    FAILS,
    HOLDS,
    LEAST_LAUNCHES,
    UNRESOLVED,
    UNTESTABLE,
    Judged,
    claims_table,
    judge,
)
from reports.papers.definition import PrintedTable, Shown, Study, Uncounted, studies
from reports.papers.figures import figure_of
from reports.papers.machines import machine_tables
from reports.papers.matching import why_nothing
from reports.papers.plane import plane_of
from reports.papers.shown import shown_parts
from reports.papers.tables import mark_of, tables_of
from reports.show.canvas import styled
from reports.show.lines import Picture
from reports.show.tables import Cell, Column, Table

#: Words for several claims.
_MANY = {HOLDS: "hold", FAILS: "do not hold", DIFFERS: "differ between libraries"}


@dataclass(frozen=True)
class Part:
    """One table or figure of the paper: what stands beside it, and its doubtful digits with the
    marks that values have of them."""

    number: str
    title: str
    note: str
    tables: list[Table]
    pictures: list[Picture]
    doubtful: list[tuple[str, str]]


@dataclass(frozen=True)
class PaperDocument:
    """A study beside a run, ready to be written."""

    study: Study
    analysis: Analysis
    parts: list[Part]
    claims: list[Judged]
    lacking: list[Uncounted]
    measured: int
    printed: int

    @property
    def answer(self) -> str:
        """The first sentence: how many claims hold, and how much of the paper was measured."""
        words = Counter(one.word for one in self.claims)
        order = (HOLDS, FAILS, UNRESOLVED, UNTESTABLE, DIFFERS)
        told = ", ".join(
            f"{words[word]} {word if words[word] == 1 else _MANY.get(word, word)}"
            for word in order
            if words[word]
        )
        claims = f"{count_text(words.total(), 'claim')}: {told}" if words else "No claim is listed"
        there, all_ = fixed(self.measured, 0), fixed(self.printed, 0)
        return (
            f"{claims}; {there} of {all_} printed values that a run can answer have a counterpart."
        )

    @property
    def warnings(self) -> list[str]:
        """Why less of the paper stands beside the run, or stands less firmly, than could."""
        analysis, campaign = self.analysis, self.analysis.run.plan.campaign
        told = []
        if campaign != self.study.name:
            own = f"; the study's own: assay run {self.study.name}"
            told.append(f"The run is of campaign {campaign}{own if self.is_shipped else ''}.")
        told += self._layout()
        lost = sum(analysis.counts[one] for one in ("failed", "wrong", "lost"))
        lost -= analysis.on_purpose
        if lost:
            launches = count_text(lost, "launch has", "launches have")
            told.append(f"{launches} no value; what is said here rests on the others.")
        if not analysis.complete:
            told.append("The run is not finished.")
        if analysis.run.blocks < LEAST_LAUNCHES:
            few = "One block" if analysis.run.blocks == 1 else "Two blocks"
            told.append(f"{few}: no claim is resolved with fewer than {LEAST_LAUNCHES} launches.")
        if shared := analysis.oversubscribed:
            launches = count_text(shared, "launch", "launches")
            told.append(
                f"{launches} had busy ranks that shared cores; their times are the scheduler's,"
                " are marked and decide no claim."
            )
        return told

    @property
    def is_shipped(self) -> bool:
        """Whether it is a study of ours, which has a campaign of its name."""
        return self.study.name in studies()

    def _layout(self) -> list[str]:
        """That cases have more ranks on a node than the machines of then had."""
        then = self.study.ranks_per_node
        cases = [one for one in self.analysis.run.plan.cases if one.skipped is None]
        wider = [one.ranks_per_node for one in cases if then and one.ranks_per_node > then]
        told = f"{count_text(len(wider), 'case')} of {len(cases)} had up to {max(wider, default=0)}"
        return [f"{told} ranks on a node; then there were {then} at most."] if wider else []

    def claims_table(self) -> Table:
        """A line a claim and environment."""
        return claims_table(self.claims)

    def missing_table(self) -> Table:
        """Tables, columns and figures without a counterpart, by design or in this run."""
        rows = [[Cell(one.number), Cell(one.title), Cell(one.why)] for one in self.lacking]
        columns = [Column(title) for title in ("of the paper", "shows", "reason")]
        return Table("missing", "What nothing stands beside", columns, rows, "", len(rows))

    def machines(self) -> list[Table]:
        """What the machines of then were."""
        return machine_tables(self.study.machines_of_then())

    def inputs(self) -> list[tuple[str, str, str]]:
        """Title, note and text of the files that the paper prints."""
        return [
            (one.title, one.note, (self.study.folder / one.file).read_text())
            for one in self.study.inputs
        ]


def make_document(study: Study, run: Path) -> PaperDocument:
    """The study beside the run. Raises AssayError as load_run does."""
    analysis = analyse(load_run(run))
    parts: list[Part] = []
    shares: list[tuple[int, int]] = []
    lacking: list[Uncounted] = []
    with styled():
        for number, asked in enumerate(study.tables, start=1):
            table = settled(asked, analysis)
            found = besides(study, table, analysis)
            part, share = _printed(table, found, number)
            parts.append(part)
            shares.append(share)
            after = [_shown(one, analysis) for one in study.shown if one.after == table.number]
            parts += after
            lacking += _lacking(found)
            lacking += [_not_shown(one) for one in after if not (one.tables or one.pictures)]
    claims = [Judged(claim, judge(claim, analysis)) for claim in study.claims]
    measured, printed = (sum(column) for column in zip(*shares, strict=True))
    lacking += study.missing
    return PaperDocument(study, analysis, parts, claims, lacking, measured, printed)


def _lacking(found: Sequence[Beside]) -> Iterator[Uncounted]:
    """The columns of a table that nothing stands beside, those of one reason together."""
    reasons: dict[str, list[str]] = {}
    for one in found:
        ours = one.column.ours
        kinds = [one, *(kind for v in one.table.variants for kind in of_variant([one], v))]
        if ours is None:
            reasons.setdefault(one.column.without, []).append(one.column.title)
        elif not any(kind.environments for kind in kinds):
            why = why_nothing(one.analysis, ours)
            told = f"not measured by this run{f': {why}' if why else ''}"
            reasons.setdefault(told, []).append(one.column.title)
    table = found[0].table
    for why, columns in reasons.items():
        yield Uncounted(number=table.number, title=f"{table.title}: {', '.join(columns)}", why=why)


def _not_shown(part: Part) -> Uncounted:
    return Uncounted(number=part.number, title=part.title, why="not measured by this run")


def _printed(
    table: PrintedTable, found: Sequence[Beside], number: int
) -> tuple[Part, tuple[int, int]]:
    """A table of the paper, and of its printed points how many were measured."""
    drawn = [figure_of(one, f"figure-{number}-{place}") for place, one in enumerate(found)]
    drawn.append(plane_of(found, f"plane-{number}"))
    pictures = [picture for picture in drawn if picture is not None]
    tables = tables_of(found, f"table-{number}") if table.printed else []
    # What follows from printed values is no printed point of its own.
    counted = [one for one in found if one.texts]
    note = "" if tables else table.note
    said = enumerate(table.doubtful, start=1)
    doubtful = [(mark_of(place) if one.rows else "", one.said) for place, one in said]
    part = Part(table.number, table.title, note, tables, pictures, doubtful)
    return part, measured_share(counted)


def _shown(shown: Shown, analysis: Analysis) -> Part:
    """What a run shows beside a figure without numbers."""
    pictures, tables = shown_parts(shown, analysis)
    note = shown.note if pictures or tables else f"{shown.note} This run did not measure it."
    return Part(shown.number, shown.title, note, tables, pictures, [])
