# SPDX-License-Identifier: Apache-2.0
"""A study and a run: tables and figures in the paper's order, claims and their verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from plugins.papers.beside import Beside, besides, by_variant, measured_share
from plugins.papers.claims import (
    DIFFERS,
    FAILS,
    HOLDS,
    LEAST_LAUNCHES,
    UNRESOLVED,
    UNTESTABLE,
    JudgedClaim,
    judge_claims,
)
from plugins.papers.figures import figures_of
from plugins.papers.study import Drawn, PrintedTable, Study, Uncounted, studies
from plugins.papers.tables import mark_of, tables_of
from records.plugins import hooks
from reports.analysis.run import Analysis, analyse
from reports.checks.sections import own_section
from reports.load.loading import load_run
from reports.notation.units import count_text, fixed
from reports.show.panel import Picture
from reports.show.section import Section, generic_section
from reports.show.tables import Cell, Column, Table

#: Words for several claims.
_MANY = {HOLDS: "hold", FAILS: "do not hold", DIFFERS: "differ between libraries"}


@dataclass(frozen=True)
class StudyPart:
    """Table or figure of the paper with what the run has of it; doubtful digits by their marks."""

    number: str
    title: str
    note: str
    tables: list[Table]
    pictures: list[Picture]
    doubtful: list[tuple[str, str]]


@dataclass(frozen=True)
class StudyOutcome:
    """A study and a run. `lacking`: tables, columns and figures without a counterpart, by design
    or in this run."""

    study: Study
    analysis: Analysis
    answer: str
    warnings: list[str]
    claims: list[JudgedClaim]
    parts: list[StudyPart]
    lacking: list[Uncounted]


def make_document(study: Study, run: Path) -> StudyOutcome:
    """The study compared with the run. Raises AssayError as load_run does."""
    analysis = analyse(load_run(run))
    parts: list[StudyPart] = []
    shares: list[tuple[int, int]] = []
    lacking: list[Uncounted] = []
    for number, table in enumerate(study.tables, start=1):
        found = besides(study, table, analysis)
        parts.append(_printed(found, number))
        shares.append(measured_share(found))
        after = [_shown(one, analysis) for one in study.shown if one.after == table.number]
        parts += after
        lacking += _lacking(found)
        lacking += [
            Uncounted(one.number, one.title, why="not measured by this run")
            for one in after
            if not (one.tables or one.pictures)
        ]
    lacking += study.missing
    claims = judge_claims(study, analysis)
    return StudyOutcome(
        study,
        analysis,
        _answer(claims, *(sum(column) for column in zip(*shares, strict=True))),
        list(_warnings(study, analysis)),
        claims,
        parts,
        lacking,
    )


def claims_table(claims: Sequence[JudgedClaim]) -> Table:
    """A line a claim and environment."""
    rows = [
        [
            *(Cell(one.claim.said, title=one.claim.where), Cell(one.claim.where)),
            Cell(verdict.environment, environment=verdict.environment),
            *(Cell(verdict.word), Cell(verdict.because)),
        ]
        for one in claims
        for verdict in one.verdicts
    ]
    columns = [Column(t) for t in ("claim", "where", "environment", "verdict", "because")]
    return Table("claims", "What the paper claims", columns, rows, "", len(rows))


def _answer(claims: Sequence[JudgedClaim], measured: int, printed: int) -> str:
    """The first sentence: how many claims hold, and how much of the paper was measured."""
    words = Counter(one.word for one in claims)
    told = ", ".join(
        f"{words[word]} {word if words[word] == 1 else _MANY.get(word, word)}"
        for word in (HOLDS, FAILS, UNRESOLVED, UNTESTABLE, DIFFERS)
        if words[word]
    )
    said = f"{count_text(words.total(), 'claim')}: {told}" if words else "No claim is listed"
    there, all_ = fixed(measured, 0), fixed(printed, 0)
    return f"{said}; {there} of {all_} printed values that a run can answer have a counterpart."


def _warnings(study: Study, analysis: Analysis) -> Iterator[str]:
    """Reasons why less of the paper has a counterpart in the run, or a less firm one."""
    run = analysis.run
    if run.plan.campaign != study.name:
        own = f"; the study's own: assay run {study.name}" if study.name in studies() else ""
        yield f"The run is of campaign {run.plan.campaign}{own}."
    cases = [one for one in run.plan.cases if one.skipped is None]
    then = study.ranks_per_node
    wider = [one.ranks_per_node for one in cases if then and one.ranks_per_node > then]
    if wider:
        told = f"{count_text(len(wider), 'case')} of {len(cases)} had up to {max(wider)}"
        yield f"{told} ranks on a node; then there were {then} at most."
    lost = sum(analysis.counts[one] for one in ("failed", "wrong", "lost")) - analysis.on_purpose
    if lost:
        launches = count_text(lost, "launch has", "launches have")
        yield f"{launches} no value; what is said here rests on the others."
    if not analysis.complete:
        yield "The run is not finished."
    if run.blocks < LEAST_LAUNCHES:
        few = "One block" if run.blocks == 1 else "Two blocks"
        yield f"{few}: no claim is resolved with fewer than {LEAST_LAUNCHES} launches."
    if shared := analysis.oversubscribed:
        launches = count_text(shared, "launch")
        yield (
            f"{launches} had busy ranks that shared cores; their times are the scheduler's,"
            " are marked and decide no claim."
        )


def _printed(found: Sequence[Beside], number: int) -> StudyPart:
    """A table of the paper with what the run has of it."""
    table: PrintedTable = found[0].table
    tables = tables_of(found, f"table-{number}") if table.printed else []
    said = enumerate(table.doubts, start=1)
    doubtful = [(mark_of(place) if one.rows else "", one.remark) for place, one in said]
    note = "" if tables else table.note
    return StudyPart(table.number, table.title, note, tables, figures_of(found, number), doubtful)


def _lacking(found: Sequence[Beside]) -> Iterator[Uncounted]:
    """The columns of a table without a counterpart, those of one reason together."""
    reasons: dict[str, list[str]] = {}
    for one in found:
        if one.ours is None:
            reasons.setdefault(one.column.without, []).append(one.column.title)
        elif not any(kind.environments for _, (kind,) in [("", (one,)), *by_variant([one])]):
            why = one.why_nothing()
            told = f"not measured by this run{f': {why}' if why else ''}"
            reasons.setdefault(told, []).append(one.column.title)
    table = found[0].table
    for why, columns in reasons.items():
        yield Uncounted(table.number, f"{table.title}: {', '.join(columns)}", why)


def _shown(shown: Drawn, analysis: Analysis) -> StudyPart:
    """The run's part of a report, with a figure or statement that has no numbers in print."""
    check, section = shown.check, Section()
    if shown.shows == "section" and analysis.rows_of(check):
        section = own_section(check) or generic_section(analysis, check)
    pictures = [picture for make in section.pictures if (picture := make(analysis))]
    tables = [table for make in section.tables if (table := make(analysis))]
    for make in hooks("check_parts") if shown.only or shown.shows == "mpi_profile" else ():
        pictures_of, tables_of = make(analysis, check)
        pictures, tables = [*pictures, *pictures_of()], [*tables, *tables_of()]
    if shown.shows == "mpi_profile":
        pictures = [picture for picture in pictures if "profile" in picture.anchor]
        tables = [table for table in tables if "profile" in table.anchor]
    if shown.only:
        pictures = [picture for picture in pictures if picture.anchor in shown.only]
        tables = [table for table in tables if table.anchor in shown.only]
    note = shown.note if pictures or tables else f"{shown.note} This run did not measure it."
    return StudyPart(shown.number, shown.title, note, tables, pictures, [])
