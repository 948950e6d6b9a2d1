# SPDX-License-Identifier: Apache-2.0
"""Pages in a browser and before a strict HTML parser, with every folded part open: no error,
nothing is cut, hidden or covered, contents stay in view, pictures come out."""

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import html5lib  # type: ignore[import-untyped]
import pytest
from pypdf import PdfReader

from assay.documents.report import build_report
from bench.tests.simulated.nights import Event, normal, simulate
from records.history.model import NightValues
from records.history.store import Store
from reports.render import html
from reports.render.files import find_browser
from reports.tests import acceptance_runs
from reports.tests.synthetic import case, rewrite, write_run
from reports.tests.test_acceptance_document import made
from reports.verdicts.acceptance.result import acceptance_result
from reports.verdicts.comparison import compare, comparison_result
from reports.verdicts.nightly.judge import check_history
from reports.verdicts.nightly.result import night_result

needs_browser = pytest.mark.skipif(
    find_browser() is None, reason="no Chromium: apt-get install chromium"
)
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
NAMES = ("night", "report", "unfinished", "acceptance", "compare")
#: Nodes and series that are more than their pictures name.
MANY = 60
#: Variants of libraries as a study runs them, by the names that people give them.
VARIANTS = (
    *("mpich", "mpich-tcp-eager-1m", "openmpi-tcp-eager-64k", "openmpi-tuned-eager-limit"),
    *("lam", "lam-lamd-without-shared-memory", "mvapich-ch3-sock"),
)


