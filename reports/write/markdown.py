# SPDX-License-Identifier: Apache-2.0
"""The report as Markdown: the same sentences and tables, pictures left to the HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from records.plain_text import plain
from reports.notation.units import count_text
from reports.show import listings, tables
from reports.show.choice.tables import choice_tables, comparison_tables
from reports.show.invalid import invalid_table
from reports.write.content import Content
from reports.write.html import power_note
from reports.write.summary import summary_sentences

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|~$^-])")


def md(text: str) -> str:
    """`text` so that Markdown and the HTML it becomes show it as it is, on one line."""
    line = " ".join(plain(text).split())
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    line = re.sub(r"\b(https?|ftp|www)(?=[:.])", "\\1\u200b", line, flags=re.IGNORECASE)
    return _SPECIAL.sub(r"\\\1", line)


def render_markdown(content: Content) -> str:
    """The whole report."""
    analysis, root, run = content.analysis, content.root, content.analysis.run
    state = "complete" if analysis.complete else "**not finished**"
    names = f"Campaign {md(run.plan.campaign)}, site {md(run.plan.site)}"
    lines = [f"# {md(run.plan.question or run.plan.campaign)}", ""]
    lines += [f"{names}, run {md(run.run_id)}: {state}.", ""]
    lines += [f"- **Warning:** {md(text)}" for text in content.warnings]
    lines += [f"- {md(sentence.text)}" for sentence in summary_sentences(analysis)]
    if study := content.study:
        lines += ["", f"## Beside the study of {study.study.year}", ""]
        told = (
            f"{study.study.authors}, {study.study.title}. Its tables and figures beside this run:"
        )
        lines += [f"{md(told)} `{study.command}`.", *markdown_table(study.claims)]
    lines += ["", "## Launches", *markdown_table(listings.status_table(analysis))]
    for table in (
        listings.bad_launches_table(analysis, root),
        listings.bad_launches_table(analysis, root, on_purpose=True),
        listings.holes_table(analysis),
    ):
        lines += markdown_table(table) if table else ()
    for part in content.parts:
        lines += [f"## {md(part.title)}", "", md(part.constant), ""]
        lines += [line for table in part.tables for line in markdown_table(table)]
    lines += ["## Environments compared", "", md(power_note(analysis.comparisons)), ""]
    for table in (*choice_tables(analysis), *comparison_tables(analysis)):
        lines += markdown_table(table)
    if invalid := invalid_table(analysis):
        lines += ["## Invalid on purpose: reply before wait", *markdown_table(invalid)]
    lines.append("## Provenance")
    for name, pairs in listings.provenance_rows(run.provenance):
        lines += ["", f"### {md(name)}", "", *(f"- {md(key)}: {md(text)}" for key, text in pairs)]
    return "\n".join(lines) + "\n"


def markdown_table(table: tables.Table) -> Iterator[str]:
    """A table with its title; a cell's flags follow its text in brackets."""
    yield ""
    yield f"### {md(table.title)}"
    yield ""
    if table.note:
        yield md(table.note)
        yield ""
    if not table.rows:
        return
    yield _row(md(f"{column.environment} {column.title}".strip()) for column in table.columns)
    yield _row("---:" if column.numeric else "---" for column in table.columns)
    yield from (_row(_cell(cell) for cell in row) for row in table.rows)
    yield ""
    if table.omitted:
        yield f"{count_text(table.omitted, 'further row')} not shown; summary.csv has every value."
        yield ""


def _cell(cell: tables.Cell) -> str:
    text = md(cell.text)
    if cell.href and not cell.href.startswith("#"):
        text = f"[{text}](<{cell.href}>)"
    return text + "".join(f" \\[{md(badge)}\\]" for badge in cell.badges)


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"
