# SPDX-License-Identifier: Apache-2.0
"""A page stays short: what is too much lies beside it, and every link still leads somewhere."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from assay.documents.report import MOST_LINES, build_report
from reports.render import html
from reports.result import Block, Result, Section, Sentence
from reports.show.tables import Cell, Column, Table
from reports.tests.synthetic import case, write_run

EMPTY: Any = None


def table(name: str, rows: int, *links: str) -> Table:
    to = [Cell("to", href=link) for link in links]
    cells = [[Cell(f"{name} {row}"), *to] for row in range(rows)]
    return Table(f"{name}-id", name, [Column("x")] * (1 + len(links)), cells)


def movable(name: str, *blocks: Block, folded: bool = True) -> Section:
    return Section(name, f"Title of {name}", lambda: blocks, folded=folded, page=name)


def pages(*sections: Section, most_bytes: int) -> dict[str, str]:
    """The pages of a result; the first is at most so much longer than with no section in it."""
    outer = [Section("outer", "Outer", lambda: [Sentence("see", "#large-id"), *sections])]
    result = Result("kicker", "title", EMPTY, sections=outer)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(html, "MOST_BYTES", 0)
        moved = html.pages(result, {"summary.csv": "all"}, "..")["index.html"]
        patch.setattr(html, "MOST_BYTES", len(moved) + most_bytes)
        return html.pages(result, {"summary.csv": "all"}, "..")


SMALL = movable("small", table("small", 3, "#large-id", "#outer"))
LARGE = movable("large", table("large", 90, "../raw/x.out", "summary.csv", "#small-id"))
LOST = movable("lost", table("lost", 1, "#nowhere"))


def test_what_fits_stays_folded_in_the_page() -> None:
    (page,) = pages(SMALL, LARGE, LOST, most_bytes=1 << 20).values()
    assert page.count('<details class="rest"') == 3
    assert "<!--piece" not in page
    assert page.count('<a href="#large-id"') == 4


def test_the_largest_section_moves_first_and_links_follow_it() -> None:
    found = pages(SMALL, LARGE, LOST, most_bytes=6000)
    assert list(found) == ["index.html", "details/large.html"]
    page, large = found.values()
    assert page.count('<a href="details/large.html#large-id"') == 4
    assert '<a href="details/large.html">Title of large</a>' in page
    for link in ("../../raw/x.out", "../summary.csv", "../index.html#small-id"):
        assert f'<a href="{link}"' in large
    assert "<h1>Title of large</h1>" in large


def test_a_link_to_what_no_page_has_leads_to_the_records() -> None:
    whole, moved = (pages(LOST, most_bytes=most) for most in (1 << 20, -999))
    assert '<a href="../records.jsonl">to</a>' in whole["index.html"]
    assert '<a href="../../records.jsonl">to</a>' in moved["details/lost.html"]


def test_a_section_in_sight_moves_last() -> None:
    shown = movable("shown", Sentence("p" * 3000), folded=False)
    found = pages(shown, movable("folded", Sentence("t" * 1000)), most_bytes=3000)
    assert "p" * 3000 in found["index.html"]
    assert "t" * 1000 in found["details/folded.html"]


@pytest.mark.full
def test_pages_of_a_long_report_are_linked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [
        case("hpl", name, {"p": 1, "q": 2, "n": n, "nb": 128})
        for name, n in product(("mpich", "lam"), range(1000, 1040))
    ]
    run = write_run(tmp_path / "run", cases, blocks=3)
    monkeypatch.setattr(html, "MOST_BYTES", 60_000)
    build_report(run, formats=("html", "md"))
    report = run / "report"
    texts = {path: path.read_text() for path in (report / "index.html", *report.rglob("*/*.html"))}
    assert len(texts) > 2 and len(texts[report / "index.html"]) < 130_000
    ids = {path.resolve(): set(re.findall(r'\bid="([^"]+)"', text)) for path, text in texts.items()}
    raw = 0
    for path, text in texts.items():
        for link in re.findall(r'<a [^>]*?href="([^"]+)"', text):
            file, _, anchor = link.partition("#")
            target = (path.parent / file).resolve() if file else path.resolve()
            if "raw" in target.parts:
                assert target.parent == (run / "raw").resolve()
                raw += 1
            else:
                assert not anchor or anchor in ids[target], link
    assert raw >= len(cases) * 3
    monkeypatch.undo()
    build_report(run, formats=("html",))
    assert not (report / "details").exists()


def test_the_text_is_short_whatever_the_campaign(tmp_path: Path) -> None:
    cases = [
        case(f"check{number}", name, {"n": n})
        for number, name, n in product(range(160), ("mpich", "lam"), (1, 2))
    ]

    def fail(record: dict[str, Any]) -> dict[str, Any]:
        reason = f"reason {record['case_id']}"
        return record | {"status": "failed", "reason": reason} if record["block"] == 1 else record

    run = write_run(tmp_path / "run", cases, blocks=2, edit=fail)
    build_report(run, formats=("md",))
    lines = (run / "report" / "report.md").read_text().splitlines()
    assert 40 < len(lines) <= MOST_LINES
    assert any("further sections are there" in line for line in lines)
