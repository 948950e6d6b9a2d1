# SPDX-License-Identifier: Apache-2.0
"""Links and folded sections of a page."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from assay.documents.report import build_report
from reports.render import html
from reports.result import Result, Section
from reports.show.tables import Cell, Column, Table
from reports.tests.synthetic import case, write_run


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


@pytest.mark.full
def test_every_link_of_a_report_leads_somewhere(tmp_path: Path) -> None:
    cases = [
        case("hpl", name, {"p": 1, "q": 2, "n": n, "nb": 128})
        for name, n in product(("mpich", "lam"), range(1000, 1040))
    ]
    run = write_run(tmp_path / "run", cases, blocks=3)
    build_report(run, formats=("html", "md"))
    text = (run / "report/index.html").read_text()
    ids = set(re.findall(r'\bid="([^"]+)"', text))
    raw = 0
    for link in re.findall(r'<a [^>]*?href="([^"]+)"', text):
        file, _, anchor = link.partition("#")
        raw += (run / "report" / file).resolve().parent == (run / "raw").resolve()
        assert file or anchor in ids, link
    assert raw >= len(cases) * 3
