# SPDX-License-Identifier: Apache-2.0
"""A page stays short: what is too much lies beside it, and every link still leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from reports.tests.synthetic import case, write_run
from reports.write import markdown
from reports.write.pieces import Part, Piece, Sheet, laid_out
from reports.write.report import build_report

BODIES = {
    "small": '<h3 id="small-id">s</h3><a href="#large-id">to large</a><a href="#page-id">up</a>',
    "large": '<h3 id="large-id">l</h3><a href="../raw/x.out">raw</a><a href="#small-id">s</a>'
    + "x" * 4000,
    "lost": '<a href="#nowhere">gone</a>',
}


def parts(*bodies: str) -> list[Part]:
    return [Part("", f"part {number}", body) for number, body in enumerate(bodies, start=1)]


def cover(sheet: Sheet) -> str:
    others = "".join(f'<a href="{file}">{first}–{last}</a>' for file, first, last in sheet.pages)
    return f"<h1>{sheet.title}</h1>{others}" + "".join(part.body for part in sheet.parts)


def pages(most_bytes: int) -> dict[str, str]:
    pieces = [
        Piece(name, name, f"Title of {name}", "1 table", parts(body))
        for name, body in BODIES.items()
    ]
    marks = "".join(piece.mark for piece in pieces)
    page = f'<p id="page-id"><a href="#large-id">see</a></p>{marks}'
    return laid_out(page, pieces, cover, "..", most_bytes, most_beside=9000)


def test_what_fits_stays_folded_in_the_page() -> None:
    (page,) = pages(100_000).values()
    assert page.count("<details") == 3
    assert "<!--piece" not in page
    assert page.count('<a href="#large-id"') == 2


def test_the_largest_piece_moves_first_and_links_follow_it() -> None:
    found = pages(2000)
    assert list(found) == ["index.html", "details/large.html"]
    page, large = found.values()
    assert page.count('<a href="details/large.html#large-id"') == 2
    assert '<a href="details/large.html">Title of large</a>' in page
    assert '<a href="../../raw/x.out">' in large
    assert '<a href="../index.html#small-id">' in large
    assert large.startswith("<h1>Title of large</h1>")


def test_a_link_to_what_no_page_has_leads_to_the_records() -> None:
    assert '<a href="../records.jsonl">gone</a>' in pages(100_000)["index.html"]
    assert '<a href="../../records.jsonl">gone</a>' in pages(0)["details/lost.html"]


def test_an_open_piece_moves_last() -> None:
    pieces = [
        Piece("picture", "check", "Check", "1 picture", parts("p" * 500), open=True),
        Piece("tables", "check", "All of check", "1 table", parts("t" * 300)),
    ]
    page = "".join(piece.mark for piece in pieces)
    found = laid_out(page, pieces, cover, "..", 700, most_beside=9000)
    assert "p" * 500 in found["index.html"]
    assert "t" * 300 in found["details/check.html"]


def test_a_page_beside_is_bounded_and_its_links_lead_to_where_their_ends_lie() -> None:
    bodies = [f'<h3 id="t{n}">t</h3><a href="#t{9 - n}">x</a>' + "x" * 400 for n in range(10)]
    bodies[7] += '<a href="summary.csv">all</a>'
    piece = Piece("check", "check", "Check", "10 tables", parts(*bodies))
    page = f'<a href="#t9">last</a>{piece.mark}'
    found = laid_out(page, [piece], cover, "..", 0, most_beside=1500, data=["summary.csv"])
    files = ["details/check.html", *(f"details/check-{number}.html" for number in (2, 3, 4))]
    assert list(found) == ["index.html", *files]
    assert '<a href="details/check-4.html#t9">' in found["index.html"]
    assert '<a href="../details/check-4.html#t9">' in found["details/check.html"]
    assert '<a href="check-3.html">part 7–part 9</a>' in found["details/check.html"]
    assert '<a href="../summary.csv">' in found["details/check-3.html"]
    together = "".join(found.values())
    assert all(together.count(f'id="t{number}"') == 1 for number in range(10))


def test_a_long_report_lies_in_pages_whose_links_lead_to_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = [
        case("hpl", name, {"p": 1, "q": 2, "n": n, "nb": 128})
        for name in ("mpich", "lam")
        for n in range(1000, 1040)
    ]
    run = write_run(tmp_path / "run", cases, blocks=3)
    monkeypatch.setattr("reports.write.html.MOST_BYTES", 60_000)
    monkeypatch.setattr("reports.write.html.MOST_PART", 20_000)
    monkeypatch.setattr("reports.write.html.MOST_BESIDE", 60_000)
    build_report(run, formats=("html", "md"))
    report = run / "report"
    texts = {path: path.read_text() for path in (report / "index.html", *report.rglob("*/*.html"))}
    assert len(texts) > 4
    assert all(len(text) < 130_000 for text in texts.values())
    assert "rows 1 to " in (report / "details/hpl.html").read_text()
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
        for number in range(160)
        for name in ("mpich", "lam")
        for n in (1, 2)
    ]

    def fail(record: dict[str, Any]) -> dict[str, Any]:
        reason = f"reason {record['case_id']}"
        return record | {"status": "failed", "reason": reason} if record["block"] == 1 else record

    run = write_run(tmp_path / "run", cases, blocks=2, edit=fail)
    build_report(run, formats=("md",))
    lines = (run / "report" / "report.md").read_text().splitlines()
    assert 40 < len(lines) <= markdown.MOST_LINES
    assert any("further checks stand there" in line for line in lines)
