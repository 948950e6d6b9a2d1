# SPDX-License-Identifier: Apache-2.0
"""Each page before axe-core, the accessibility checker, in a real browser: wide and narrow, light
and dark, with every folded part open.

axe-core is no dependency of the project: `npm pack axe-core`, unpack it, and give its axe.min.js in
ASSAY_AXE.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reports.render.files import find_browser
from reports.tests.browser import Browser
from reports.tests.test_boxes import OPEN, browser, page, run  # noqa: F401 fixtures

AXE = Path(os.environ.get("ASSAY_AXE", "absent"))
pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(
        not AXE.is_file(), reason="no axe-core: npm pack axe-core; ASSAY_AXE=…/axe.min.js"
    ),
    pytest.mark.skipif(find_browser() is None, reason="no Chromium: apt-get install chromium"),
]
EXAMINE = """axe.run(document).then((found) => [found.passes.length, found.violations.map((rule) =>
  rule.id + ": " + rule.nodes.slice(0, 4).map((node) => node.html.slice(0, 200)).join(" | "))])"""


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_page_breaks_no_rule_of_accessibility(
    page: Path,  # noqa: F811
    browser: Browser,  # noqa: F811
    width: int,
    theme: str,
) -> None:
    browser.look(width, theme)
    browser.open(page)
    browser.evaluate(OPEN)
    browser.evaluate(f"{AXE.read_text()}; 0")
    passes, violations = browser.evaluate(EXAMINE)
    assert passes > 20
    assert violations == []
