# SPDX-License-Identifier: Apache-2.0
"""The report as Markdown: the same sentences and tables, pictures left to the HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from reports.analysis import Analysis
from reports.checks.sections import section_tables
from reports.choice.tables import choice_tables, comparison_tables
from reports.notation.units import count_text
from reports.show import listings, tables
from reports.show.size_tables import invalid_table
from reports.write import html as render
from reports.write.summary import summary_sentences

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|~$^-])")


def md(text: str) -> str:
    """`text` so that Markdown and the HTML it becomes show it as it is, on one line."""
    line = " ".join(render.without_control_characters(text).split())
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    line = re.sub(r"\b(https?|ftp|www)(?=[:.])", "\\1\u200b", line, flags=re.IGNORECASE)
    return _SPECIAL.sub(r"\\\1", line)


def render_markdown(analysis: Analysis, root: str) -> str:
    """The whole report; `root` is the relative way to the run directory."""
    return "\n".join(_lines(analysis, root)) + "\n"


def _lines(analysis: Analysis, root: str) -> Iterator[str]:
    run = analysis.run
    yield f"# {md(run.plan.question or run.plan.campaign)}"
    yield ""
    state = "complete" if analysis.complete else "**not finished**"
    names = f"Campaign {md(run.plan.campaign)}, site {md(run.plan.site)}"
    yield f"{names}, run {md(run.run_id)}: {state}."
    yield ""
    yield from (f"- **Warning:** {md(text)}" for text in run.warnings)
    yield from (f"- {md(sentence.text)}" for sentence in summary_sentences(analysis))
    yield ""
    yield "## Launches"
    yield from markdown_table(listings.status_table(analysis))
    for table in (
        listings.bad_launches_table(analysis, root),
        listings.bad_launches_table(analysis, root, on_purpose=True),
        listings.holes_table(analysis),
    ):
        if table:
            yield from markdown_table(table)
    for check in analysis.checks:
        yield f"## {md(analysis.register.check_title(check))}"
        yield ""
        yield md(tables.constant_note(analysis.labels[check]))
        yield ""
        for table in section_tables(analysis, check):
            yield from markdown_table(table)
    yield "## Environments compared"
    yield ""
    yield md(render.power_note(analysis.comparisons))
    yield ""
    for table in (*choice_tables(analysis), *comparison_tables(analysis)):
        yield from markdown_table(table)
    invalid = invalid_table(analysis)
    if invalid:
        yield "## Invalid on purpose: reply before wait"
        yield from markdown_table(invalid)
    yield from _provenance(analysis)


def _provenance(analysis: Analysis) -> Iterator[str]:
    yield "## Provenance"
    for name, pairs in listings.provenance_rows(analysis.run.provenance):
        yield ""
        yield f"### {md(name)}"
        yield ""
        yield from (f"- {md(key)}: {md(text)}" for key, text in pairs)


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
    titles = [f"{column.environment} {column.title}".strip() for column in table.columns]
    yield _row(md(title) for title in titles)
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
