# SPDX-License-Identifier: Apache-2.0
"""Where a link to raw output leads: to the file, or to the page with members of archives."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePosixPath
from urllib.parse import quote

from records.run.archive import is_member

#: The folder of pages with raw output, below that of a report.
PAGES = "raw"


@dataclass(frozen=True)
class RawLinks:
    """Links from a page to raw output, by the way `root` from it to the run directory; `cases` are
    the ids of those whose pages it links.

    A browser opens no archive: what lies in one is shown by a page of its case in `pages`.
    """

    root: str
    pages: str = PAGES
    cases: set[str] = field(default_factory=set)

    def to(self, path: str) -> str:
        """Link to an artifact below the run directory; "" for no path or one that leads out."""
        pure = PurePosixPath(path)
        if pure.is_absolute() or ".." in pure.parts or not pure.parts:
            return ""
        if not is_member(str(pure)):
            return f"{self.root}/{quote(str(pure), errors='replace')}"
        case = pure.name.split(".b", maxsplit=1)[0]
        self.cases.add(case)
        return f"{self.pages}/{page_of(case)}#{quote(pure.name, errors='replace')}"


def page_of(case: str) -> str:
    """The page that shows the members of a case: "ring-1a2b.html"."""
    return f"{quote(case, errors='replace')}.html"
