# SPDX-License-Identifier: Apache-2.0
"""A result as one HTML page: nothing is loaded, all text is escaped, no script is needed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from reports.render.page import render_page
from reports.result import Block, Facts, Result, Section, Sentence, Signing
from reports.show.panel import Picture
from reports.show.tables import Table

_KINDS: tuple[tuple[type, str], ...] = (
    (Sentence, "sentences"),
    (Facts, "facts"),
    (Table, "table"),
    (Picture, "picture"),
    (Signing, "signing"),
    (Section, "section"),
)


def page(result: Result[Any]) -> str:
    """The page. The same result gives the same text."""
    sections = [one for one in result.sections_on("page") if [*grouped(one)]]
    content = {
        "result": result,
        "sections": sections,
        "named": [(section.anchor, section.title) for section in sections],
        "grouped": grouped,
    }
    return render_page("result.html.j2", result.looks, content)


def grouped(section: Section) -> Iterator[tuple[str, object]]:
    """The blocks of a section that have something to show, sentences in a row as one."""
    for kind, blocks in groupby(section.blocks, _kind):
        if kind == "sentences":
            yield kind, [*blocks]
            continue
        for block in blocks:
            if not isinstance(block, Section) or [*grouped(block)]:
                yield kind, block


def _kind(block: Block) -> str:
    return next(word for kind, word in _KINDS if isinstance(block, kind))
