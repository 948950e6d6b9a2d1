# SPDX-License-Identifier: Apache-2.0
"""A result as Markdown: the answer, its facts, and the tables of each section."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from records.text.plain_text import plain
from reports.notation.units import count_text
from reports.result import Facts, FileText, Result, Section, Sentence, Signing
from reports.show.tables import Cell, Table

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|~$^-])")


def md(text: str) -> str:
    """`text` so that Markdown and the HTML it becomes show it as it is, on one line."""
    line = " ".join(plain(text).split())
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    line = re.sub(r"\b(https?|ftp|www)(?=[:.])", "\\1\u200b", line, flags=re.IGNORECASE)
    return _SPECIAL.sub(r"\\\1", line)


def text(result: Result[Any], data: Mapping[str, str] | None = None) -> str:
    """The result as text; `data`: other files of it, and what each has."""
    lines = [*_head(result)]
    for section in result.sections_on("text"):
        lines += _section(section, 2)
    lines += ["", "## Where the rest is", ""] if data else []
    lines += [f"- {md(name)}: {what}" for name, what in (data or {}).items()]
    return "\n".join(lines) + "\n"


def _head(result: Result[Any]) -> Iterator[str]:
    yield from (f"# {md(result.title)}", "", md(result.kicker), "")
    if answer := result.answer:
        yield from (f"**{md(answer.state.word)}**: {md(answer.sentence)}", "")
        if answer.unknown:
            yield from (f"Not known: {md(answer.unknown)}", "")
        if answer.command:
            yield from (f"Next: `{plain(answer.command)}`", "")
    yield from (f"- **Warning:** {md(item)}" for item in result.warnings)
    yield from (f"- {md(name)}: {md(value)}" for name, value in result.facts.pairs)
    yield from (f"- {md(item.text)}" for item in result.sentences)
    if result.first:
        yield from _blocks(result.first, 2)


def _section(section: Section, level: int) -> Iterator[str]:
    if section.note or section.blocks:
        yield from ("", f"{'#' * level} {md(section.title)}", "")
        yield from (md(section.note), "") if section.note else ()
        yield from _blocks(section, level + 1)


def _blocks(section: Section, level: int) -> Iterator[str]:
    for block in section.blocks:
        match block:
            case Sentence():
                yield f"- {md(block.text)}" + (f" `{plain(block.code)}`" if block.code else "")
            case Signing():
                yield from (md(block.statement), "")
            case Facts():
                yield from ("", f"### {md(block.title)}", "") if block.title else ()
                yield from (f"- {md(name)}: {md(value)}" for name, value in block.pairs)
            case FileText():
                yield from ("", f"### {md(block.title)}", "", md(block.note), "")
                yield from (f"    {line}".rstrip() for line in block.text.splitlines())
            case Table():
                yield from markdown_table(block, heading=block.title != section.title)
            case Section() if "text" in block.shown_on:
                yield from _section(block, level)


def markdown_table(table: Table, *, heading: bool = True) -> Iterator[str]:
    """A table with its title; a cell's flags follow its text in brackets."""
    yield from ("", f"### {md(table.title)}", "") if heading else ("",)
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


def _cell(cell: Cell) -> str:
    text = md(cell.text)
    if cell.href and not cell.href.startswith("#"):
        text = f"[{text}](<{cell.href}>)"
    return text + "".join(f" \\[{md(badge)}\\]" for badge in cell.badges)


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"
