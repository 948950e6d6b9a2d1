# SPDX-License-Identifier: Apache-2.0
"""Pages of one file: a template of this package filled in, all text escaped, drawings numbered."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from importlib.resources import files
from itertools import count
from typing import Any

import jinja2
from markupsafe import Markup, escape

from records.text.plain_text import plain
from reports.notation.palette import Look
from reports.notation.units import count_text, unbroken
from reports.render.table_rows import table_rows
from reports.show.draw import ID_MARK, legend_sign, svg_of
from reports.show.panel import Panel

#: A date, with its time where that follows.
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d(?: \d\d:\d\d)?\b")


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


def scripts(*names: str) -> dict[str, str]:
    """The page's script, made of these templates without their comment lines, and its hash: the
    page's policy allows this text and no other script."""
    folder = files("reports.render").joinpath("templates")
    lines = (
        line
        for name in names
        for line in folder.joinpath(name).read_text(encoding="utf-8").splitlines(keepends=True)
    )
    script = "\n" + "".join(line for line in lines if not line.startswith("//"))
    digest = b64encode(sha256(script.encode()).digest()).decode()
    return {"script": Markup(script), "script_hash": digest}  # noqa: S704 (our own files)


def fill_in(template: str, content: Mapping[str, Any], ids: str = "p") -> str:
    """The page, or a piece of one. The same content gives the same text; `svg` in it places a
    panel, whose ids begin with `ids`."""
    numbers = count(1)

    def svg(panel: Panel) -> Markup:
        """Our own drawing (matplotlib escapes the text in it), its ids unique in the page."""
        return Markup(svg_of(panel).replace(ID_MARK, f"{ids}{next(numbers)}-"))  # noqa: S704

    page = _templates().get_template(template).render(svg=svg, **content)
    return plain(page)


def render_page(
    template: str, looks: Mapping[str, Look], content: Mapping[str, Any], ids: str = "p"
) -> str:
    """A page in the report's look; `looks` give the environments' signs, `ids` begin those of its
    drawings."""
    signs = {name: Markup(legend_sign(look)) for name, look in looks.items()}  # noqa: S704
    common = {
        "sign": lambda name: signs.get(name, ""),
        "table_rows": lambda table, cards: table_rows(table, signs, cards=cards),
        "count_text": count_text,
        "data": (),
        **scripts("report.js", "contents.js", "take-out.js"),
    }
    return fill_in(template, {**common, **content}, ids)
