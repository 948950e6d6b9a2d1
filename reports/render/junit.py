# SPDX-License-Identifier: Apache-2.0
"""A result's tests as JUnit XML, in pieces: a run may have half a million launches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from records.text.plain_text import plain
from reports.result import Result, Test

#: Test cases in a piece.
_TOGETHER = 2000


def junit(result: Result[Any], name: str) -> Iterator[str]:
    """A test suite of this name with a test case for each test of the result."""
    counts = Counter(test.outcome for test in result.tests())
    numbers = (
        f'tests="{counts.total()}" failures="{counts["failure"]}" errors="{counts["error"]}"'
        f' skipped="{counts["skipped"]}"'
    )
    yield f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites {numbers}>\n'
    yield f"<testsuite name={_attribute(name)} {numbers}>\n"
    cases = map(_case, result.tests())
    while piece := "".join(islice(cases, _TOGETHER)):
        yield piece
    yield "</testsuite>\n</testsuites>\n"


def _case(test: Test) -> str:
    head = f"<testcase classname={_attribute(test.suite)} name={_attribute(test.name)}"
    if not test.outcome:
        return f"{head}/>\n"
    marks = f"message={_attribute(test.message)}"
    marks += f" type={_attribute(test.kind)}" if test.kind else ""
    text = escape(plain(test.output))
    return f"{head}><{test.outcome} {marks}>{text}</{test.outcome}></testcase>\n"


def _attribute(text: str) -> str:
    return quoteattr(plain(text))
