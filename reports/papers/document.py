# SPDX-License-Identifier: Apache-2.0
"""The document of a study: tables and figures in the paper's order, claims and their verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from records.errors import InfrastructureError
from records.files import write_whole
from reports.analysis import Analysis, analyse
from reports.load.loading import load_run
from reports.papers.beside import besides, measured_share, tables_of
from reports.papers.claims import FAILS, HOLDS, UNRESOLVED, UNTESTABLE, Verdict, judge
from reports.papers.definition import Claim, PrintedTable, Study
from reports.papers.figures import figure_of
from reports.show.canvas import styled
from reports.show.lines import Picture
from reports.show.tables import Cell, Column, Table
from reports.write.html import render_page
from reports.write.markdown import markdown_table, md
from reports.write.pdf import BackgroundPrint, find_browser

#: The word for a claim whose verdicts are not the same in all environments.
DIFFERS = "differs between libraries"


@dataclass(frozen=True)
class Part:
    """One printed table: what stands beside it, its figures, its doubtful digits."""

    printed: PrintedTable
    tables: list[Table]
    pictures: list[Picture]


@dataclass(frozen=True)
class Judged:
    """A claim with its verdicts."""

    claim: Claim
    verdicts: list[Verdict]

    @property
    def word(self) -> str:
        """The verdict in a word, where the environments agree."""
        words = dict.fromkeys(verdict.word for verdict in self.verdicts)
        return next(iter(words)) if len(words) == 1 else DIFFERS


@dataclass(frozen=True)
class PaperDocument:
    """A study beside a run, ready to be written."""

    study: Study
    analysis: Analysis
    parts: list[Part]
    claims: list[Judged]
    measured: int
    printed: int

    @property
    def answer(self) -> str:
        """The first sentence: how many claims hold, and how much of the paper was measured."""
        words = Counter(one.word for one in self.claims)
        texts = {
            HOLDS: "hold",
            FAILS: "do not",
            UNRESOLVED: "are not resolved",
            UNTESTABLE: "cannot be tested here",
            DIFFERS: "differ between libraries",
        }
        told = ", ".join(f"{words[word]} {text}" for word, text in texts.items() if words[word])
        claims = f"Of {words.total()} claims {told}" if words else "No claim is listed"
        return f"{claims}; {self.measured} of {self.printed} printed points have a counterpart."

    def claims_table(self) -> Table:
        """A line a claim and environment."""
        rows: list[list[Cell]] = []
        groups = set()
        for one in self.claims:
            groups.add(len(rows))
            for number, verdict in enumerate(one.verdicts):
                lead = Cell(one.claim.said, title=one.claim.where, quiet=number > 0)
                place = Cell(one.claim.where, quiet=number > 0)
                name = Cell(verdict.environment, environment=verdict.environment)
                rows.append([lead, place, name, Cell(verdict.word), Cell(verdict.because)])
        columns = [Column(t) for t in ("claim", "where", "environment", "verdict", "because")]
        return Table(
            "claims", "What the paper claims", columns, rows, "", len(rows), frozenset(groups)
        )

    def missing_table(self) -> Table:
        """Tables and figures without a counterpart."""
        rows = [[Cell(one.number), Cell(one.title), Cell(one.why)] for one in self.study.missing]
        columns = [Column(title) for title in ("of the paper", "shows", "reason")]
        return Table("missing", "What nothing stands beside", columns, rows, "", len(rows))

    def machines(self) -> list[tuple[str, str]]:
        """What the machines of then were: key and words."""
        return list(_flat(self.study.machines_of_then()))


def _flat(found: Any, before: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(found, dict):
        for name, value in found.items():
            yield from _flat(value, f"{before} › {name}" if before else str(name))
    elif isinstance(found, list) and any(isinstance(one, dict) for one in found):
        for number, value in enumerate(found):
            named = value.get("name", number + 1) if isinstance(value, dict) else number + 1
            yield from _flat(value, f"{before} › {named}")
    elif isinstance(found, list):
        yield before, ", ".join(map(str, found))
    elif found is not None:
        yield before, str(found).replace("_", " ")


def make_document(study: Study, run: Path) -> PaperDocument:
    """The study beside the run. Raises AssayError as load_run does."""
    analysis = analyse(load_run(run))
    parts, measured, printed = [], 0, 0
    with styled():
        for number, table in enumerate(study.tables, start=1):
            found = besides(study, table, analysis)
            shares = measured_share(found)
            measured, printed = measured + shares[0], printed + shares[1]
            drawn = (figure_of(one, f"figure-{number}-{place}") for place, one in enumerate(found))
            pictures = [picture for picture in drawn if picture is not None]
            parts.append(Part(table, tables_of(found, f"table-{number}"), pictures))
    claims = [Judged(claim, judge(claim, analysis)) for claim in study.claims]
    return PaperDocument(study, analysis, parts, claims, measured, printed)


def render_html(document: PaperDocument) -> str:
    """The document as a page of one file."""
    return render_page("paper.html.j2", document.analysis.looks, {"document": document})


def render_markdown(document: PaperDocument) -> str:
    """The same as text, pictures left out."""
    study, run = document.study, document.analysis.run
    lines = [f"# {md(study.title)}", "", f"{md(study.authors)}, {md(study.published)}.", ""]
    lines += [
        f"{md(study.question)} Beside it: run {md(run.run_id)}, site {md(run.plan.site)}.",
        "",
    ]
    lines += [document.answer, ""]
    lines += list(markdown_table(document.claims_table()))
    for part in document.parts:
        lines += [line for table in part.tables for line in markdown_table(table)]
        lines += [f"- Doubtful: {md(text)}" for text in part.printed.doubtful]
    if document.study.missing:
        lines += list(markdown_table(document.missing_table()))
    lines += ["", "## Procedure then", "", *(f"- {md(text)}" for text in study.procedure)]
    lines += ["", "## Machines then", ""]
    lines += [f"- {md(name)}: {md(text)}" for name, text in document.machines()]
    return "\n".join(lines) + "\n"


def write_document(document: PaperDocument, folder: Path) -> list[Path]:
    """Write page, text and, where a browser prints, PDF; each whole or not at all.

    Raises InfrastructureError when a file cannot be written.
    """
    stem = document.study.name
    page = render_html(document)
    texts = {f"{stem}.html": page, f"{stem}.md": render_markdown(document)}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            write_whole(folder / name, text.encode("utf-8", "replace"))
    except OSError as error:
        raise InfrastructureError(f"{folder}: cannot be written ({error.strerror}).") from error
    written = [folder / name for name in texts]
    if find_browser():
        with BackgroundPrint() as printer:
            printer.start(page, folder / f"{stem}.pdf")
            printer.finish()
        written.append(folder / f"{stem}.pdf")
    return written
