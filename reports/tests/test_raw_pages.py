# SPDX-License-Identifier: Apache-2.0
"""Each link to raw output in an archive leads to a page, and no page is without a link."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from assay.documents.report import HEAD, TAIL, build_report, write_raw_pages
from records.run.archive import ArchiveWriter, Packed, archive_name
from reports.load.loading import load_run
from reports.show.tables import RawLinks
from reports.tests.synthetic import case, write_run
from reports.verdicts.choice import tables

CASES = [case("startup", "mpich", {"ranks": ranks}, ranks) for ranks in range(1, 7)]
FAILS = CASES[4]["id"]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run whose raw output lies in archives; all launches of a late case fail."""
    run = tmp_path / "20261120T235011Z-3f2a"
    members: dict[int, list[Packed]] = {}

    def archived(record):
        below = f"raw/{archive_name(record['block'])}"
        kinds = {kind: path for kind, path in record["artifacts"].items() if path.startswith("raw")}
        for kind, path in kinds.items():
            name = path.rpartition("/")[2]
            packed = Packed(name, [b"x" + "é".encode() * 9000])
            members.setdefault(record["block"], []).append(packed)
            record["artifacts"][kind] = f"{below}/{name}"
        if record["case_id"] == FAILS:
            record |= {"status": "failed", "reason": "it was killed"}
        return record

    write_run(run, CASES, blocks=2, edit=archived)
    for block, packed in members.items():
        writer = ArchiveWriter(run / "raw" / archive_name(block), lambda _: True)
        writer.append(packed)
        writer.close()
    return run


@pytest.mark.parametrize("formats", [("html", "md"), ("md",)])
def test_links_to_members_and_pages_are_the_same(run, formats, monkeypatch):
    monkeypatch.setattr(tables, "MOST_EVIDENCE_CASES", 2)
    build_report(run, formats=formats)
    there = {path.name for path in (run / "report/raw").iterdir()}
    links = set()
    for page in ("report.md", "index.html")[: len(formats)]:
        links |= set(re.findall(r"raw/([^/\"<>]+\.html)#", (run / "report" / page).read_text()))
    assert links == there
    shown = {*(one["id"] for one in CASES[:2]), FAILS} if "html" in formats else {FAILS}
    assert there == {f"{name}.html" for name in shown}


def test_a_long_file_is_cut_between_characters(run):
    links = RawLinks("..")
    links.to(f"raw/b1.zip/{FAILS}.b1.a1.out")
    write_raw_pages(run / "report", load_run(run), links.cases)
    text = (run / "report/raw" / f"{FAILS}.html").read_text()
    assert "\ufffd" not in text
    assert text.count("é") == 4 * (HEAD + TAIL - 1)


def test_of_very_many_launches_the_first_and_all_not_ok_are_listed(run, monkeypatch):
    monkeypatch.setattr(tables, "MOST_LISTED", 1)
    build_report(run, formats=("html",))
    report = run / "report"
    page = (report / "index.html").read_text()
    ok = CASES[0]["id"]
    assert "1 further row not shown here" in page
    assert re.findall(r"<h2>(Block \d)", (report / "raw" / f"{ok}.html").read_text()) == ["Block 1"]
    failed = (report / "raw" / f"{FAILS}.html").read_text()
    assert re.findall(r"<h2>(Block \d)", failed) == ["Block 1", "Block 2"]
    names = re.findall(r"raw/([^\"<>]+\.html)#([^\"]+)", page)
    assert all(f'id="{name}"' in (report / "raw" / file).read_text() for file, name in names)
