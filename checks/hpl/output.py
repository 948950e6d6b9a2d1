# SPDX-License-Identifier: Apache-2.0
"""HPL's printed result, one test a launch: accepted only if complete and consistent.

HPL prints the settings that it read, a result line that begins with a code of the variant, the
scaled residual, and a summary.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from checks.common.json_lines import OutputError, check_number
from checks.hpl.settings import SETTINGS, THRESHOLD

_NUMBER = r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|nan|inf)"
#: HPL prints the time with two decimals, never with an exponent as the rate: so the columns differ.
_TIME = r"[-+]?(?:\d+\.?\d*|nan|inf)"
_RESULT = re.compile(
    rf"^(?P<variant>W[RC]\d+[LCR]\d+[LCR]\d+) +(?P<n>\d{{1,15}}) +(?P<nb>\d{{1,15}})"
    rf" +(?P<p>\d{{1,15}}) +(?P<q>\d{{1,15}}) +(?P<time>{_TIME})"
    rf" +(?P<gflops>{_NUMBER})\s*$",
    re.MULTILINE | re.IGNORECASE | re.ASCII,
)
_RESULT_START = re.compile(r"^W[RC]\d", re.MULTILINE | re.ASCII)
_HEADING = re.compile(
    r"^T/V +N +NB +P +Q +Time +Gflops\s*\n-+\s*\n(?=W[RC])", re.MULTILINE | re.ASCII
)
_RESIDUAL = re.compile(
    r"^\|\|Ax-b\|\|_oo/\(eps\*\(\|\|A\|\|_oo\*\|\|x\|\|_oo\+\|\|b\|\|_oo\)\*N\)="
    rf" *(?P<residual>{_NUMBER}) \.+ (?P<verdict>PASSED|FAILED)\s*$",
    re.MULTILINE | re.ASCII,
)
_RESIDUAL_START = re.compile(r"^\|\|", re.MULTILINE)
_FINISHED = re.compile(
    r"^Finished +(?P<all>\d{1,15}) tests with the following results:\s*\n"
    r" +(?P<passed>\d{1,15}) tests completed and passed residual checks,\s*\n"
    r" +(?P<failed>\d{1,15}) tests completed and failed residual checks,\s*\n"
    r" +(?P<skipped>\d{1,15}) tests skipped because of illegal input values\.\s*$",
    re.MULTILINE | re.ASCII,
)
#: For another version of HPL, whose tables cannot be distinguished from damaged ones.
_KNOWN_FORM = "right is one of each, in the form that netlib's HPL 2.0 to 2.3 print"
_END = re.compile(r"^End of Tests\.\s*$", re.MULTILINE | re.ASCII)


@dataclass(frozen=True)
class HplResult:
    """Result of HPL: `time_s` as printed (two decimals), `rate_flop_per_s` (four digits)."""

    variant: str
    n: int
    nb: int
    p: int
    q: int
    time_s: float
    rate_flop_per_s: float
    residual: float


class UnfinishedError(Exception):
    """HPL did not come to its end; the message says what is missing."""


def operations(n: int) -> float:
    """HPL's operation count for order n: 2n³/3 + 3n²/2."""
    return 2 * n**3 / 3 + 3 * n**2 / 2


def parse(text: str) -> HplResult:
    """Read the one result in HPL's output.

    Raises UnfinishedError when the output stops before its end, OutputError when it has no single
    passed result or its numbers do not agree with each other.
    """
    line, residual, summary = _one_result(text)
    first = (*SETTINGS.finditer(text), *THRESHOLD.finditer(text))
    parts = (*first, line, residual, summary, *_END.finditer(text))
    if [part.start() for part in parts] != sorted(part.start() for part in parts):
        raise OutputError(
            "HPL's settings, result, residual, summary and end are not in their order"
        )
    if residual["verdict"] != "PASSED":
        raise OutputError(f"HPL's residual check FAILED: scaled residual {residual['residual']}")
    scaled = float(residual["residual"])
    if not (math.isfinite(scaled) and scaled >= 0):
        raise OutputError(f"HPL's scaled residual is {residual['residual']}")
    n, time_s = int(line["n"]), float(line["time"])
    rate = check_number(float(line["gflops"]) * 1e9, "flop/s", "HPL's rate")
    # The time is printed in hundredths of a second, the rate with four digits.
    least, greatest = max(time_s - 0.00505, 0.0), time_s + 0.00505
    if not (math.isfinite(time_s) and 0.9994 * least <= operations(n) / rate <= 1.0006 * greatest):
        raise OutputError(
            f"HPL's time {time_s} s and rate {rate:.4g} flop/s do not belong together at N = {n}"
        )
    counts = {name: int(line[name]) for name in ("nb", "p", "q")}
    return HplResult(
        line["variant"], n, **counts, time_s=time_s, rate_flop_per_s=rate, residual=scaled
    )


def _one_result(text: str) -> tuple[re.Match[str], re.Match[str], re.Match[str]]:
    """Result, residual and summary, each there once and whole; errors as of `parse`."""
    ends = len(_END.findall(text))
    if not ends:
        raise UnfinishedError("HPL's output stops before 'End of Tests.'")
    headings = [line[:100] for line in re.findall(r"^T/V +N .*$", text, re.MULTILINE)]
    if ends != 1 or len(headings) != 1 or len(_HEADING.findall(text)) != 1:
        raise OutputError(
            f"one HPL result expected; found {ends} × 'End of Tests.' and the headings"
            f" {headings!s:.200}; {_KNOWN_FORM}"
        )
    results, residuals = list(_RESULT.finditer(text)), list(_RESIDUAL.finditer(text))
    lines = (len(_RESULT_START.findall(text)), len(_RESIDUAL_START.findall(text)))
    if lines != (1, 1) or len(results) != 1 or len(residuals) != 1:
        raise OutputError(
            f"one HPL result expected; found {lines[0]} result lines, of"
            f" which {len(results)} can be read, and {len(residuals)} of {lines[1]} residuals;"
            f" {_KNOWN_FORM}"
        )
    summaries = list(_FINISHED.finditer(text))
    tests = len(re.findall(r"^(?:Finished| +\d+ tests)", text, re.MULTILINE))
    if len(summaries) != 1 or tests != 4:
        raise OutputError(f"HPL's summary is there {len(summaries)} times")
    counts = {key: int(value) for key, value in summaries[0].groupdict().items()}
    if counts != {"all": 1, "passed": 1, "failed": 0, "skipped": 0}:
        raise OutputError(f"HPL's summary says {counts}")
    return results[0], residuals[0], summaries[0]
