# SPDX-License-Identifier: Apache-2.0
"""A result on a terminal, or as its machine form, and in the files that are asked for."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.terminal import say
from records.errors import ExitStatus, InfrastructureError
from records.files import write_whole
from records.forms import Form, as_text
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
    print_result(result, [f"page: {folder / 'index.html'}"], as_json=as_json)


def print_result(result: Result[Any], files: Sequence[str] = (), *, as_json: bool) -> None:
    """Print what a result says first, with the `files` of it; or its machine form."""
    if as_json:
        print(as_text(result.data), end="")
    else:
        from assay.screens.screen import Screen  # slow: rich

        show(result, Screen(), [*files])


def print_form(form: Form, *lines: str, as_json: bool) -> int:
    """Print the machine form, or the lines; PASS."""
    if as_json:
        print(as_text(form), end="")
    for line in () if as_json else filter(None, lines):
        say(line)
    return ExitStatus.PASS


def print_or_write(text: str, output: Path | None) -> int:
    """Print the text, or write it whole or not at all."""
    if output is None:
        print(text, end="")
        return ExitStatus.PASS
    try:
        write_whole(output, text.encode())
    except OSError as error:
        raise InfrastructureError(
            f"{output}: could not be written ({error.strerror}); give another file"
        ) from error
    return ExitStatus.PASS
