# SPDX-License-Identifier: Apache-2.0
"""A result as HTML: nothing is loaded, all text is escaped, no script is needed.

What would make the page too long moves to pages in a folder next to it.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import sha256
from importlib.resources import files
from itertools import count, groupby
from math import inf
from typing import Any

import jinja2
from markupsafe import Markup, escape

from records.text.plain_text import plain
from reports.notation.units import count_text, unbroken
from reports.render.table_rows import table_rows
from reports.result import Block, Facts, FileText, Result, Section, Sentence, Signing
from reports.show.draw import ID_MARK, legend_sign, svg_of
from reports.show.panel import Panel, Picture
from reports.show.tables import PAGES as RAW_PAGES
from reports.show.tables import Table

#: The page itself, and the folder of the pages next to it.
INDEX, FOLDER = "index.html", "details"
#: Bytes of the page from which on sections move out of it, the largest first.
MOST_BYTES = 2_400_000
#: A page with more parts than these has no contents of its own.
MOST_NAMED = 40
#: A date, with its time where that follows.
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d(?: \d\d:\d\d)?\b")
_INNER = re.compile(r'<a href="#([^"]*)"')
_ID = re.compile(r'\bid="([^"]+)"')
_KINDS: dict[type, str] = {
    Sentence: "sentences",
    Facts: "facts",
    Table: "table",
    Picture: "picture",
    FileText: "printed",
    Signing: "signing",
    Section: "section",
}
#: Kinds of blocks, as a folded section counts them.
_NOUNS = {"picture": "picture", "table": "table", "section": "part", "facts": "part"}


def page(result: Result[Any]) -> str:
    """The result as one page. The same result gives the same text."""
    return pages(result, whole=True)[INDEX]


def pages(
    result: Result[Any],
    data: Mapping[str, str] | None = None,
    root: str = "",
    *,
    whole: bool = False,
) -> dict[str, str]:
    """The page and those that it needs next to it, by file name.

    `data`: other files of the result, and what each has. `root` leads from the page to the run
    directory; where it is given, a link to what no page has leads to the records. `whole`: nothing
    moves out of the page.
    """
    sections = [
        section for section in result.sections_on("page") if section.note or [*grouped(section)]
    ]
    named = [("answer", "Answer" if result.answer else "In short")]
    named += [(section.anchor, section.short or section.title) for section in sections]
    made = _Fragments(result, data or {})
    text = made.fill("result.html.j2", sections=sections, named=named)
    return _laid_out(text, made, root, inf if whole else MOST_BYTES)


def grouped(section: Section) -> Iterator[tuple[str, Any]]:
    """The blocks of a section that a page shows, with their kinds; sentences in a row as one."""
    for kind, blocks in groupby(section.blocks, _kind):
        if kind == "sentences":
            yield kind, [*blocks]
            continue
        for block in blocks:
            if not isinstance(block, Section) or ("page" in block.shown_on and [*grouped(block)]):
                yield kind, block


def _kind(block: Block) -> str:
    return _KINDS[type(block)]


@dataclass(frozen=True)
class Piece:
    """A section that may move, rendered; `counts` says in a few words what is in it. `named` are
    ids and titles of its pictures, tables and cases."""

    section: Section
    counts: str
    body: str
    named: Sequence[tuple[str, str]]

    @property
    def mark(self) -> Markup:
        """Stands in the page until it is known where the piece goes; no text of a run is like it,
        for that is escaped."""
        return Markup(f"<!--piece {self.section.anchor}-->")  # noqa: S704 (our own names)

    @property
    def inside(self) -> str:
        """As it stands in the page."""
        if not self.section.folded:
            return self.body
        head = f"{escape(self.section.title)}{self._note}"
        return f'<details class="rest"><summary>{head}</summary>\n{self.body}\n</details>'

    @property
    def link(self) -> str:
        """Link that stands in the page once it has moved."""
        href = f"{FOLDER}/{self.section.page}.html"
        title = escape(self.section.title)
        return f'<p class="rest"><a href="{href}">{title}</a>{self._note}</p>'

    @property
    def _note(self) -> str:
        return f'<span class="note">{escape(self.counts)}</span>'


class _Fragments:
    """The parts of a page, rendered one by one; `pieces` are the sections that may move."""

    def __init__(self, result: Result[Any], data: Mapping[str, str]) -> None:
        self.pieces: list[Piece] = []
        self.data = data
        signs = {name: Markup(legend_sign(look)) for name, look in result.looks.items()}  # noqa: S704

        @cache
        def env(name: str) -> Markup:
            """An environment with its sign and its device."""
            device = result.devices.get(name)
            small = Markup("<small> {}</small>").format(device) if device else ""
            text = Markup('<span class="env">{}<span>{}{}</span></span>')
            return text.format(signs.get(name, ""), name, small)

        numbers = count(1)

        def svg(panel: Panel) -> Markup:
            """Our own drawing (matplotlib escapes the text in it), its ids unique in the page."""
            return Markup(svg_of(panel).replace(ID_MARK, f"p{next(numbers)}-"))  # noqa: S704

        self._common = {
            "result": result,
            "data": data,
            "grouped": grouped,
            "piece": self._piece,
            "svg": svg,
            "sign": lambda name: signs.get(name, ""),
            "env": env,
            "table_rows": lambda table, cards: table_rows(table, env, cards=cards),
            "count_text": count_text,
            **_script(),
        }

    def fill(self, template: str, **content: Any) -> str:
        """A template with what all of them need."""
        return fill_in(template, {**self._common, **content})

    def _piece(self, section: Section) -> Markup:
        """Render a section that may move and give the mark of its place."""
        kinds = Counter(kind for kind, _ in grouped(section))
        counts = [count_text(kinds[kind], noun) for kind, noun in _NOUNS.items() if kinds[kind]]
        parts = [f'<p class="note">{escape(section.note)}</p>'] if section.note else []
        named = []
        for kind, item in grouped(section):
            parts.append(self.fill("block.html.j2", kind=kind, item=item, section=section))
            if getattr(item, "anchor", "") and item.title:
                named.append((item.anchor, item.title))
        self.pieces.append(Piece(section, ", ".join(counts), "\n".join(parts), named))
        return self.pieces[-1].mark


def _laid_out(page: str, made: _Fragments, root: str, most_bytes: float) -> dict[str, str]:
    """The pages by file name: the first with the pieces that fit, and one for each `Section.page`
    of the others. Links are written for where their ends have come to lie."""
    left = most_bytes - len(page.encode())
    moved: dict[str, list[Piece]] = {}
    for piece in sorted(made.pieces, key=lambda item: (item.section.folded, len(item.inside))):
        size = len(piece.inside.encode())
        fits = size <= left
        left -= size if fits else 0
        page = page.replace(piece.mark, piece.inside if fits else piece.link)
        if not fits:
            moved.setdefault(piece.section.page, []).append(piece)
    texts = {INDEX: page}
    for name, pieces in moved.items():
        file = f"{FOLDER}/{name}.html"
        texts[file] = _details(made, sorted(pieces, key=made.pieces.index), root)
    homes = {anchor: file for file in reversed(texts) for anchor in _ID.findall(texts[file])}
    return {file: _linked(text, file, homes, root) for file, text in texts.items()}


def _details(made: _Fragments, pieces: Sequence[Piece], root: str) -> str:
    """The page of pieces in order."""
    # Links to the run and to other files, as they are seen from the folder.
    ways = "|".join(re.escape(way) for way in (f"{root}/", f"{RAW_PAGES}/", *made.data))
    body = re.sub(f'<a href="(?={ways})', '<a href="../', "\n".join(piece.body for piece in pieces))
    named = [name for piece in pieces for name in piece.named]
    return made.fill(
        "details.html.j2",
        title=pieces[-1].section.title,
        named=named if len(named) <= MOST_NAMED else [],
        body=Markup(body),  # noqa: S704 (our own page)
    )


def _linked(text: str, file: str, homes: Mapping[str, str], root: str) -> str:
    """The page with its links as they are seen from `file`."""
    up = "" if file == INDEX else "../"

    def inner(link: re.Match[str]) -> str:
        home = homes.get(link[1])
        if home is None:
            return f'<a href="{up}{root}/records.jsonl"' if root else link[0]
        return link[0] if home == file else f'<a href="{up}{home}#{link[1]}"'

    return plain(_INNER.sub(inner, text))


@lru_cache(maxsize=1)
def _templates() -> jinja2.Environment:
    """The templates, each compiled once."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("reports.render"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["unbroken"] = _unbroken
    return made


def _unbroken(text: str) -> Markup:
    """A sentence in which no line breaks inside a date or a quantity."""
    escaped = str(escape(unbroken(text)))
    return Markup(_DATE.sub(r'<span class="unbroken">\g<0></span>', escaped))  # noqa: S704


@lru_cache(maxsize=1)
def _script() -> dict[str, str]:
    """The page's script without its comment lines, and its hash: the page's policy allows this text
    and no other script."""
    folder = files("reports.render").joinpath("templates")
    lines = (
        line
        for name in ("report.js", "contents.js", "take-out.js")
        for line in folder.joinpath(name).read_text(encoding="utf-8").splitlines(keepends=True)
    )
    script = "\n" + "".join(line for line in lines if not line.startswith("//"))
    digest = b64encode(sha256(script.encode()).digest()).decode()
    return {"script": Markup(script), "script_hash": digest}  # noqa: S704 (our own files)


def fill_in(template: str, content: Mapping[str, Any]) -> str:
    """A template of this package filled in. The same content gives the same text."""
    return plain(_templates().get_template(template).render(**content))
