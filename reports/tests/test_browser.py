# SPDX-License-Identifier: Apache-2.0
"""Each page in a real browser and before a strict HTML parser: no error, nothing missing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import html5lib  # type: ignore[import-untyped]
import pytest
from pypdf import PdfReader

from assay.documents.report import build_report
from bench.simulated.nights import Event, normal, simulate
from records.history.model import NightValues
from records.history.store import Store
from reports.render import html
from reports.render.pdf import find_browser
from reports.tests.synthetic import write_run
from reports.verdicts.comparison.compare import compare
from reports.verdicts.comparison.result import comparison_result
from reports.verdicts.nightly.check import check_history
from reports.verdicts.nightly.result import night_result

needs_browser = pytest.mark.skipif(
    find_browser() is None, reason="no Chromium: apt-get install chromium"
)


def nightly_page(folder: Path, series: int = 4, nights: int = 34) -> Path:
    """A night after a step, with suspects and a change of context."""
    folder.mkdir()
    event = Event("step", at=nights - 1, step=0.1, context_at=nights - 1)
    history = simulate(event, normal, 0.005, (series, nights), 1)
    with Store(folder / "history.sqlite", create=True) as store:
        for night, column in zip(history.nights, history.values.T.tolist(), strict=True):
            pairs = zip(history.series, column, strict=True)
            store.add(night, [NightValues(key, (value,) * 5) for key, value in pairs])
        page = html.page(night_result(check_history(store, "simulated", "nightly")))
    (folder / "nightly.html").write_text(page)
    return folder / "nightly.html"


@pytest.fixture(scope="module")
def nightly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return nightly_page(tmp_path_factory.mktemp("nightly") / "night")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The report, an unfinished report, a comparison."""
    root = tmp_path_factory.mktemp("pages")
    run = write_run(root / "run", blocks=6)
    half = write_run(root / "half", blocks=2, slower=1.1)
    lines = (half / "records.jsonl").read_text().splitlines(keepends=True)
    (half / "records.jsonl").write_text("".join(lines[: len(lines) // 2]))
    for path in (run, half):
        build_report(path, formats=("html",))
    (root / "compare.html").write_text(html.page(comparison_result(compare(run, half))))
    return {
        "report": run / "report/index.html",
        "unfinished": half / "report/index.html",
        "compare": root / "compare.html",
    }


def assert_valid(page: Path) -> None:
    """A strict parser reads the page."""
    tree = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(page.read_text())
    assert tree.find(".//h1") is not None


@pytest.mark.full
@pytest.mark.parametrize("name", ["report", "unfinished", "compare"])
def test_page_is_valid_html(pages: dict[str, Path], name: str) -> None:
    assert_valid(pages[name])


def browse(page: Path, profile: Path, *options: str) -> tuple[str, str]:
    """What the page has become after its script ran, and what the browser complained about."""
    argv = [str(find_browser()), "--headless=new", "--disable-gpu", f"--user-data-dir={profile}"]
    argv += ["--no-sandbox"] if os.geteuid() == 0 else []
    argv += ["--enable-logging=stderr", "--disable-background-networking", *options]
    done = subprocess.run(
        [*argv, "--dump-dom", page.as_uri()],
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    shutil.rmtree(profile, ignore_errors=True)
    return done.stdout, "\n".join(re.findall(r".*CONSOLE.*", done.stderr))


@pytest.mark.full
@needs_browser
@pytest.mark.parametrize("name", ["report", "unfinished", "compare"])
def test_page_opens_without_an_error_and_its_script_runs(
    pages: dict[str, Path], tmp_path: Path, name: str
) -> None:
    dom, complaints = browse(pages[name], tmp_path / "profile")
    assert complaints == ""
    assert 'class="sort"' in dom
    assert 'type="search"' in dom
    assert "<img" not in dom
    assert dom.count('<div class="panel"') == dom.count("<svg viewBox") - dom.count('class="score"')


@needs_browser
def test_nightly_page_opens_without_an_error(nightly: Path, tmp_path: Path) -> None:
    assert browse(nightly, tmp_path / "profile")[1] == ""


def test_nightly_page_is_valid_and_complete_without_its_script(nightly: Path) -> None:
    assert_valid(nightly)
    dom = re.sub(r"<script>.*?</script>", "", nightly.read_text(), flags=re.DOTALL)
    assert "<img" not in dom
    assert dom.count('role="img" aria-label=') == 5  # four trends, and the map of all series
    assert set(re.findall(r'href="#([^"]+)"', dom)) <= set(re.findall(r'id="([^"]+)"', dom))
    assert len(re.findall(r">(?:suspect|regression)</span>", dom)) >= 4


@pytest.mark.full
@needs_browser
def test_report_prints_with_page_numbers(pages: dict[str, Path]) -> None:
    run = pages["report"].parent.parent
    made = build_report(run, formats=("pdf",))
    printed = PdfReader(made.files["pdf"]).pages
    assert len(printed) > 1
    assert f"Page 1 of {len(printed)}" in printed[0].extract_text()