class Browser:
    """A headless Chromium with one page, driven over a pipe; commands of the DevTools protocol,
    answered in order."""

    def __init__(self, profile: Path) -> None:
        to_read, self._to = os.pipe()
        self._from, to_write = os.pipe()
        argv = [str(find_browser()), "--headless=new", "--disable-gpu", "--remote-debugging-pipe"]
        argv += ["--disable-dev-shm-usage", "--hide-scrollbars", f"--user-data-dir={profile}"]
        argv += ["--no-sandbox"] if os.geteuid() == 0 else []
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{to_read} 4>&{to_write}', "bash", *argv, "about:blank"],
            pass_fds=(to_read, to_write),
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self._rest = b""
        self._number = 0
        #: Pages that are there, by the loader of each.
        self._loaded = set[str]()
        self._session: str | None = None
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(item["targetId"] for item in targets if item["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=page, flatten=True)
        self._session = attached["sessionId"]
        self.call("Page.enable")
        self.call("Page.setLifecycleEventsEnabled", enabled=True)

    def call(self, method: str, **params: Any) -> Any:
        """The result of a command. Raises RuntimeError with what the browser says against it."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            part = os.read(self._from, 1 << 20)
            if not part:
                raise RuntimeError("the browser has ended")
            self._rest += part
        text, self._rest = self._rest.split(b"\0", 1)
        message: dict[str, Any] = json.loads(text)
        told = message.get("params", {})
        if message.get("method") == "Page.lifecycleEvent" and told["name"] == "load":
            self._loaded.add(told["loaderId"])
        return message

    def open(self, page: Path) -> None:
        """Load a page and wait until it is there, which may be told before the answer."""
        loader = self.call("Page.navigate", url=page.as_uri())["loaderId"]
        while loader not in self._loaded:
            self._message()

    def look(self, width: int, theme: str = "light", medium: str = "screen") -> None:
        """Be so wide, in this theme and medium."""
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        features = [{"name": "prefers-color-scheme", "value": theme}]
        self.call("Emulation.setEmulatedMedia", media=medium, features=features)

    def evaluate(self, script: str) -> Any:
        """The value of an expression in the page."""
        how = {"returnByValue": True, "awaitPromise": True}
        done = self.call("Runtime.evaluate", expression=script, **how)
        if "exceptionDetails" in done:
            raise RuntimeError(str(done["exceptionDetails"]))
        return done["result"].get("value")

    def close(self) -> None:
        """End the browser."""
        os.close(self._to)
        self._process.terminate()
        self._process.wait(300)
        os.close(self._from)


def a_run(
    folder: Path, slower: float = 1.0, names: Sequence[str] = VARIANTS, blocks: int = 6
) -> Path:
    """Long names, several checks, few points; a failed launch."""
    cases, sizes = [], [1, 1024, 65536, 1048576]
    for name in names:
        for p, q in ((1, 1), (1, 2), (2, 2)):
            grid = {"p": p, "q": q, "n": 20000, "nb": 128, "ranks_per_node": 1}
            cases.append(case("hpl", name, grid, p * q))
        params = {"placement": "between-nodes", "constructs": ["Send/Recv"], "sizes": sizes}
        cases.append(case("pt2pt", name, params))
        cases += [case("startup", name, {"ranks": n, "ranks_per_node": 1}, n) for n in (1, 1024)]

    def edit(record):
        if record["check"] == "hpl" and record["block"] == 2 and record["ranks"] == 4:
            record |= {"status": "failed", "metrics": [], "reason": "slurmstepd: error: " * 12}
        return record

    return write_run(folder, cases, blocks=blocks, slower=slower, edit=edit)


def an_acceptance(folder: Path, nodes: Sequence[str]) -> Path:
    """The document of a run with a slow node and a slow link."""
    run = acceptance_runs.write_run(
        folder, nodes=tuple(nodes), slow_node={nodes[1]: 0.6}, slow_link={nodes[2]: 0.5}
    )
    page = folder / "acceptance.html"
    page.write_text(html.page(acceptance_result(made(run))))
    return page


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
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return a_run(tmp_path_factory.mktemp("boxes") / "20261120T235011Z-3f2a")


@pytest.fixture(scope="module", params=NAMES)
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a name; the run that several show is made for the first of them."""
    folder = tmp_path_factory.mktemp("boxes")
    if request.param == "night":
        return nightly_page(folder / "night")
    if request.param == "acceptance":
        return an_acceptance(folder / "accepted", [f"node-with-a-long-name-{n}" for n in range(6)])
    run: Path = request.getfixturevalue("run")
    if request.param == "unfinished":
        run = a_run(folder / "half", 1.1, blocks=2)
        rewrite(run, lambda found: found[: len(found) // 2])
    if request.param in ("report", "unfinished"):
        return Path(build_report(run, formats=("html",)).files["html"])
    page = folder / f"{request.param}.html"
    page.write_text(html.page(comparison_result(compare(run, a_run(folder / "other", 1.1)))))
    return page


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if find_browser() is None:
        pytest.skip("no Chromium: apt-get install chromium")
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.mark.full(sample=1)
def test_page_is_valid_html(page: Path) -> None:
    tree = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(page.read_text())
    assert tree.find(".//h1") is not None


@needs_browser
@pytest.mark.full(sample=1)
def test_page_opens_without_an_error_and_its_script_runs(page: Path, tmp_path: Path) -> None:
    argv = [str(find_browser()), "--headless=new", "--disable-gpu", f"--user-data-dir={tmp_path}"]
    argv += ["--no-sandbox"] if os.geteuid() == 0 else []
    argv += ["--enable-logging=stderr", "--disable-background-networking", "--dump-dom"]
    done = subprocess.run(
        [*argv, page.as_uri()], capture_output=True, text=True, timeout=600, check=True
    )
    dom = done.stdout
    assert re.findall(r".*CONSOLE.*", done.stderr) == []
    assert "<img" not in dom
    if page.name in ("index.html", "compare.html"):
        assert 'class="sort"' in dom and 'type="search"' in dom
        panels = dom.count("<svg viewBox") - dom.count('class="score"')
        assert dom.count('<div class="panel"') == panels


@pytest.mark.parametrize("page", ["night"], indirect=True)
def test_the_page_of_a_night_is_complete_without_its_script(page: Path) -> None:
    dom = re.sub(r"<script>.*?</script>", "", page.read_text(), flags=re.DOTALL)
    assert "<img" not in dom
    assert dom.count('role="img" aria-label=') == 5  # four trends, and the map of all series
    assert set(re.findall(r'href="#([^"]+)"', dom)) <= set(re.findall(r'id="([^"]+)"', dom))
    assert len(re.findall(r">(?:suspect|regression)</span>", dom)) >= 4


@needs_browser
@pytest.mark.full
def test_report_prints_with_page_numbers(run: Path) -> None:
    printed = PdfReader(build_report(run, formats=("pdf",)).files["pdf"]).pages
    assert len(printed) > 1
    assert f"Page 1 of {len(printed)}" in printed[0].extract_text()


def faults_of(browser: Browser, page: Path, looks: Sequence[tuple[int, str, str]]) -> list[str]:
    """What is cut, hidden or covered, and whether it all fits on paper; of texts at least some."""
    browser.look(1280)
    browser.open(page)
    browser.evaluate(OPEN)
    faults = []
    for width, theme, medium in looks:
        browser.look(width, theme, medium)
        if medium == "print":
            needed = browser.evaluate("document.documentElement.scrollWidth")
            assert needed <= MOST_SHRUNK * PAPER, f"printed, {needed} pixels do not fit on paper"
            browser.look(needed, theme, medium)
        found = browser.evaluate(MEASURE)
        assert found["texts"] > 40
        assert found["pictures"] or page.name == "compare.html"
        faults += [f"{width} {theme} {medium}: {kind}: {text}" for kind, text in found["faults"]]
    return faults


@pytest.mark.full(sample=1)
def test_nothing_is_cut_hidden_or_covered(page: Path, browser: Browser) -> None:
    faults = faults_of(browser, page, LOOKS)
    assert not faults, "\n".join(faults[:40])


@pytest.mark.full
def test_nothing_is_cut_where_there_is_little_or_much(browser: Browser, tmp_path: Path) -> None:
    alone = a_run(tmp_path / "alone", names=("openmpi-tuned-eager-limit",))
    once = a_run(tmp_path / "once", names=VARIANTS[:2], blocks=1)
    pages = [
        *(Path(build_report(run, formats=("html",)).files["html"]) for run in (alone, once)),
        an_acceptance(tmp_path / "many", [f"node{number:03}" for number in range(MANY)]),
        nightly_page(tmp_path / "night", series=MANY, nights=33),
    ]
    faults = [
        f"{page.parent.parent.name}, {fault}"
        for page in pages
        for fault in faults_of(browser, page, [LOOKS[0], LOOKS[4], LOOKS[-1]])
    ]
    assert not faults, "\n".join(faults[:40])


#: Each link of the contents: how far its target comes to stand below them, in pixels (beside a
#: wide page they cover nothing), and whether they are in view.
FOLLOW = """[...document.querySelectorAll("nav.contents a")].map((link) => {
  const target = document.getElementById(link.hash.slice(1));
  target.scrollIntoView();
  const shown = [...document.querySelectorAll(".contents")].find((one) => one.checkVisibility());
  const box = shown.getBoundingClientRect();
  const below = box.width > innerWidth / 2 ? box.bottom : 0;
  return [link.hash, target.getBoundingClientRect().top - below, box.top >= 0 && box.top < 99];
})"""


@pytest.mark.full
@pytest.mark.parametrize("width", [390, 768, 1280, 1920])
def test_contents_stay_in_view_and_hide_no_target(page: Path, browser: Browser, width: int) -> None:
    browser.look(width)
    browser.open(page)
    browser.evaluate("scrollTo(0, 400)")
    found = browser.evaluate(FOLLOW)
    assert len(found) >= 4
    for link, below, in_view in found:
        assert below >= 0, f"{link} lies under the contents"
        assert in_view, f"at {link} the contents are out of view"


@pytest.mark.full
@pytest.mark.parametrize("page", ["report"], indirect=True)
def test_each_check_is_one_screen_and_a_picture_comes_out_as_svg_and_png(page, browser, tmp_path):
    to = {"behavior": "allow", "downloadPath": str(tmp_path), "eventsEnabled": False}
    browser.call("Browser.setDownloadBehavior", **to)
    browser.look(1280)
    browser.open(page)
    checks = "[...document.querySelectorAll('section[id^=check-]')]"
    heights = browser.evaluate(f"{checks}.map((one) => one.offsetHeight)")
    assert len(heights) == 3 and max(heights) <= 900
    buttons = "document.querySelectorAll('#picture-startup .take button')"
    browser.evaluate(f"{buttons}.forEach((one) => one.click())")
    files = [tmp_path / f"startup.{kind}" for kind in ("svg", "png")]
    end = time.monotonic() + 60
    while not all(file.is_file() and file.stat().st_size for file in files):
        assert time.monotonic() < end, "the browser has not written the files"
        time.sleep(0.05)
    words = " ".join(ElementTree.fromstring(files[0].read_text()).itertext())  # noqa: S314 ours
    for expected in ("Start-up against ranks", *VARIANTS, "seed 1"):
        assert expected in words
    assert "var(" not in files[0].read_text()
    assert files[1].read_bytes().startswith(b"\x89PNG")
