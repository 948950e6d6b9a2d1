# SPDX-License-Identifier: Apache-2.0
"""Each page before axe-core, the accessibility checker, in a real browser, wide and narrow.

axe-core is no dependency of the project: `npm pack axe-core`, unpack it, and give its axe.min.js in
ASSAY_AXE.
"""

from __future__ import annotations

import html
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from reports.tests.test_acceptance_document import RUN, judged_once  # noqa: F401 a fixture
from reports.tests.test_browser import browse, pages  # noqa: F401 a fixture
from reports.write.pdf import find_browser

AXE = Path(os.environ.get("ASSAY_AXE", "absent"))
pytestmark = [
    pytest.mark.skipif(
        not AXE.is_file(), reason="no axe-core: npm pack axe-core; ASSAY_AXE=…/axe.min.js"
    ),
    pytest.mark.skipif(find_browser() is None, reason="no Chromium: apt-get install chromium"),
]
DRIVER = """<script>addEventListener("load", async () => {
  const found = await axe.run(document);
  const out = document.createElement("pre");
  out.id = "axe";
  out.textContent = JSON.stringify([found.passes.length, found.violations.map(
    (rule) => [rule.id, rule.nodes.map((node) => node.html.slice(0, 200))])]);
  document.body.append(out);
});</script>"""


def examine(page: Path, folder: Path, width: int) -> tuple[int, list[Any]]:
    """How many rules a page keeps, and those it breaks with the elements at fault."""
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text())
    copy = folder / "page.html"
    script = f"<script>{AXE.read_text()}</script>{DRIVER}</body>"
    copy.write_text(text.replace("</body>", script))
    options = (f"--window-size={width},1000", "--virtual-time-budget=60000")
    dom, _ = browse(copy, folder / "profile", *options)
    answer = re.search(r'<pre id="axe">(.*?)</pre>', dom, re.S)
    assert answer is not None
    passes, violations = json.loads(html.unescape(answer[1]))
    return passes, violations


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", ["report", "compare", "nightly", "acceptance"])
def test_page_breaks_no_rule_of_accessibility(
    request: pytest.FixtureRequest, tmp_path: Path, name: str, width: int
) -> None:
    if name == "acceptance":
        page = request.getfixturevalue("judged_once") / RUN / "acceptance" / "document.html"
    else:
        page = request.getfixturevalue("pages")[name]
    passes, violations = examine(page, tmp_path, width)
    assert passes > 20
    assert violations == []
