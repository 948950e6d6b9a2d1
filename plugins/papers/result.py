# SPDX-License-Identifier: Apache-2.0
"""A study compared with a run as a result: its document, its keys."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Annotated

from plugins.papers.claims import UNTESTABLE, judge_claims
from plugins.papers.document import StudyOutcome, StudyPart, claims_table
from plugins.papers.study import load_study, studies
from plugins.papers.tables import LONG
from records.forms import Form, Part, key
from reports.analysis.run import Analysis
from reports.commands import NextCommand, command, name_of
from reports.load.loading import Run
from reports.result import ON_TERMINAL, Block, Facts, FileText, Result, Section, Sentence, carried
from reports.show.tables import Column, Heading, RawLinks, pivot

_LACKING = "What has no counterpart"


class ClaimPart(Part, kw_only=True):
    """A claim of a study, held against the run."""

    claim: Annotated[str, key("What the study says.")]
    verdict: Annotated[
        str,
        key(
            "holds, does not hold, not resolved, cannot be tested here, differs between libraries."
        ),
    ]
    because: Annotated[
        str, key("Value, interval and n of each environment, or why it cannot be tested.")
    ] = ""


class PaperForm(Form, kw_only=True):
    """`assay paper`: a study compared with a run."""

    study: Annotated[str, key("The study.")]
    run: Annotated[str, key("The run directory.")]
    answer: Annotated[str, key("The first sentence.")]
    claims: Annotated[list[ClaimPart], key("Its claims.")]
    files: Annotated[list[str], key("The files written.")]


def paper_result(found: StudyOutcome) -> Result[PaperForm]:
    """A study compared with a run as a result; its form names no files yet."""
    study, run = found.study, found.analysis.run
    devices = run.provenance.devices
    claims = [
        ClaimPart(claim=one.claim.said, verdict=one.word, because=one.because)
        for one in found.claims
    ]
    remarks = [f"launches: {found.analysis.launches_text}", *run.plan.told()]
    return Result(
        kicker=f"Assay · a study of {study.year} compared with run {run.run_id} of campaign"
        f" {run.plan.campaign} on site {run.plan.site}",
        title=study.title,
        data=PaperForm(
            study=study.name, run=str(run.directory), answer=found.answer, claims=claims, files=[]
        ),
        facts=Facts([("by", f"{study.authors}, {study.published}"), *carried(devices)]),
        warnings=found.warnings,
        sentences=[
            Sentence(study.question),
            Sentence(found.answer),
            *(Sentence(f"{text[0].upper()}{text[1:]}.") for text in remarks),
        ],
        sections=[*_sections(found)],
        looks=found.analysis.looks,
        devices=devices,
        closing=f"Made by Assay from the records of run {run.run_id}; printed values as"
        f" transcribed, {study.name}.",
        dense=True,
    )


def _sections(found: StudyOutcome) -> Iterator[Section]:
    yield Section("each-claim", "", lambda: _in_short(found), shown_on=ON_TERMINAL)
    title, table = "What the paper claims", claims_table(found.claims)
    yield Section("claims", title, lambda: [table], short="Claims")
    for place, part in enumerate(found.parts, start=1):
        title, make = f"{part.number}: {part.title}", partial(_part, part)
        yield Section(f"part-{place}", title, make, note=part.note, short=part.number)
    yield Section("missing", _LACKING, lambda: _lacking(found), short="Without counterpart")
    yield Section("then", "How it was measured then", lambda: _then(found), short="Then")


def _in_short(found: StudyOutcome) -> Iterator[Block]:
    """The claims, a line each."""
    for one in found.claims:
        why = f" ({one.because})" if one.word == UNTESTABLE else ""
        yield Sentence(f"{one.word}: {one.claim.said}{why}")


def _part(part: StudyPart) -> Iterator[Block]:
    """A table or figure of the paper; long tables folded."""
    yield from part.pictures
    for table in part.tables:
        if len(table.rows) <= LONG:
            yield table
        else:
            fold = partial(tuple[Block, ...], [table])
            yield Section(f"all-{table.anchor}", table.title, fold, folded=True)
    if part.doubtful:
        yield Facts([(mark or "–", text) for mark, text in part.doubtful], "Doubtful in print")


def _lacking(found: StudyOutcome) -> Iterator[Block | None]:
    """A line a table, column or figure without a counterpart."""
    headings: list[Heading] = [Column(title) for title in ("of the paper", "shows", "reason")]
    yield pivot(
        found.lacking,
        [(headings, lambda one: [one.number, one.title, one.why])],
        anchor="missing",
        title=_LACKING,
    )


def _then(found: StudyOutcome) -> Iterator[Block]:
    """Procedure, machines, and the files that the paper prints."""
    study = found.study
    yield from map(Sentence, study.procedure)

    def machines() -> Iterator[Block]:
        yield from map(Sentence, study.then)
        for file in sorted(study.folder.glob("*.yaml")):
            yield FileText(file.name, "hardware and software of then", file.read_text())
        yield from (FileText(title, note, text) for title, note, text in study.files)

    yield Section("machines", "The machines of then", machines)


def report_section(analysis: Analysis, links: RawLinks) -> Section | None:
    """The section of a run whose campaign is a study's; None for another one."""
    name = analysis.run.plan.campaign
    if name not in studies():
        return None
    study, file = load_study(name), f"paper/{name}.html"
    href = f"{links.root}/{file}" if (analysis.run.directory / file).is_file() else ""
    text = f"{study.authors}, {study.title}. Its tables and figures next to this run's:"

    def blocks() -> Iterator[Block]:
        yield Sentence(text, href, code=f"assay paper {name} RUN")
        yield claims_table(judge_claims(study, analysis))

    return Section("study", f"Compared with the study of {study.year}", blocks, short="The study")


def next_command(run: Run) -> NextCommand | None:
    """Next command of a complete run of a study: its document."""
    name = run.plan.campaign
    return command("paper", name, name_of(run)) if name in studies() else None
