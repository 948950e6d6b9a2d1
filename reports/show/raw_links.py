# SPDX-License-Identifier: Apache-2.0
"""Where a link to raw output leads: to the file, or to the page with members of archives."""

from __future__ import annotations

from pathlib import PurePosixPath
from urllib.parse import quote

#: The folder of pages with raw output, below that of a report.
PAGES = "raw"


def raw_link(root: str, path: str, pages: str = PAGES) -> str:
    """Link to an artifact below the run directory; "" for a path that leads out of it.

    A browser opens no archive: what lies in one is shown by a page of its case in `pages`.
    """
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts:
        return ""
    if pure.parent.suffix == ".zip":
        return f"{pages}/{page_of(pure.name)}#{quote(pure.name, errors='replace')}"
    return f"{root}/{quote(str(pure), errors='replace')}"


def page_of(member: str) -> str:
    """The page that shows a member: "ring-1a2b.html" of "ring-1a2b.b1.a1.out"."""
    return f"{quote(member.split('.b', maxsplit=1)[0], errors='replace')}.html"
