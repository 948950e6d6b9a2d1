# SPDX-License-Identifier: Apache-2.0
"""A result that is of no run: its page and texts in a folder, and what it says on a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from records.forms import as_text
from reports.render import html, markdown
from reports.render.files import write_folder
from reports.render.terminal import show, text
from reports.result import Result


def show_pages(
    result: Result[Any],
    folder: Path,
    *,
    as_json: bool,
    name: str = "report",
    further: Mapping[str, str] | None = None,
) -> None:
    """Write the page, its texts and `further` files; print what it says first, or the machine
    form."""
    files = {
        "index.html": html.page(result),
        f"{name}.md": markdown.text(result),
        f"{name}.txt": text(result),
        f"{name}.json": as_text(result.data),
        **(further or {}),
    }
    write_folder(folder, files)
    if as_json:
        print(files[f"{name}.json"], end="")
    else:
        from assay.screens.screen import Screen  # slow: rich

        show(result, Screen(), [f"page: {folder / 'index.html'}"])
