# SPDX-License-Identifier: Apache-2.0
"""A page and its pieces: what fits stays in index.html, the rest stands in pages beside it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from reports.show.raw_links import PAGES as RAW_PAGES

#: The page itself, and the folder of the pages beside it.
INDEX, FOLDER = "index.html", "details"
#: Bytes of index.html from which on pieces move out of it, the largest first.
MOST_BYTES = 2_400_000
_INNER = re.compile(r'<a href="#([^"]*)"')
_ID = re.compile(r'\bid="([^"]+)"')


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of the page that may stand in a page beside it, named `page`.

    `body` is its HTML, `told` says in a few words what is in it; an `open` piece is not folded, and
    moves last.
    """

    name: str
    page: str
    title: str
    told: str
    body: str
    open: bool = False

    @property
    def mark(self) -> Markup:
        """Stands in the page until it is known where the piece goes; no text of a run is like it,
        for that is escaped."""
        return Markup(f"<!--piece {self.name}-->")  # noqa: S704 (our own names)

    @property
    def file(self) -> str:
        """The page beside, as seen from index.html."""
        return f"{FOLDER}/{self.page}.html"

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


def laid_out(
    page: str,
    pieces: Sequence[Piece],
    cover: Callable[[str, str], str],
    root: str,
    most_bytes: int,
) -> dict[str, str]:
    """The pages by file name: `page` with the pieces that fit, and one for each `Piece.page` of
    the others, made by `cover` of its title and content.

    Links are written for where their ends have come to lie; `root` leads from the page to the run.
    """
    left = most_bytes - len(page.encode())
    moved: dict[str, list[Piece]] = {}
    for piece in sorted(pieces, key=lambda one: (not one.open, len(one.body))):
        size = len(piece.inside().encode())
        if size <= left:
            left -= size
            page = page.replace(piece.mark, piece.inside())
        else:
            moved.setdefault(piece.file, []).append(piece)
            page = page.replace(piece.mark, piece.beside())
    texts = {INDEX: page}
    for file, group in moved.items():
        ordered = sorted(group, key=pieces.index)
        body = "\n".join(piece.body for piece in ordered)
        for place in (root, RAW_PAGES):
            body = body.replace(f'<a href="{place}/', f'<a href="../{place}/')
        texts[file] = cover(ordered[-1].title, body)
    homes = {anchor: file for file in reversed(texts) for anchor in _ID.findall(texts[file])}
    return {file: _linked(text, file, homes, root) for file, text in texts.items()}


def _linked(text: str, file: str, homes: dict[str, str], root: str) -> str:
    """The page with its links as they are seen from `file`."""
    up = "" if file == INDEX else "../"

    def inner(link: re.Match[str]) -> str:
        home = homes.get(link[1])
        if home is None:
            return f'<a href="{up}{root}/records.jsonl"'
        return link[0] if home == file else f'<a href="{up}{home}#{link[1]}"'

    return _INNER.sub(inner, text)
