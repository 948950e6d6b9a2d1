# SPDX-License-Identifier: Apache-2.0
"""A result on a terminal: the answer first, then what each section shows there."""

from collections.abc import Sequence
from typing import Any, Literal

from records.text.plain_text import plain
from reports.commands import NextCommand
from reports.notation.units import count_text
from reports.result import Badge, Block, Facts, FileText, Result, Section, Sentence, Signing
from reports.show.panel import Picture
from reports.show.tables import Cell, Column, Table

#: What a text means on a terminal; the style follows.
Style = Literal["plain", "good", "bad", "open", "quiet", "head"]
Styled = str | tuple[str, Style]
_OF_ANSWER: dict[str, Style] = {"good": "good", "warn": "open", "bad": "bad", "plain": "head"}
#: Further sentences of an answer that are shown.
MOST_DETAILS = 3


class Lines:
    """Where lines and tables go: kept as they are written to a file, no colour, nothing broken.

    `assay.screens.screen.Screen` prints them on a terminal.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []

    def line(self, *parts: Styled, indent: int = 0, hang: int = 0) -> None:
        """A paragraph of parts; `hang`: by how much more its next lines are indented."""
        del hang
        self.lines.append(" " * indent + "".join(map(_words, parts)))

    def blank(self) -> None:
        """An empty line."""
        self.lines.append("")

    def table(self, columns: Sequence[Column], rows: Sequence[Sequence[Styled]]) -> None:
        """Rows below headings; here a line for each."""
        del columns
        self.lines += ["  " + "  ".join(map(_words, row)) for row in rows]


def _words(part: Styled) -> str:
    return part if isinstance(part, str) else part[0]


def text(result: Result[Any]) -> str:
    """Plain text of what `show` prints."""
    out = Lines()
    show(result, out)
    return plain("\n".join(out.lines)) + "\n"


def show(result: Result[Any], out: Lines, files: Sequence[str] = ()) -> None:
    """Print a result; `files` are those that were written."""
    out.line((result.kicker, "quiet"), hang=2)
    if answer := result.answer:
        out.blank()
        badge = f"{answer.state.word.upper()}: ", _OF_ANSWER[answer.state.colour]
        out.line(badge, (answer.sentence, "head"), hang=2)
        for text in answer.details[:MOST_DETAILS]:
            out.line(text, indent=2, hang=2)
    else:
        out.line((result.title, "head"), hang=2)
    for text in result.warnings:
        out.line(("warning: ", "open"), text, indent=2, hang=2)
    for name, text in result.facts.pairs:
        out.line((f"{name}: ", "quiet"), text, indent=2, hang=2)
    for sentence in result.sentences:
        _block(sentence, out, "")
    for section in result.sections_on("terminal"):
        if section.blocks:
            out.blank()
            _section(section, out)
    if answer:
        out.blank()
        if answer.unknown:
            out.line(("not known: ", "quiet"), answer.unknown, indent=2, hang=2)
        show_command(answer.command, out)
    for path in files:
        out.line(path, indent=2)


def show_command(command: NextCommand, out: Lines, indent: int = 2) -> None:
    """The command that comes next, if one does."""
    if command:
        out.line(("next: ", "quiet"), command, indent=indent, hang=6)


def _section(section: Section, out: Lines) -> None:
    if section.title:
        out.line(*_badge(section.badge), (section.title, "head"), hang=2)
    for block in section.blocks:
        _block(block, out, section.title)


def _block(block: Block, out: Lines, above: str) -> None:
    match block:
        case Sentence():
            code = [f" {block.code}"] if block.code else []
            out.line(*_badge(block.badge), block.text, *code, indent=2, hang=2)
        case Facts():
            for name, text in block.pairs:
                out.line((f"{name}: ", "quiet"), text, indent=2, hang=2)
        case Table():
            _table(block, out, above)
        case Section():
            _section(block, out)
        case Picture() | Signing() | FileText():
            pass


def _table(table: Table, out: Lines, above: str) -> None:
    if table.title not in ("", above):
        out.line((table.title, "head"), hang=2)
    if table.rows:
        out.table(table.columns, [[_cell(cell) for cell in row] for row in table.rows])
    if table.note:
        out.line((table.note, "quiet"), indent=2, hang=2)
    if table.omitted:
        out.line(f"{count_text(table.omitted, 'further row')} not shown", indent=2)


def _cell(cell: Cell) -> Styled:
    style: Style = cell.tone or ("head" if cell.environment else "plain")
    return " ".join([cell.text, *cell.badges]), style


def _badge(badge: Badge | None) -> list[Styled]:
    return [(badge.word, badge.tone), " "] if badge else []
