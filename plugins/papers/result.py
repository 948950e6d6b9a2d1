# SPDX-License-Identifier: Apache-2.0
"""A study compared with a run as a result: tables and figures in the paper's order, claims and
their verdicts, what has no counterpart; and the claims in the report of a run."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated, NamedTuple

from plugins.papers import claims
from plugins.papers.beside import Beside, besides, by_variant, measured_share
from plugins.papers.figures import figures_of
from plugins.papers.study import Drawn, Study, Uncounted, load_study, studies
from plugins.papers.tables import LONG, mark_of, tables_of
from records.forms import Form, Part, key
from records.plugins import hooks
from reports.analysis.run import Analysis
from reports.checks.sections import own_section
from reports.commands import NextCommand, command, name_of
from reports.load.loading import Run
from reports.notation.units import count_text, fixed
from reports.result import ON_TERMINAL, Block, Facts, FileText, Result, Section, Sentence, carried
from reports.show import section as of_check
from reports.show.panel import Picture
from reports.show.tables import Cell, Column, Heading, RawLinks, Table, pivot

_CLAIMS, _LACKING = "What the paper claims", "What has no counterpart"
_WITHOUT = "Without counterpart"
#: Words for several claims.
_MANY = {
    claims.HOLDS: "hold",
    claims.FAILS: "do not hold",
    claims.DIFFERS: "differ between libraries",
}


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


class _PaperPart(NamedTuple):
    """Table or figure of the paper, and the blocks with what the run has of it."""

    number: str
    title: str
    note: str
    blocks: list[Block]

    def section(self, place: int) -> Section:
        """The part as the section of this place, from 1."""
        title = f"{self.number}: {self.title}"
        return Section(
            f"part-{place}", title, lambda: self.blocks, note=self.note, short=self.number
        )


def paper_result(study: Study, analysis: Analysis) -> Result[PaperForm]:
    """A study compared with a run as a result; its form names no files yet."""
    run, devices = analysis.run, analysis.run.provenance.devices
    judged = claims.judge_claims(study, analysis)
    parts, lacking, measured, printed = _compared(study, analysis)
    left_out = [Sentence(f"{text[0].upper()}{text[1:]}.") for text in run.plan.told()]
    answer = _answer(judged, measured, printed)
    return Result(
        kicker=f"Assay · a study of {study.year} compared with run {run.run_id} of campaign"
        f" {run.plan.campaign} on site {run.plan.site}",
        title=study.title,
        data=PaperForm(
            study=study.name,
            run=str(run.directory),
            answer=answer,
            claims=[
                ClaimPart(claim=c.claim.said, verdict=c.word, because=c.because) for c in judged
            ],
            files=[],
        ),
        facts=Facts([("by", f"{study.authors}, {study.published}"), *carried(devices)]),
        warnings=[*_warnings(study, analysis)],
        sentences=[
            Sentence(study.question),
            Sentence(answer),
            Sentence(f"Launches: {analysis.launches_text}."),
        ],
        sections=[
            Section("each-claim", "", lambda: _in_short(judged), shown_on=ON_TERMINAL),
            Section("claims", _CLAIMS, lambda: [claims_table(judged)], short="Claims"),
            *(part.section(place) for place, part in enumerate(parts, start=1)),
            Section("missing", _LACKING, lambda: [_table(lacking), *left_out], short=_WITHOUT),
            Section("then", "How it was measured then", lambda: _then(study), short="Then"),
        ],
        looks=analysis.looks,
        devices=devices,
        closing=f"Made by Assay from the records of run {run.run_id}; printed values as"
        f" transcribed, {study.name}.",
        dense=True,
    )


def _compared(
    study: Study, analysis: Analysis
) -> tuple[list[_PaperPart], list[Uncounted], int, int]:
    """The parts of the paper in its order, what has no counterpart by design or in this run, and
    how many of how many printed values were measured."""
    parts: list[_PaperPart] = []
    lacking: list[Uncounted] = []
    measured = printed = 0
    for number, table in enumerate(study.tables, start=1):
        found = besides(study, table, analysis)
        parts.append(_printed(found, number))
        lacking += _lacking(found)
        there, every = measured_share(found)
        measured, printed = measured + there, printed + every
        for part in (_shown(one, analysis) for one in study.shown if one.after == table.number):
            parts.append(part)
            if not part.blocks:
                lacking.append(Uncounted(part.number, part.title, "not measured by this run"))
    return parts, [*lacking, *study.missing], measured, printed


def _answer(judged: Sequence[claims.JudgedClaim], measured: int, printed: int) -> str:
    """The first sentence: how many claims hold, and how much of the paper was measured."""
    words = Counter(one.word for one in judged)
    order = claims.HOLDS, claims.FAILS, claims.UNRESOLVED, claims.UNTESTABLE, claims.DIFFERS
    told = ", ".join(
        f"{words[word]} {word if words[word] == 1 else _MANY.get(word, word)}"
        for word in order
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
    if run.blocks < claims.LEAST_LAUNCHES:
        few = "One block" if run.blocks == 1 else "Two blocks"
        yield f"{few}: no claim is resolved with fewer than {claims.LEAST_LAUNCHES} launches."
    if shared := analysis.oversubscribed:
        launches = count_text(shared, "launch")
        yield (
            f"{launches} had busy ranks that shared cores; their times are the scheduler's,"
            " are marked and decide no claim."
        )


def _printed(found: Sequence[Beside], number: int) -> _PaperPart:
    """A table of the paper with what the run has of it; doubtful digits by their marks."""
    table = found[0].table
    tables = tables_of(found, f"table-{number}") if table.printed else []
    blocks = [*figures_of(found, number), *map(_folded, tables)]
    said = enumerate(table.doubts, start=1)
    if doubtful := [(mark_of(place) if one.rows else "–", one.remark) for place, one in said]:
        blocks.append(Facts(doubtful, "Doubtful in print"))
    return _PaperPart(table.number, table.title, "" if tables else table.note, blocks)


def _folded(table: Table) -> Block:
    """The table, folded if it is long."""
    if len(table.rows) <= LONG:
        return table
    return Section(f"all-{table.anchor}", table.title, lambda: [table], folded=True)


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


def _shown(shown: Drawn, analysis: Analysis) -> _PaperPart:
    """The run's part of a report, with a figure or statement that has no numbers in print."""
    check, section = shown.check, of_check.Section()
    if analysis.rows_of(check):
        section = own_section(check) or of_check.generic_section(analysis, check)
    pictures = [picture for make in section.pictures if (picture := make(analysis))]
    tables = [table for make in section.tables if (table := make(analysis))]
    for make in hooks("check_parts") if shown.only else ():
        pictures_of, tables_of = make(analysis, check)
        pictures, tables = [*pictures, *pictures_of()], [*tables, *tables_of()]
    parts: list[Picture | Table] = [*pictures, *tables]
    blocks = [
        part if isinstance(part, Picture) else _folded(part)
        for part in parts
        if part.anchor in shown.only or not shown.only
    ]
    note = shown.note if blocks else f"{shown.note} This run did not measure it."
    return _PaperPart(shown.number, shown.title, note, blocks)


