# SPDX-License-Identifier: Apache-2.0
"""Two runs side by side as a page of one file, in the look of the report."""

from __future__ import annotations

from pathlib import Path

from records.errors import InfrastructureError
from records.files import write_whole
from reports.comparison.compare import RunComparison
from reports.comparison.picture import changes_picture
from reports.write.html import render_page


def write_page(found: RunComparison, path: Path) -> None:
    """Write the page whole or not at all. Raises InfrastructureError when it cannot be written."""
    looks = {**found.first.looks, **found.second.looks}
    drawn = changes_picture(found)
    sections = [(table.anchor, table.title) for table in (*found.tables, found.differences)]
    if drawn:
        sections.insert(0, (drawn.anchor, drawn.title))
    content = {"found": found, "sections": sections, "picture_of_changes": drawn}
    write_file(render_page("compare.html.j2", looks, content), path)


def write_file(text: str, path: Path) -> None:
    """Write a text whole or not at all. Raises InfrastructureError when it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text.encode("utf-8", "replace"))
    except OSError as error:
        raise InfrastructureError(f"{path}: cannot be written ({error.strerror}).") from error
