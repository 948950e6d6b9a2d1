# SPDX-License-Identifier: Apache-2.0
"""Reports in all formats; of records as they should not be a clear statement, no silent number;
each link to raw output in an archive leads to a page, and no page is without a link."""

import csv
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import html5lib  # type: ignore[import-untyped]
import pytest

from assay.documents.report import HEAD, TAIL, build_report, write_raw_pages
from records.errors import AssayError
from records.run.archive import ArchiveWriter, Packed, archive_name
from reports.load.loading import load_run
from reports.render import html, markdown, terminal
from reports.render.formats import CSV_COLUMNS
from reports.show.tables import RawLinks
from reports.tests.synthetic import HPL_FIXED, Edit, case, chained, changed, quick_cases, write_run
from reports.verdicts.choice import tables
from reports.verdicts.comparison import compare, comparison_result

HOSTILE = "<script>alert(1)</script>\"'&|`]]>\x00\x07\x1b[31m\ufffe =cmd $x^2$ ](http://evil) -->"


FILES = ("report.md", "summary.csv", "values.parquet", "junit.xml", "verdicts.json")
#: What a page leads to: itself, pages beside it, raw output, the report's other files.
INNER = ("#", "../raw/", *FILES)
LOADING = ("src", "data", "action")


def page_of(report: Path) -> Any:
    """The elements of a report's page, which breaks no rule of HTML, has words for its pictures,
    loads nothing and has no handler."""
    parser = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False)
    page = parser.parse((report / "index.html").read_text())
    for one in page.iter():
        assert one.get("aria-label") or (one.tag != "figure" and one.get("role") != "img")
        assert not [name for name in one.attrib if name.startswith("on") or name in LOADING]
    return page


def links_of(page: Any) -> list[str]:
    return [one.get("href", "") for one in page.iter("a")]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cases = quick_cases(("mpich", "lam"))
    run = write_run(tmp_path_factory.mktemp("results") / "run", cases, blocks=3)
    build_report(run)
    return run


def test_page_is_well_formed_and_described_loads_nothing_and_runs_nothing(run: Path) -> None:
    page = page_of(run / "report")
    tags = [str(one.tag).rpartition("}")[2] for one in page.iter()]
    assert {"figure", "svg", "table", "details"} <= {*tags}
    assert not {"link", "iframe", "img", "object"} & {*tags}
    assert tags.count("script") == 1
    assert "@import" not in (run / "report/index.html").read_text()
    assert all(link.startswith(INNER) for link in links_of(page))
    ids = [one.get("id") for one in page.iter() if one.get("id")]
    assert len(ids) == len({*ids})
    assert {link[1:] for link in links_of(page) if link.startswith("#")} <= {*ids}
    raw = {(run / "report" / link).resolve() for link in links_of(page) if "/raw/" in link}
    assert raw == {file.resolve() for file in (run / "raw").iterdir()}


def test_summary_begins_with_the_headline_and_has_at_most_ten_sentences(run: Path) -> None:
    verdicts = json.loads((run / "report/verdicts.json").read_text())
    assert verdicts["summary"][0] == verdicts["answer"]["sentence"]
    assert len(verdicts["summary"]) <= 10
    assert verdicts["complete"] is True
    assert any("launches shared cores" in sentence for sentence in verdicts["summary"])


