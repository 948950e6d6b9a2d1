# SPDX-License-Identifier: Apache-2.0
"""Pieces of a page: links, folded sections, tables that are made from structs; and a page becomes a
PDF, or one message says why not."""

import os
import tempfile
from pathlib import Path
from typing import Annotated, Any

import pytest

from records.errors import InfrastructureError
from records.forms import Part, key
from reports.notation.units import percent
from reports.render import files, html
from reports.result import Result, Section
from reports.show.tables import Cell, Column, Table, in_unit, table_of


def test_a_link_to_what_the_page_has_not_leads_to_the_records() -> None:
    cells = [[Cell("to", href=link)] for link in ("#there", "#nowhere")]
    table = Table("there", "Table", [Column("x")], cells)
    result: Any = Result("kicker", "title", None, sections=[Section("s", "S", lambda: [table])])
    page = html.page(result, root="..")
    assert '<a href="../records.jsonl">to</a>' in page and '<a href="#there">to</a>' in page
    assert '<a href="#nowhere">to</a>' in html.page(result)


def test_a_folded_section_says_what_it_holds_and_folds_each_of_its_tables() -> None:
    tables = [Table(f"t{n}", f"T{n}", [Column("x")], [[Cell("1")]] * 3) for n in range(2)]
    folded = Section("f", "F", lambda: tables, folded=True)
    result: Any = Result("kicker", "title", None, sections=[Section("s", "S", lambda: [folded])])
    page = html.page(result)
    assert "2 tables" in page and page.count("3 rows") == 2
    assert page.count("<details") == 4  # contents, the section, its tables


class Row(Part):
    """A struct that is shown."""

    node: Annotated[str, key("The node.", "node")]
    value: Annotated[float, key("The value.", "value", in_unit, numeric=True)]
    unit: Annotated[str, key("Its SI unit.")]
    share: Annotated[float | None, key("A share.", "share", percent, numeric=True)]
    verdict: Annotated[str, key("The verdict.", "verdict")]


def test_a_table_is_made_from_the_fields_of_its_structs() -> None:
    rows = [Row("n1", 2.5e9, "bytes/s", 0.5, "FAIL"), Row("n2", 1e6, "bytes/s", None, "PASS")]
    table = table_of(rows, anchor="a", title="A")
    assert table is not None
    numbers = [Column(title, numeric=True) for title in ("value", "share")]
    assert table.columns == [Column("node"), *numbers, Column("verdict")]
    shown = [Cell("n1"), Cell("2.500 GB/s"), Cell("50.0 %"), Cell("FAIL", tone="bad")]
    assert table.rows[0] == shown
    assert [cell.text for cell in table.rows[1]] == ["n2", "1.000 MB/s", "–", "PASS"]
    chosen = table_of(rows, "verdict", "node", anchor="a", title="A", most=1)
    assert chosen is not None
    assert [[cell.text for cell in row] for row in chosen.rows] == [["FAIL", "n1"]]
    assert chosen.omitted == 1
    assert table_of([], anchor="a", title="A") is None


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
