# SPDX-License-Identifier: Apache-2.0
"""HPL's printed result, one test a launch: accepted only if complete and consistent."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from checks.common.json_lines import OutputError, check_number

_NUMBER = r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|nan|inf)"
_RESULT = re.compile(
    rf"^W[RC]\S+ +(?P<n>\d+) +(?P<nb>\d+) +(?P<p>\d+) +(?P<q>\d+) +(?P<time>{_NUMBER})"
    rf" +(?P<gflops>{_NUMBER})\s*$",
    re.MULTILINE | re.IGNORECASE | re.ASCII,
)
_RESULT_START = re.compile(r"^W[RC]\d\S* ", re.MULTILINE | re.ASCII)
_RESIDUAL = re.compile(
    r"^\|\|Ax-b\|\|_oo/\(eps\*\(\|\|A\|\|_oo\*\|\|x\|\|_oo\+\|\|b\|\|_oo\)\*N\)="
    rf" *(?P<residual>{_NUMBER}) \.+ (?P<verdict>PASSED|FAILED)\s*$",
    re.MULTILINE | re.IGNORECASE | re.ASCII,
)
_FINISHED = re.compile(
    r"^Finished +(?P<all>\d+) tests with the following results:\s*\n"
    r" +(?P<passed>\d+) tests completed and passed residual checks,\s*\n"
    r" +(?P<failed>\d+) tests completed and failed residual checks,\s*\n"
    r" +(?P<skipped>\d+) tests skipped because of illegal input values\.",
    re.MULTILINE | re.ASCII,
)
_END = re.compile(r"^End of Tests\.\s*$", re.MULTILINE | re.ASCII)


@dataclass(frozen=True)
class HplResult:
    """One HPL test: `time_s` as printed (two decimals), `rate_flop_per_s`, scaled residual."""

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
    """The one result in HPL's output.

    Raises UnfinishedError when the output stops before its end, OutputError when it has no single
    passed result or its numbers do not agree with each other.
    """
    if not _END.search(text):
        raise UnfinishedError("HPL's output stops before 'End of Tests.'")
    results, residuals = list(_RESULT.finditer(text)), list(_RESIDUAL.finditer(text))
    if len(_RESULT_START.findall(text)) != 1 or len(results) != 1 or len(residuals) != 1:
        raise OutputError(
            f"one HPL result expected; found {len(_RESULT_START.findall(text))} result lines, of"
            f" which {len(results)} can be read, and {len(residuals)} residuals"
        )
    summaries = list(_FINISHED.finditer(text))
    if len(summaries) != 1:
        raise OutputError(f"HPL's summary is there {len(summaries)} times")
    counts = {key: int(value) for key, value in summaries[0].groupdict().items()}
    if counts != {"all": 1, "passed": 1, "failed": 0, "skipped": 0}:
        raise OutputError(f"HPL's summary says {counts}")
    line, residual = results[0], residuals[0]
    if residual["verdict"].upper() != "PASSED":
        raise OutputError(f"HPL's residual check FAILED: scaled residual {residual['residual']}")
    scaled = float(residual["residual"])
    if not (math.isfinite(scaled) and scaled >= 0):
        raise OutputError(f"HPL's scaled residual is {residual['residual']}")
    n, time_s = int(line["n"]), float(line["time"])
    rate = check_number(float(line["gflops"]) * 1e9, "flop/s", "HPL's rate")
    # The time is printed in hundredths of a second: rate = operations / time within ±0.005 s.
    least, greatest = max(time_s - 0.0051, 0.0), time_s + 0.0051
    if not (math.isfinite(time_s) and 0.998 * least <= operations(n) / rate <= 1.002 * greatest):
        raise OutputError(
            f"HPL's time {time_s} s and rate {rate:.4g} flop/s do not belong together at N = {n}"
        )
    return HplResult(n, int(line["nb"]), int(line["p"]), int(line["q"]), time_s, rate, scaled)
