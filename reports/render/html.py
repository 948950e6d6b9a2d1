# SPDX-License-Identifier: Apache-2.0
"""A result as one page of HTML: nothing is loaded, all text is escaped, no script is needed."""

import re
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from hashlib import sha256
from importlib.resources import files
from itertools import count, groupby
from typing import Any

import jinja2
from markupsafe import Markup, escape

from records.flags import BEYOND_LIMIT, DISTURBED, INVALID_ON_PURPOSE, OVERSUBSCRIBED, meaning
from records.text.plain_text import plain, unbroken
from reports.notation.units import count_text
from reports.result import Facts, FileText, Result, Section, Sentence, Signing
from reports.show.draw import ID_MARK, legend_sign, svg_of
from reports.show.panel import Panel, Picture
from reports.show.tables import Cell, Column, Table

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


def page(result: Result[Any], data: Mapping[str, str] | None = None, root: str = "") -> str:
    """The result as one page. The same result gives the same text.

    `data`: other files of the result, and what each has. `root` leads from the page to the run
    directory; where it is given, a link to what the page has not leads to the records.
    """
    sections = [
        section for section in result.sections_on("page") if section.note or [*grouped(section)]
    ]
    named = [("answer", "Answer" if result.answer else "In short")]
    named += [(section.anchor, section.short or section.title) for section in sections]
    content = {**_common(result), "data": data or {}, "sections": sections, "named": named}
    text = fill_in("result.html.j2", content)
    ids = {*_ID.findall(text)} if root else set()
    missing = f'<a href="{root}/records.jsonl"'
    return _INNER.sub(lambda link: link[0] if not root or link[1] in ids else missing, text)


def grouped(section: Section) -> Iterator[tuple[str, Any]]:
    """The blocks of a section that a page shows, with their kinds; sentences in a row as one."""
    for kind, blocks in groupby(section.blocks, lambda block: _KINDS[type(block)]):
        if kind == "sentences":
            yield kind, [*blocks]
            continue
        for block in blocks:
            if not isinstance(block, Section) or ("page" in block.shown_on and [*grouped(block)]):
                yield kind, block


def _held(section: Section) -> str:
    """Counts of the blocks of a folded section."""
    parts = [*grouped(section)]
    if len(parts) == 1 and parts[0][0] == "table":
        return count_text(len(parts[0][1].rows) + parts[0][1].omitted, "row")
    kinds = Counter(kind for kind, _ in parts)
    return ", ".join(count_text(kinds[kind], noun) for kind, noun in _NOUNS.items() if kinds[kind])


def _common(result: Result[Any]) -> dict[str, Any]:
    """Functions that the templates need."""
    drawn = {f"sign-{place}": legend_sign(look) for place, look in enumerate(result.looks.values())}
    use = Markup(
        '<svg class="sign" width="28" height="12" aria-hidden="true"><use href="#{}"/></svg>'
    )
    signs = {name: use.format(anchor) for name, anchor in zip(result.looks, drawn, strict=True)}
    numbers = count(1)

    @cache
    def env(name: str) -> Markup:
        """An environment with its sign and its device."""
        device = result.devices.get(name)
        small = Markup("<small> {}</small>").format(device) if device else ""
        text = Markup('<span class="env">{}<span>{}{}</span></span>')
        return text.format(signs.get(name, ""), name, small)

    def svg(panel: Panel) -> Markup:
        """Our own drawing (matplotlib escapes the text in it), its ids unique in the page."""
        return Markup(svg_of(panel).replace(ID_MARK, f"p{next(numbers)}-"))  # noqa: S704

    return {
        "result": result,
        "grouped": grouped,
        "held": _held,
        "svg": svg,
        "sign": lambda name: signs.get(name, ""),
        "signs": {anchor: Markup(sign) for anchor, sign in drawn.items()},  # noqa: S704
        "env": env,
        "table_rows": lambda table: table_rows(table, env),
        "count_text": count_text,
        **_script(),
    }


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


#: Between the ends of an interval, which may break there.
_ENDS = " … "
#: Titles of columns whose cells the style knows by them.
_STYLED = ("verdict", "reason")


def table_rows(table: Table, env: Callable[[str], Markup]) -> Markup:
    """A `tr` a row, made without a template: a page may have tens of thousands of cells; `env`
    writes an environment."""
    lines = (f"<tr>{''.join(_cells(row, table.columns, env))}</tr>\n" for row in table.rows)
    return Markup("".join(lines))  # noqa: S704 (all text in it is escaped)


def _cells(
    row: Sequence[Cell], columns: Sequence[Column], env: Callable[[str], Markup]
) -> Iterator[str]:
    for index, (cell, column) in enumerate(zip(row, columns, strict=False)):
        title = f' title="{escape(cell.title)}"' if cell.title else ""
        kind = "num" if column.numeric else column.title if column.title in _STYLED else ""
        kind += " ends" if column.numeric and _ENDS in cell.text else ""
        own = f' class="{kind}"' if kind else ""
        tag, end = ('th scope="row"', "th") if not index else ("td", "td")
        yield f"<{tag}{own}{title}>{_content(cell, env)}</{end}>"


def _content(cell: Cell, env: Callable[[str], Markup]) -> str:
    """Text, link and badges of a cell."""
    if cell.parts:
        return ", ".join(
            f'<span title="{escape(part.title)}">{_content(part, env)}</span>'
            for part in cell.parts
        )
    if cell.environment:
        shown = str(env(cell.environment))
    else:
        shown = str(escape(unbroken(cell.text)))
        if cell.tone:
            shown = f'<span class="badge {cell.tone}">{shown}</span>'
    if cell.href:
        shown = f'<a href="{escape(cell.href)}">{shown}</a>'
    if cell.code:
        shown += f" <code>{escape(cell.code)}</code>"
    return shown + "".join(map(_badge, cell.badges)) if cell.badges else shown


def _badge(text: str) -> str:
    """A flag in its colour; the word itself always says what it is."""
    title = f' title="{escape(text_of)}"' if (text_of := meaning(text)) else ""
    kind = "bad" if text.startswith(INVALID_ON_PURPOSE) else ""
    if text.startswith((BEYOND_LIMIT, DISTURBED, OVERSUBSCRIBED, "n =")):
        kind = "warn"
    return f'<span class="badge {kind}"{title}>{escape(text)}</span>'