def test_every_case_stands_in_the_csv_with_si_units(run: Path) -> None:
    with (run / "report/summary.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0])[: len(CSV_COLUMNS)] == CSV_COLUMNS
    expected = {
        item["id"]
        for item in quick_cases(("mpich", "lam"))
        if not item["skipped"] and not item["params"].get("reply_before_wait")
    }
    assert {row["case_id"] for row in rows} == expected
    rates = [row for row in rows if row["metric"] == "rate"]
    assert all(row["unit"] == "flop/s" and float(row["mean"]) > 1e8 for row in rates)
    assert all(float(row["min"]) <= float(row["median"]) <= float(row["max"]) for row in rows)
    assert any(row["flags"].startswith("oversubscribed") for row in rates)


def test_junit_has_a_test_case_for_each_case_and_block(run: Path) -> None:
    suite = ET.parse(run / "report/junit.xml").getroot()[0]  # noqa: S314
    plan = json.loads((run / "plan.json").read_text())
    skipped = sum(item["skipped"] is not None for item in plan["cases"])
    assert len(suite) == (len(plan["cases"]) - skipped) * plan["blocks"] + skipped
    assert len(suite.findall("testcase/skipped")) == skipped == int(suite.get("skipped", ""))
    assert len(suite.findall("testcase/failure")) == 2 * plan["blocks"]


@pytest.mark.full
def test_same_input_gives_the_same_report(run: Path) -> None:
    build_report(run, run / "again")
    for file in ("report.md", "verdicts.json", "index.html"):
        assert (run / "again" / file).read_text() == (run / "report" / file).read_text()


def small() -> list[dict[str, Any]]:
    return [
        case("hpl", name, {"p": 1, "q": q, "n": n, **HPL_FIXED})
        for name in ("mpich", "lam")
        for q in (1, 2)
        for n in (1000, 2000)
    ]


@pytest.mark.parametrize("blocks", [0, 1, 2])
def test_unfinished_run_says_so_with_counts(tmp_path: Path, blocks: int) -> None:
    run = write_run(tmp_path / "run", small(), edit=lambda r: r if r["block"] <= blocks else None)
    assert not build_report(run).analysis.complete
    text = " ".join(page_of(run / "report").itertext())
    there, lacking = 8 * blocks, 40 - 8 * blocks
    told = f"This run is not finished: {there} launches recorded, {lacking} still without a record"
    assert told in text
    assert "not run yet" in (run / "report/junit.xml").read_text()


def test_each_bad_launch_is_listed_with_its_reason(tmp_path: Path) -> None:
    def spoil(record: dict[str, Any]) -> dict[str, Any]:
        kinds = {1: "failed", 2: "wrong", 3: "lost"}
        if record["environment"] == "lam" and record["block"] in kinds:
            record["status"] = kinds[record["block"]]
            record["reason"] = f"because of {record['status']} {record['case_id']}"
        return record

    run = write_run(tmp_path / "run", small(), edit=spoil)
    build_report(run)
    html, md = ((run / "report" / name).read_text() for name in ("index.html", "report.md"))
    for item in small()[4:]:
        for kind in ("failed", "wrong", "lost"):
            assert f"because of {kind} {item['id']}" in html
    assert md.count("because of") == tables.MOST_REASONS
    assert "6 further rows not shown" in md
    suite = ET.parse(run / "report/junit.xml").getroot()[0]  # noqa: S314
    assert (suite.get("failures"), suite.get("errors")) == ("8", "4")
    assert f'href="../raw/{small()[4]["id"]}.b1.a1.out"' in html


def test_nothing_hostile_reaches_a_report_unescaped(tmp_path: Path) -> None:
    cases = [case("hpl", "lam", {"p": 1, "q": q, HOSTILE: HOSTILE + str(q)}) for q in (1, 2)]
    construct = "".join(filter(str.isprintable, HOSTILE))  # what a record may have
    cases += [case("pt2pt", "lam", {"constructs": [construct], "placement": HOSTILE})]
    for item in cases:
        item["params"] |= {"n": 1000}

    def spoil(record: dict[str, Any]) -> dict[str, Any]:
        record |= {"flags": [HOSTILE], "job_id": HOSTILE}
        record["artifacts"] = {HOSTILE: "raw/x.out", "stdout_sha256": HOSTILE}
        if record["block"] == 1:
            record |= {"status": "failed", "reason": HOSTILE}
        return record

    run = write_run(tmp_path / "run", cases, edit=spoil)
    changed(run / "plan.json", question=HOSTILE)
    provenance = {
        "started_at": HOSTILE,
        "site": {"name": HOSTILE, "network": {"name": HOSTILE}},
        "environments": {"lam": {"source": HOSTILE, "settings": {HOSTILE: HOSTILE}}},
        "variables": {HOSTILE: HOSTILE},
    }
    (run / "provenance.json").write_text(json.dumps(provenance))
    build_report(chained(run))
    html = (run / "report/index.html").read_text()
    assert html.count("<script>") == html.count("</script>") == 1
    assert all(link.startswith(INNER) for link in links_of(page_of(run / "report")))
    assert not {"\x00", "\x07", "\x1b"} & set(html)
    md = (run / "report/report.md").read_text()
    assert "<script" not in md
    assert "](http" not in md
    ET.parse(run / "report/junit.xml")  # noqa: S314
    with (run / "report/summary.csv").open(newline="") as file:
        head, *rows = csv.reader(file)
    assert all(len(row) == len(head) for row in rows)


def test_spreadsheet_formulas_are_defused(tmp_path: Path) -> None:
    formula = {"flags": ["=HYPERLINK(1)"]}
    run = write_run(tmp_path / "run", small()[:1], edit=lambda record: record | formula)
    build_report(run, formats=("csv",))
    assert ",'=HYPERLINK(1)," in (run / "report/summary.csv").read_text()


def test_failure_leaves_the_earlier_report_whole(tmp_path, monkeypatch):
    run, formats = write_run(tmp_path / "run", small(), blocks=3), ("md", "csv", "json")
    build_report(run, formats=formats)
    before = {path.name: path.read_bytes() for path in (run / "report").iterdir()}
    monkeypatch.setattr("assay.documents.report.as_text", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        build_report(run, formats=formats)
    assert {path.name: path.read_bytes() for path in (run / "report").iterdir()} == before


def test_bad_input_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(AssayError):
        build_report(tmp_path / "missing")
    with pytest.raises(AssayError, match="allowed: html"):
        build_report(tmp_path, formats=("docx",))
    assert list(tmp_path.iterdir()) == []


def test_other_output_directory_still_links_to_raw(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", small()[:1], blocks=1)
    files = build_report(run, tmp_path / "elsewhere", formats=("html",)).files
    assert [*files] == ["html"]
    assert 'href="../run/raw/' in Path(files["html"]).read_text()


def test_two_runs_side_by_side(tmp_path: Path) -> None:
    first = write_run(tmp_path / "a", small(), seed=1)
    second = write_run(tmp_path / "b", small(), seed=2, slower=1.2)
    text = markdown.text(comparison_result(compare(first, second)))
    assert "beyond launches" in text
    assert "8 cases in both" in text
    with pytest.raises(AssayError, match="no case in common"):
        compare(first, write_run(tmp_path / "c", quick_cases(("openmpi",))))


def with_release(run: Path, image: str, glibc: str, mpich: str, gcc: str) -> Path:
    """The run with what its cluster said of itself."""
    known = {"compiler_version": gcc}
    environments = {"mpich": {**known, "library": mpich}, "lam": {**known, "library": "LAM 7.1"}}
    changed(run / "provenance.json", environments=environments)
    site = {"name": "v", "image": image, "image_digest": glibc * 32, "glibc": glibc}
    changed(run / "provenance.json", site=site)
    return run


def test_a_comparison_names_what_a_release_changes_and_what_it_costs(tmp_path: Path) -> None:
    cases = [one for one in quick_cases(("mpich", "lam")) if one["check"] != "pt2pt"]
    before, after = (
        with_release(write_run(tmp_path / name, cases, blocks=3, slower=slower), *told)
        for name, slower, *told in (
            ("a", 1.0, "debian-12", "2.36", "MPICH 4.0; Date: 2022", "gcc 12"),
            ("b", 1.2, "debian-13", "2.41", "MPICH 4.2; Date: 2024", "gcc 14"),
        )
    )
    assert "image debian-12" in reported(before)[0].replace("\\", "")
    result = comparison_result(compare(before, after))
    assert [(part.what, part.a, part.b) for part in result.data.changed] == [
        ("image", "debian-12", "debian-13"),
        ("digest of the image", "2.362.362.36", "2.412.412.41"),
        ("glibc", "2.36", "2.41"),
        ("compiler of lam, mpich", "gcc 12", "gcc 14"),
        ("library of mpich", "MPICH 4.0", "MPICH 4.2"),
    ]
    costs = [cost for cost in result.data.costs if cost.environment == "mpich"]
    assert [cost.what for cost in costs][:2] == ["the workload", "HPL"]
    assert all(cost.ratio and 1.1 < cost.ratio < 1.3 for cost in costs)
    for text in (html.page(result), markdown.text(result), terminal.text(result)):
        assert "What changed" in text
        assert "time in B: the workload +" in text.replace("\\", "")
    alike = comparison_result(compare(before, before))
    assert alike.data.changed == []
    assert "What changed" not in html.page(alike) + terminal.text(alike)
    assert "no cost is resolved" in terminal.text(alike)


def test_a_comparison_warns_of_launches_that_others_disturbed(tmp_path: Path) -> None:
    def edit(record: dict[str, Any]) -> dict[str, Any]:
        return record | {"flags": ["disturbed"] * (record["block"] == 1)}

    quiet = write_run(tmp_path / "a", blocks=3)
    busy = write_run(tmp_path / "b", blocks=3, seed=2, edit=edit)
    for runs, side in (((quiet, busy), "B"), ((busy, quiet), "A")):
        text = " ".join(terminal.text(comparison_result(compare(*runs))).split())
        assert re.search(rf"{side}: other programs disturbed \d+ launches; a cost", text), text
    assert "disturbed" not in terminal.text(comparison_result(compare(quiet, quiet)))


def hpl_and_startup(tmp_path: Path, edit: Edit | None = None, blocks: int = 6) -> Path:
    hpl = {"p": 1, "q": 2, "n": 1000, **HPL_FIXED}
    kinds = (("hpl", hpl), ("startup", {"ranks": 2}))
    plan = [case(check, name, params) for check, params in kinds for name in ("mpich", "lam")]
    return write_run(tmp_path / "run", plan, blocks=blocks, edit=edit)


def reported(run: Path) -> tuple[str, dict[str, Any]]:
    build_report(run, formats=("html", "md", "csv", "json"))
    verdicts = json.loads((run / "report/verdicts.json").read_text())
    return (run / "report/report.md").read_text(), verdicts


def test_zero_variance_is_resolved_or_equivalent_without_dividing_by_it(tmp_path: Path) -> None:
    def edit(record: dict[str, Any]) -> dict[str, Any]:
        for metric in record["metrics"]:
            metric["value"] = 2.0 if record["environment"] == "mpich" else 2.02
        return record

    text, verdicts = reported(hpl_and_startup(tmp_path, edit))
    assert "nan" not in text.lower().split()
    assert {cell["verdict"] for cell in verdicts["choice"]["groups"]} == {"equivalent"}


def test_one_launch_has_no_interval_and_no_verdict(tmp_path: Path) -> None:
    text, verdicts = reported(hpl_and_startup(tmp_path, blocks=1))
    told = {(cell["verdict"], cell["text"]) for cell in verdicts["choice"]["overall"]}
    assert told == {("no verdict", "no verdict: 1 common blocks, at least 3 are needed")}
    assert "Environments are compared from 3 common blocks on" in text
    assert "n = 1 launch unless" in text
    assert "advantage" not in verdicts["choice"]["overall"][0]


def test_when_all_launches_failed_the_report_says_so(tmp_path: Path) -> None:
    def fail(record: dict[str, Any]) -> dict[str, Any]:
        return record | {"status": "failed", "reason": "launcher error", "metrics": []}

    text, verdicts = reported(hpl_and_startup(tmp_path, fail))
    assert "run run: 24 failed" in text
    assert verdicts["choice"]["overall"] == []
    assert "No valid launch yet" in (tmp_path / "run/report/index.html").read_text()


def test_launches_without_figures_are_counted_by_environment(tmp_path: Path) -> None:
    def edit(record: dict[str, Any]) -> dict[str, Any]:
        if record["check"] != "startup":
            return record
        if (record["environment"], record["block"]) == ("mpich", 2):
            return record | {"status": "wrong", "reason": "not right", "metrics": []}
        return record | {"metrics": []}

    text, _ = reported(hpl_and_startup(tmp_path, edit))
    assert "launches that are right: mpich 5 of 6, lam 6 of 6" in text


def test_half_a_line_at_the_end_is_named_and_does_not_count(tmp_path: Path) -> None:
    records = hpl_and_startup(tmp_path) / "records.jsonl"
    records.write_bytes(records.read_bytes()[:-40])
    text, verdicts = reported(records.parent)
    assert "torn" in text
    assert (verdicts["launches"]["ok"], verdicts["complete"]) == (23, False)


CASES = [case("startup", "mpich", {"ranks": ranks}, ranks) for ranks in range(1, 7)]
FAILS = CASES[4]["id"]


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    """A run whose raw output lies in archives; all launches of a late case fail."""
    run = tmp_path / "20261120T235011Z-3f2a"
    members: dict[int, list[Packed]] = {}

    def archived(record):
        for kind in ("stdout", "stderr"):
            _, name = record["artifacts"][kind].split("/")
            content = Packed(name, [b"x" + "é".encode() * 9000])
            members.setdefault(record["block"], []).append(content)
            record["artifacts"][kind] = f"raw/{archive_name(record['block'])}/{name}"
        if record["case_id"] == FAILS:
            record |= {"status": "failed", "reason": "it was killed"}
        return record

    write_run(run, CASES, blocks=2, edit=archived)
    for block, found in members.items():
        writer = ArchiveWriter(run / "raw" / archive_name(block), lambda _: True)
        writer.append(found)
        writer.close()
    return run


@pytest.mark.parametrize("formats", [("html", "md"), ("md",)])
def test_links_to_members_and_pages_are_the_same(packed, formats, monkeypatch):
    monkeypatch.setattr(tables, "MOST_EVIDENCE_CASES", 2)
    build_report(packed, formats=formats)
    there = {path.name for path in (packed / "report/raw").iterdir()}
    links = set()
    for page in ("report.md", "index.html")[: len(formats)]:
        links |= set(re.findall(r"raw/([^/\"<>]+\.html)#", (packed / "report" / page).read_text()))
    assert links == there
    shown = {*(one["id"] for one in CASES[:2]), FAILS} if "html" in formats else {FAILS}
    assert there == {f"{name}.html" for name in shown}


def test_a_long_file_is_cut_between_characters(packed):
    links = RawLinks("..")
    links.to(f"raw/b1.zip/{FAILS}.b1.a1.out")
    write_raw_pages(packed / "report", load_run(packed), links.cases)
    text = (packed / "report/raw" / f"{FAILS}.html").read_text()
    assert "\ufffd" not in text
    assert text.count("é") == 4 * (HEAD + TAIL - 1)


def test_of_very_many_launches_the_first_and_all_not_ok_are_listed(packed, monkeypatch):
    monkeypatch.setattr(tables, "MOST_LISTED", 1)
    build_report(packed, formats=("html",))
    report = packed / "report"
    page = (report / "index.html").read_text()
    ok = CASES[0]["id"]
    assert "1 further row not shown here" in page
    assert re.findall(r"<h2>(Block \d)", (report / "raw" / f"{ok}.html").read_text()) == ["Block 1"]
    failed = (report / "raw" / f"{FAILS}.html").read_text()
    assert re.findall(r"<h2>(Block \d)", failed) == ["Block 1", "Block 2"]
    names = re.findall(r"raw/([^\"<>]+\.html)#([^\"]+)", page)
    assert all(f'id="{name}"' in (report / "raw" / file).read_text() for file, name in names)
