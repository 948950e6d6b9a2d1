# SPDX-License-Identifier: Apache-2.0
"""A result's tests as JUnit XML, in pieces: a run may have half a million launches."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import islice
from xml.sax.saxutils import escape, quoteattr

from records.text.plain_text import plain
from reports.result import Test

#: Test cases in a piece.
_TOGETHER = 2000
#: Text that stands as it is: half a million names pass here.
_PLAIN = re.compile(r"[\w .:,=/-]*", re.ASCII).fullmatch


def junit(tests: Callable[[], Iterable[Test]], name: str) -> Iterator[str]:
    """A test suite of this name with a test case for each test (`Result.tests`)."""
    # The numbers come first; to make each test twice takes longer than to keep its text.
    counts: Counter[str] = Counter()
    pieces, every = [], iter(tests())
    while together := [*islice(every, _TOGETHER)]:
        counts.update(test.outcome for test in together)
        pieces.append("".join(map(_case, together)))
    numbers = (
        f'tests="{counts.total()}" failures="{counts["failure"]}" errors="{counts["error"]}"'
        f' skipped="{counts["skipped"]}"'
    )
    yield f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites {numbers}>\n'
    yield f"<testsuite name={_attribute(name)} {numbers}>\n"
    yield from pieces
    yield "</testsuite>\n</testsuites>\n"


def _case(test: Test) -> str:
    head = f"{_suite(test.suite)}{_attribute(test.name)}"
    if not test.outcome:
        return f"{head}/>\n"
    marks = f"message={_attribute(test.message)}"
    marks += f" type={_attribute(test.kind)}" if test.kind else ""
    text = escape(plain(test.output))
    return f"{head}><{test.outcome} {marks}>{text}</{test.outcome}></testcase>\n"


@lru_cache(maxsize=4096)
def _suite(name: str) -> str:
    """Beginning of a test case of a suite."""
    return f"<testcase classname={_attribute(name)} name="


def _attribute(text: str) -> str:
    return f'"{text}"' if _PLAIN(text) else quoteattr(plain(text))
