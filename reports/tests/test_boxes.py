# SPDX-License-Identifier: Apache-2.0
"""Boxes of all that stands on a page, measured in a browser: nothing is cut, hidden or covered.

All pages that the product makes, at four widths, light, dark and printed, with every folded part
open; one browser for all of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from assay.criteria.loading import criteria_from_text
from reports.acceptance.digests import made_with
from reports.acceptance.document import render_document
from reports.acceptance.dossier import make_dossier
from reports.comparison.compare import compare
from reports.comparison.page import write_page
from reports.papers.definition import load_study
from reports.papers.document import make_document
from reports.tests import acceptance_runs
from reports.tests.browser import Browser
from reports.tests.synthetic import case, write_run
from reports.tests.test_acceptance_document import CRITERIA
from reports.tests.test_browser import needs_browser, nightly_page
from reports.write.paper import render_html
from reports.write.report import build_report

pytestmark = needs_browser
MEASURE = (Path(__file__).parent / "boxes.js").read_text()
#: All folded parts are opened, and what is drawn then is waited for.
OPEN = """(async () => {
  document.querySelectorAll("details").forEach((part) => { part.open = true; });
  await new Promise((done) => setTimeout(done, 60));
})()"""
#: A4 without margins in pixels; a browser shrinks what is up to half as wide again to the paper.
PAPER, MOST_SHRUNK = 703, 1.5
#: Width, theme, medium.
LOOKS = [
    *((width, theme, "screen") for width in (390, 768, 1280, 1920) for theme in ("light", "dark")),
    (PAPER, "light", "print"),
]
NAMES = ("report", "acceptance", "night", "compare", "paper")


def a_run(folder: Path, slower: float = 1.0) -> Path:
    """Long names, several checks, few points; a failed launch."""
    names = ("mpich", "openmpi-tuned-eager-limit", "lam-lamd")
    cases = []
    for name in names:
        for p, q in ((1, 1), (1, 2), (2, 2)):
            grid = {"p": p, "q": q, "n": 20000, "nb": 128, "ranks_per_node": 1}
            cases.append(case("hpl", name, grid, p * q))
        sizes = [1, 1024, 65536, 1048576]
        params = {"placement": "between-nodes", "constructs": ["Send/Recv"], "sizes": sizes}
        cases.append(case("pt2pt", name, params))
        cases += [case("startup", name, {"ranks": n, "ranks_per_node": 1}, n) for n in (1, 1024)]

    def edit(record):
        if record["check"] == "hpl" and record["block"] == 2 and record["ranks"] == 4:
            record |= {"status": "failed", "metrics": [], "reason": "slurmstepd: error: " * 12}
        record["metrics"] = [
            one
            for one in record["metrics"]
            if one.get("at", {}).get("message_bytes", 1) in (1, 1024, 65536, 1048576)
        ]
        return record

    run = write_run(folder, cases, blocks=6, slower=slower, edit=edit)
    (run / "campaign.yaml").write_text("schema: 1\n")
    return run


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("boxes")
    run, other = a_run(root / "20261120T235011Z-3f2a"), a_run(root / "other", 1.1)
    build_report(run, formats=("html",))
    write_page(compare(run, other), root / "compare.html")
    nodes = tuple(f"node-with-a-long-name-{number}" for number in range(1, 7))
    accepted = acceptance_runs.write_run(
        root / "accepted",
        nodes=nodes,
        slow_node={nodes[1]: 0.6},
        slow_link={nodes[2]: 0.5},
    )
    dossier = make_dossier(
        accepted,
        [],
        criteria=criteria_from_text("mine.yaml", CRITERIA),
        criteria_text=CRITERIA,
        day=date(2026, 11, 21),
        made_with=made_with(),
    )
    (root / "acceptance.html").write_text(render_document(dossier))
    paper = render_html(make_document(load_study("ornl-1996"), run))
    (root / "paper.html").write_text(paper)
    return {
        "report": run / "report/index.html",
        "acceptance": root / "acceptance.html",
        "night": nightly_page(root / "night"),
        "compare": root / "compare.html",
        "paper": root / "paper.html",
    }


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_cut_hidden_or_covered(
    pages: dict[str, Path], browser: Browser, name: str
) -> None:
    browser.look(1280)
    browser.open(pages[name])
    browser.evaluate(OPEN)
    faults, counts = [], []
    for width, theme, medium in LOOKS:
        browser.look(width, theme, medium)
        if medium == "print":
            needed = browser.evaluate("document.documentElement.scrollWidth")
            assert needed <= MOST_SHRUNK * PAPER, f"printed, {needed} pixels do not fit on paper"
            browser.look(needed, theme, medium)
        found = browser.evaluate(MEASURE)
        counts.append((found["texts"], found["pictures"]))
        faults += [f"{width} {theme} {medium}: {kind}: {text}" for kind, text in found["faults"]]
    assert not faults, "\n".join(faults[:40])
    assert min(texts for texts, _ in counts) > 40
    assert name in ("compare", "paper") or min(pictures for _, pictures in counts) > 0


@pytest.mark.parametrize(
    ("fault", "body"),
    [
        (
            "outside its picture",
            '<svg viewBox="0 0 9 9" width="90"><text x="7" y="5">half</text></svg>',
        ),
        ("cut by its box", '<p style="width:3em;overflow:hidden;white-space:nowrap">smallest</p>'),
        ("over another text", '<p>one</p><p style="margin-top:-2.2em">two</p>'),
        ("beyond the page", '<p style="width:150vw;text-align:right">far away</p>'),
    ],
)
def test_each_fault_is_seen(browser: Browser, tmp_path: Path, fault: str, body: str) -> None:
    page = tmp_path / "page.html"
    page.write_text(f'<!doctype html><meta charset="utf-8"><body>{body}</body>')
    browser.look(1280)
    browser.open(page)
    assert fault in {kind for kind, _ in browser.evaluate(MEASURE)["faults"]}
