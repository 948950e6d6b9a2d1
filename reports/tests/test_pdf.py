# SPDX-License-Identifier: Apache-2.0
"""A page becomes a PDF, or one message says why not."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from records.errors import InfrastructureError
from reports.render import files

PAGE = "<!DOCTYPE html><html><head><title>t</title></head><body><h1>One</h1></body></html>"

#: A browser that prints nothing but the first bytes of a PDF.
PRINTS = """\
#!/bin/bash
for word; do case $word in --print-to-pdf=*) printf %%PDF- >"${word#*=}" ;; esac; done
"""


@pytest.mark.full
@pytest.mark.skipif(files.find_browser() is None, reason="no browser: apt-get install chromium")
def test_a_page_is_printed(tmp_path):
    page = tmp_path / "page with blank.html"
    page.write_text(PAGE)
    files.html_to_pdf(page, tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF-")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page with blank.html", "page.pdf"]


def test_a_process_that_the_browser_leaves_behind_hinders_no_print(tmp_path, monkeypatch):
    """It writes into the profile while that is removed."""
    browser, rmdir = tmp_path / "chromium", os.rmdir
    browser.write_text(PRINTS)
    browser.chmod(0o755)

    def written(path, **more):
        if "assay-pdf-" in str(path):
            Path(path, "late").touch()
        rmdir(path, **more)

    monkeypatch.setattr(files, "find_browser", lambda: str(browser))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(os, "rmdir", written)
    files.html_to_pdf(tmp_path / "page.html", tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes() == b"%PDF-"


def test_without_a_browser_the_message_names_the_remedy(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InfrastructureError, match="apt-get install chromium"):
        files.html_to_pdf(tmp_path / "page.html", tmp_path / "page.pdf")
    assert not (tmp_path / "page.pdf").exists()


def test_what_is_not_printed_is_left_out_before():
    page = (
        "<p>a</p><details id='x'><summary>s</summary>hidden</details><p>b</p>"
        "<details open><summary>t</summary>shown</details>"
        "<details class='keep'>kept</details><script>var x;</script>"
        "<details>outer<details>inner</details>rest</details><p>c</p>"
    )
    assert files.for_print(page) == (
        "<p>a</p><p>b</p><details open><summary>t</summary>shown</details>"
        "<details class='keep'>kept</details><p>c</p>"
    )