def _in_short(judged: Sequence[claims.JudgedClaim]) -> Iterator[Block]:
    """The claims, a line each."""
    for one in judged:
        why = f" ({one.because})" if one.word == claims.UNTESTABLE else ""
        yield Sentence(f"{one.word}: {one.claim.said}{why}")


def claims_table(judged: Sequence[claims.JudgedClaim]) -> Table:
    """A line a claim and environment."""
    rows = [
        [
            *(Cell(one.claim.said, title=one.claim.where), Cell(one.claim.where)),
            Cell(verdict.environment, environment=verdict.environment),
            *(Cell(verdict.word), Cell(verdict.because)),
        ]
        for one in judged
        for verdict in one.verdicts
    ]
    columns = [Column(t) for t in ("claim", "where", "environment", "verdict", "because")]
    return Table("claims", _CLAIMS, columns, rows, "", len(rows))


def _table(lacking: Sequence[Uncounted]) -> Table | None:
    """A line a table, column or figure without a counterpart."""
    headings: list[Heading] = [Column(title) for title in ("of the paper", "shows", "reason")]
    cells = [(headings, lambda one: [one.number, one.title, one.why])]
    return pivot(lacking, cells, anchor="missing", title=_LACKING)


def _then(study: Study) -> Iterator[Block]:
    """Procedure, machines, and the files that the paper prints."""
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
        yield claims_table(claims.judge_claims(study, analysis))

    return Section("study", f"Compared with the study of {study.year}", blocks, short="The study")


def next_command(run: Run) -> NextCommand | None:
    """Next command of a complete run of a study: its document."""
    name = run.plan.campaign
    return command("paper", name, name_of(run)) if name in studies() else None
