# SPDX-License-Identifier: Apache-2.0
"""The document of a study as page, text and PDF."""

from __future__ import annotations

from pathlib import Path

from records.errors import InfrastructureError
from records.files import write_whole
from reports.render.markdown import markdown_table, md
from reports.render.page import render_page
from reports.render.pdf import BackgroundPrint, find_browser
from reports.verdicts.papers.document import StudyOutcome
from reports.verdicts.papers.tables import LONG
from reports.write.summary import launches_text


def render_html(document: StudyOutcome) -> str:
    """The document as a page of one file."""
    parts = enumerate(document.parts, start=1)
    sections = [
        ("claims", "Claims"),
        *((f"part-{number}", part.number) for number, part in parts),
        *([("missing", "Without counterpart")] if document.lacking else []),
        ("then", "Then"),
    ]
    content = {
        "document": document,
        "sections": sections,
        "remarks": _remarks(document),
        "long": LONG,
    }
    return render_page("paper.html.j2", document.analysis.looks, content)


def _remarks(document: StudyOutcome) -> list[str]:
    """What the run is: how its launches ended, and what it leaves of its campaign."""
    analysis = document.analysis
    told = [f"launches: {launches_text(analysis)}", *analysis.run.plan.told()]
    return [f"{text[0].upper()}{text[1:]}." for text in told]


def render_markdown(document: StudyOutcome) -> str:
    """The same as text, pictures left out."""
    study, run = document.study, document.analysis.run
    lines = [f"# {md(study.title)}", "", f"{md(study.authors)}, {md(study.published)}.", ""]
    lines += [
        f"{md(study.question)} Beside it: run {md(run.run_id)}, site {md(run.plan.site)}.",
        "",
    ]
    lines += [document.answer, ""]
    lines += [f"- {md(text)}" for text in (*_remarks(document), *document.warnings)]
    lines += list(markdown_table(document.claims_table))
    for part in document.parts:
        lines += ["", f"## {md(part.number)}: {md(part.title)}", "", md(part.note)]
        lines += [line for table in part.tables for line in markdown_table(table)]
        lines += [f"- Doubtful{md(mark)}: {md(text)}" for mark, text in part.doubtful]
    if document.lacking_table:
        lines += list(markdown_table(document.lacking_table))
    lines += ["", "## How it was measured then", "", *(f"- {md(text)}" for text in study.procedure)]
    if study.then or study.machines or study.inputs:
        lines += ["", "## The machines of then", "", *(f"- {md(text)}" for text in study.then)]
    lines += [line for table in document.machines for line in markdown_table(table)]
    for title, note, text in document.inputs:
        lines += ["", f"### {md(title)}", "", md(note), ""]
        lines += [f"    {line}".rstrip() for line in text.splitlines()]
    return "\n".join(lines) + "\n"


def write_document(document: StudyOutcome, folder: Path) -> list[Path]:
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
            printer.start(page, folder / f"{stem}.pdf", LONG)
            printer.finish()
        written.append(folder / f"{stem}.pdf")
    return written
