# SPDX-License-Identifier: Apache-2.0
"""Files of what renderers made; PDF from the same HTML, printed by a headless Chromium, which must
be installed.

Page size, margins, page numbers and page breaks are the page's own CSS (`@page`, margin boxes).
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from records.errors import InfrastructureError
from records.files import replacing, write_whole
from records.text.plain_text import plain
from records.waiting import PRINT_S, scaled


def write_file(content: str | bytes, path: Path) -> None:
    """Write a file whole or not at all. Raises InfrastructureError when it cannot be written."""
    made = content if isinstance(content, bytes) else content.encode("utf-8", "replace")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, made)
    except OSError as error:
        raise InfrastructureError(f"{path}: cannot be written ({error.strerror}).") from error


def write_folder(folder: Path, files: Mapping[str, str]) -> None:
    """Write texts by name into a folder, each whole or not at all."""
    for name, content in files.items():
        write_file(plain(content), folder / name)


#: Names of the browsers that print, in order of preference.
BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
_SCRIPT = re.compile(r"<script>.*?</script>", re.DOTALL)
#: Details that a page prints: open ones, and those it keeps on paper.
_OPEN = re.compile(r"\bopen\b|\bkeep\b")


def find_browser() -> str | None:
    """Path of a browser that prints; None when there is none."""
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


def print_page(page: str, pdf: Path) -> None:
    """Print the text of a page, whose relative links start at the folder of `pdf`."""
    html = pdf.with_name(f".{pdf.name}.{os.getpid()}.html")
    try:
        html.write_text(for_print(page), encoding="utf-8")
        html_to_pdf(html, pdf)
    finally:
        html.unlink(missing_ok=True)


def for_print(page: str) -> str:
    """Page as it is printed: open parts only, for what paper does not show costs time."""
    kept, depth = [], 0
    for part in re.split(r"(?=<details\b)|(?<=</details>)", _SCRIPT.sub("", page)):
        tag = part[: part.find(">")] if part.startswith("<details") else ""
        if depth or (tag and not _OPEN.search(tag)):
            depth += bool(tag) - part.endswith("</details>")
        else:
            kept.append(part)
    return "".join(kept)


def html_to_pdf(html: Path, pdf: Path) -> None:
    """Print the self-contained page `html` to `pdf`; whole or not at all.

    Raises InfrastructureError that names the remedy when no browser is installed or it fails.
    """
    browser = find_browser()
    if browser is None:
        raise InfrastructureError(
            f"{pdf}: a PDF is printed by Chromium, and none of {', '.join(BROWSERS)} is in PATH."
            " Install one (apt-get install chromium), or open the HTML and print it."
        )
    with replacing(pdf) as temporary:
        # A process of the browser may outlive it and still write there.
        with tempfile.TemporaryDirectory(
            prefix="assay-pdf-", ignore_cleanup_errors=True
        ) as profile:
            output = _print(browser, html.resolve(), temporary.resolve(), Path(profile))
        if not temporary.is_file() or temporary.read_bytes()[:5] != b"%PDF-":
            raise InfrastructureError(f"{pdf}: {browser} printed no PDF. It said: {output[-400:]}")


def _print(browser: str, html: Path, pdf: Path, profile: Path) -> str:
    """Run the browser with a profile of its own; gives what it said."""
    argv = [browser, "--headless=new", "--disable-gpu", "--disable-dev-shm-usage"]
    # A browser of root refuses its own sandbox; the page is ours and has neither script nor link.
    argv += ["--no-sandbox"] if os.geteuid() == 0 else []
    argv += [f"--user-data-dir={profile}", "--no-pdf-header-footer", "--disable-extensions"]
    argv += [f"--print-to-pdf={pdf}", html.as_uri()]
    try:
        done = subprocess.run(
            argv,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=scaled(PRINT_S),
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InfrastructureError(f"{pdf.name}: {browser} could not print: {error}") from error
    return (done.stderr or done.stdout).strip()
