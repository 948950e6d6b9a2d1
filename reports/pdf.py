# SPDX-License-Identifier: Apache-2.0
"""PDF from the same HTML: printed by a headless Chromium, which must be installed.

Page size, margins, page numbers and page breaks are the page's own CSS (`@page`, margin boxes).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from campaigns.errors import InfrastructureError

#: Names of the browsers that print, in order of preference.
BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
PRINT_LIMIT_S = 120.0


def find_browser() -> str | None:
    """Where a browser that prints lies; None when there is none."""
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


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
    temporary = pdf.with_name(f".{pdf.name}.{os.getpid()}.part")
    try:
        with tempfile.TemporaryDirectory(prefix="assay-pdf-") as profile:
            said = _print(browser, html.resolve(), temporary.resolve(), Path(profile))
        if not temporary.is_file() or temporary.read_bytes()[:5] != b"%PDF-":
            raise InfrastructureError(f"{pdf}: {browser} printed no PDF. It said: {said[-400:]}")
        temporary.replace(pdf)
    finally:
        temporary.unlink(missing_ok=True)


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
            timeout=PRINT_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InfrastructureError(f"{pdf.name}: {browser} could not print: {error}") from error
    return (done.stderr or done.stdout).strip()
