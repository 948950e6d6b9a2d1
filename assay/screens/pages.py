# SPDX-License-Identifier: Apache-2.0
"""A result that is of no run: its page and texts in a folder, and what it says on a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from records.forms import as_text
from reports.render import html, markdown
from reports.render.files import write_folder
from reports.render.terminal import show, text
from reports.result import Result


def show_pages(result: Result[Any], folder: Path, *, as_json: bool) -> None:
    """Write the page and print what it says first, or the machine form."""
    files = {
        "index.html": html.page(result),
        "report.md": markdown.text(result),
        "report.txt": text(result),
        "report.json": as_text(result.data),
    }
    write_folder(folder, files)
    if as_json:
        print(files["report.json"], end="")
    else:
        from assay.screens.screen import Screen  # slow: rich

        show(result, Screen(), [f"page: {folder / 'index.html'}"])
