# SPDX-License-Identifier: Apache-2.0
"""HPL's printed result, one test a launch: accepted only if complete and consistent.

HPL prints the settings that it read, a result line that begins with a code of the variant, the
scaled residual, and a summary.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from checks.common.json_lines import OutputError, check_number
from checks.hpl import HPL_CODES, HplParameters

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
_NAMES = "N|NB|PMAP|P|Q|PFACT|NBMIN|NDIV|RFACT|BCAST|DEPTH|SWAP|L1|U|EQUIL|ALIGN"
#: The settings that HPL read, after the explanation of their names.
_SETTINGS = re.compile(
    r"^The following parameter values will be used:\s*\n(?P<lines>.*?)^-{5,}\s*$",
    re.MULTILINE | re.DOTALL,
)
_SETTING = re.compile(r"^(?P<name>[A-Z][A-Z1 ]{5}) ?:(?P<value>.*)$")
_STRAY_SETTING = re.compile(rf"^(?:{_NAMES}) *:.*$", re.MULTILINE)
_THRESHOLD = re.compile(
    r"^- Computational tests pass if scaled residuals are less than +(?P<least>\S+)\s*$",
    re.MULTILINE,
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
    """One HPL test: `time_s` as printed (two decimals), `rate_flop_per_s` (four digits)."""

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


#: What HPL prints for the words of a campaign, where it is not the word itself.
_PRINTED = {
    "pmap": {"row": "Row-major process mapping", "column": "Column-major process mapping"},
    "bcast": {"long": "Blong", "longM": "BlongM"},
    "swap": {"bin-exch": "Binary-exchange", "long": "Spread-roll (long)"},
    "l1": {"transposed": "transposed form", "no-transposed": "no-transposed form"},
    "u": {"transposed": "transposed form", "no-transposed": "no-transposed form"},
    **{name: {word: word.capitalize() for word in HPL_CODES[name]} for name in ("pfact", "rfact")},
}


def settings_of(asked: HplParameters) -> dict[str, str]:
    """The settings that HPL must print for what was asked."""
    words = {name: getattr(asked, name) for name in HPL_CODES}
    said = {name: _PRINTED.get(name, {}).get(word, word) for name, word in words.items()}
    if asked.swap == "mix":
        said["swap"] = f"Mix (threshold = {asked.swap_threshold})"
    return {
        "N": str(asked.n),
        "NB": str(asked.nb),
        "PMAP": said["pmap"],
        "P": str(asked.p),
        "Q": str(asked.q),
        "PFACT": said["pfact"],
        "NBMIN": str(asked.nbmin),
        "NDIV": str(asked.ndiv),
        "RFACT": said["rfact"],
        "BCAST": said["bcast"],
        "DEPTH": str(asked.depth),
        "SWAP": said["swap"],
        "L1": said["l1"],
        "U": said["u"],
        "EQUIL": "yes" if asked.equilibration else "no",
        "ALIGN": f"{asked.alignment} double precision words",
    }


def variant_of(asked: HplParameters) -> str:
    """The code that begins the result line, as HPL_pdtest prints it."""
    factorisations = {"left": "L", "crout": "C", "right": "R"}
    return (
        f"W{'R' if asked.pmap == 'row' else 'C'}{asked.depth}"
        f"{HPL_CODES['bcast'].index(asked.bcast)}{factorisations[asked.rfact]}{asked.ndiv}"
        f"{factorisations[asked.pfact]}{asked.nbmin}"
    )


def check_settings(text: str, asked: Mapping[str, str], threshold: float) -> None:
    """Raise OutputError unless HPL printed these settings, each once, and no other."""
    blocks = list(_SETTINGS.finditer(text))
    if len(blocks) != 1:
        raise OutputError(f"HPL prints its settings {len(blocks)} times; once is right")
    stray = _STRAY_SETTING.search(text, blocks[0].end())
    if stray:
        raise OutputError(f"HPL prints {stray[0][:80]!r} after its settings")
    found: dict[str, str] = {}
    # str.splitlines would also split at characters that are no newline to the program.
    for line in blocks[0]["lines"].split("\n"):
        if not line.strip() or line.startswith("{"):
            continue
        match = _SETTING.match(line)
        name = match["name"].strip(" ") if match else ""
        if match is None or name not in asked or name in found:
            raise OutputError(f"HPL's settings have a line that is none, or twice: {line[:80]!r}")
        found[name] = match["value"].strip(" ")
    if list(found) != list(asked):
        raise OutputError(f"HPL's settings are {', '.join(found)}; right is {', '.join(asked)}")
    for name, value in asked.items():
        if found[name] != value:
            raise OutputError(f"HPL ran with {name} = {found[name]!r:.80}; asked was {value}")
    stated = [match["least"] for match in _THRESHOLD.finditer(text)]
    if stated != [f"{threshold:.1f}"]:
        raise OutputError(f"HPL's threshold is {stated!r:.80}; asked was {threshold:.1f}")


def parse(text: str) -> HplResult:
    """The one result in HPL's output.

    Raises UnfinishedError when the output stops before its end, OutputError when it has no single
    passed result or its numbers do not agree with each other.
    """
    line, residual, summary = _one_result(text)
    first = (*_SETTINGS.finditer(text), *_THRESHOLD.finditer(text))
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
