# SPDX-License-Identifier: Apache-2.0
"""Formats of monitoring: tests as JUnit XML, in pieces, and samples as OpenMetrics text
(https://prometheus.io/docs/specs/om/open_metrics_spec/).

All samples are gauges without a time stamp, so that the textfile collector of a node exporter,
which reads the older text format, takes the same file. A run may have half a million tests.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import islice
from xml.sax.saxutils import escape, quoteattr

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.samples import Sample as _Line

from records.text.plain_text import plain
from records.units import unit_of
from reports.result import Sample, Test

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


PREFIX = "assay"
#: The end of a name for a unit that is not known.
UNKNOWN = "value"


def openmetrics(samples: Iterable[Sample]) -> str:
    """A family for each name and unit, in the order of its first sample; each set of labels once,
    the last value of it. Empty labels mean the same as none and are left out."""
    made = generate_latest(_Families(samples))  # type: ignore[no-untyped-call]
    text: str = made.decode()
    return text


class _Families:
    """Collector of families for the library."""

    def __init__(self, samples: Iterable[Sample]) -> None:
        self._families: dict[str, GaugeMetricFamily] = {}
        self._lines: dict[str, dict[tuple[tuple[str, str], ...], float]] = {}
        for sample in samples:
            # A gauge without a unit has "" for one; a value of an unknown unit says so in its name.
            unit = sample.unit if sample.unit == "" else unit_of(sample.unit).spelled or UNKNOWN
            name = "_".join(filter(None, (PREFIX, sample.name, unit)))
            known = "" if unit == UNKNOWN else unit
            self._families.setdefault(name, GaugeMetricFamily(name, sample.text, unit=known))
            labels = {key: plain(text) for key, text in sample.labels.items() if text}
            self._lines.setdefault(name, {})[tuple(labels.items())] = float(sample.value)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Every family with its samples."""
        for name, family in self._families.items():
            family.samples = [
                _Line(name, dict(labels), float(f"{value:.12g}"))
                for labels, value in self._lines[name].items()
            ]
            yield family
