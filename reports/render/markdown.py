# SPDX-License-Identifier: Apache-2.0
"""A result as Markdown: the answer, its facts, and the tables of each section."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from records.text.plain_text import plain
from reports.result import Facts, Result, Section, Sentence, Signing
from reports.show.tables import Table
from reports.write.markdown import markdown_table, md


def text(result: Result[Any]) -> str:
    """The whole result as text."""
    return "\n".join(_lines(result)) + "\n"


def _lines(result: Result[Any]) -> Iterator[str]:
    yield from (f"# {md(result.title)}", "")
    if answer := result.answer:
        yield from (f"**{md(answer.state.word)}**: {md(answer.sentence)}", "")
        if answer.unknown:
            yield from (f"Not known: {md(answer.unknown)}", "")
        if answer.command:
            yield from (f"Next: `{plain(answer.command)}`", "")
    yield from (f"- **Warning:** {md(one)}" for one in result.warnings)
    yield from (f"- {md(name)}: {md(value)}" for name, value in result.facts.pairs)
    yield from (f"- {md(one.text)}" for one in result.sentences)
    for section in result.sections_on("text"):
        yield from _section(section, 2)


def _section(section: Section, level: int) -> Iterator[str]:
    if not section.blocks:
        return
    yield from ("", f"{'#' * level} {md(section.title)}", "")
    for block in section.blocks:
        match block:
            case Sentence():
                yield f"- {md(block.text)}" + (f" `{plain(block.code)}`" if block.code else "")
            case Signing():
                yield from (md(block.statement), "")
            case Facts():
                yield from (f"- {md(name)}: {md(value)}" for name, value in block.pairs)
            case Table():
                yield from markdown_table(block)
            case Section():
                yield from _section(block, level + 1)
