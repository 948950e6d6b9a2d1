# SPDX-License-Identifier: Apache-2.0
"""A page and its pieces: what fits stays in index.html, the rest stands in pages beside it, each of
bounded length."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup, escape

from records.text.plain_text import plain
from reports.show.raw_links import PAGES as RAW_PAGES

#: The page itself, and the folder of the pages beside it.
INDEX, FOLDER = "index.html", "details"
#: Bytes of index.html from which on pieces move out of it, the largest first.
MOST_BYTES = 2_400_000
#: Bytes of what a page beside holds, below its head; bytes of one part of it.
MOST_BESIDE, MOST_PART = 900_000, 300_000
_INNER = re.compile(r'<a href="#([^"]*)"')
_ID = re.compile(r'\bid="([^"]+)"')


@dataclass(frozen=True, slots=True)
class Part:
    """What a page beside is not broken within: a picture, a table, a case; its id and its title."""

    anchor: str
    title: str
    body: str


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of the page that may stand in a page beside it, named `page`.

    `told` says in a few words what is in it; an `open` piece is not folded, and moves last.
    """

    name: str
    page: str
    title: str
    told: str
    parts: Sequence[Part]
    open: bool = False

    @property
    def body(self) -> str:
        """Its HTML."""
        return "\n".join(part.body for part in self.parts)

    @property
    def mark(self) -> Markup:
        """Stands in the page until it is known where the piece goes; no text of a run is like it,
        for that is escaped."""
        return Markup(f"<!--piece {self.name}-->")  # noqa: S704 (our own names)

    @property
    def file(self) -> str:
        """The first page beside, as seen from index.html."""
        return file_of(self.page, 1)

    def inside(self) -> str:
        """As it stands in the page."""
        if self.open:
            return self.body
        told = f'<span class="note">{escape(self.told)}</span>'
        return (
            f'<details class="rest"><summary>{escape(self.title)}{told}</summary>\n'
            f"{self.body}\n</details>"
        )

    def beside(self) -> str:
        """What stands in the page in its place."""
        return (
            f'<p class="rest"><a href="{self.file}">{escape(self.title)}</a>'
            f'<span class="note">{escape(self.told)}</span></p>'
        )


@dataclass(frozen=True, slots=True)
class Sheet:
    """A page beside: the name of its file, its title, its parts, and what stands in each page of
    the same name as (file, first title, last title)."""

    file: str
    title: str
    parts: Sequence[Part]
    pages: Sequence[tuple[str, str, str]]


def file_of(page: str, number: int) -> str:
    """The file of a page beside, as seen from index.html; further ones are numbered."""
    return f"{FOLDER}/{page}{f'-{number}' if number > 1 else ''}.html"


def laid_out(
    page: str,
    pieces: Sequence[Piece],
    cover: Callable[[Sheet], str],
    root: str,
    most_bytes: int,
    *,
    most_beside: int,
    data: Sequence[str] = (),
) -> dict[str, str]:
    """The pages by file name: `page` with the pieces that fit, and for each `Piece.page` of the
    others as many pages of `most_beside` bytes as they need, made by `cover`.

    Links are written for where their ends have come to lie; `root` leads from the page to the run,
    `data` are files beside the page.
    """
    left = most_bytes - len(page.encode())
    moved: dict[str, list[Piece]] = {}
    for piece in sorted(pieces, key=lambda one: (not one.open, len(one.body))):
        size = len(piece.inside().encode())
        if size <= left:
            left -= size
            page = page.replace(piece.mark, piece.inside())
        else:
            moved.setdefault(piece.page, []).append(piece)
            page = page.replace(piece.mark, piece.beside())
    texts = {INDEX: page}
    for name, group in moved.items():
        ordered = sorted(group, key=pieces.index)
        for sheet in _sheets(name, ordered, most_beside):
            texts[sheet.file] = cover(_from_beside(sheet, root, data))
    homes = {anchor: file for file in reversed(texts) for anchor in _ID.findall(texts[file])}
    return {file: _linked(text, file, homes, root) for file, text in texts.items()}


def _from_beside(sheet: Sheet, root: str, data: Sequence[str]) -> Sheet:
    """The sheet with links to the run and to files of data as they are seen from its folder."""
    ways = "|".join(re.escape(way) for way in (f"{root}/", f"{RAW_PAGES}/", *data))
    outward = re.compile(f'<a href="(?={ways})')
    return replace(
        sheet,
        parts=[replace(part, body=outward.sub('<a href="../', part.body)) for part in sheet.parts],
    )


def _sheets(name: str, pieces: Sequence[Piece], most_bytes: int) -> list[Sheet]:
    """The parts of pieces in order, over as many pages as they need."""
    groups: list[list[Part]] = []
    room = 0
    for part in (part for piece in pieces for part in piece.parts):
        size = len(part.body.encode()) + 1
        if size > room:
            groups.append([])
            room = most_bytes
        groups[-1].append(part)
        room -= size
    files = [file_of(name, number) for number in range(1, len(groups) + 1)]
    titles = [[part.title for part in group if part.title] or [""] for group in groups]
    pages = [
        (file.removeprefix(f"{FOLDER}/"), named[0], named[-1])
        for file, named in zip(files, titles, strict=True)
    ]
    title = pieces[-1].title
    return [Sheet(file, title, group, pages) for file, group in zip(files, groups, strict=True)]


def _linked(text: str, file: str, homes: dict[str, str], root: str) -> str:
    """The page with its links as they are seen from `file`."""
    up = "" if file == INDEX else "../"

    def inner(link: re.Match[str]) -> str:
        home = homes.get(link[1])
        if home is None:
            return f'<a href="{up}{root}/records.jsonl"'
        return link[0] if home == file else f'<a href="{up}{home}#{link[1]}"'

    return plain(_INNER.sub(inner, text))
