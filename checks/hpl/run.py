# SPDX-License-Identifier: Apache-2.0
"""HPL: solve a random dense system of order N on a P×Q process grid; one test a launch.

HPL prints the settings that it read, a result line that begins with a code of the variant, the
scaled residual, and a summary. Output is accepted only if it is complete and consistent, and the
residual passed. Rate = (2N³/3 + 3N²/2) / time.
"""

import math
import re
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from checks.common import answer
from checks.common.answer import Reading
from checks.common.base import MpiCheck
from checks.common.json_lines import Output, OutputError, check_number, measured
from checks.hpl import CHECK, HPL_CODES, HplParameters

#: Lines of HPL.dat below its titles: a parameter or a value, its meaning there, and the name by
#: which HPL prints it.
_LINES: tuple[tuple[str | int, str, str], ...] = (
    ("HPL.out", "output file name (if any)", ""),
    (6, "device out (6=stdout,7=stderr,file)", ""),
    (1, "# of problems sizes (N)", ""),
    ("n", "Ns", "N"),
    (1, "# of NBs", ""),
    ("nb", "NBs", "NB"),
    ("pmap", "PMAP process mapping (0=Row-,1=Column-major)", "PMAP"),
    (1, "# of process grids (P x Q)", ""),
    ("p", "Ps", "P"),
    ("q", "Qs", "Q"),
    ("threshold", "threshold", ""),
    (1, "# of panel fact", ""),
    ("pfact", "PFACTs (0=left, 1=Crout, 2=Right)", "PFACT"),
    (1, "# of recursive stopping criterium", ""),
    ("nbmin", "NBMINs (>= 1)", "NBMIN"),
    (1, "# of panels in recursion", ""),
    ("ndiv", "NDIVs", "NDIV"),
    (1, "# of recursive panel fact.", ""),
    ("rfact", "RFACTs (0=left, 1=Crout, 2=Right)", "RFACT"),
    (1, "# of broadcast", ""),
    ("bcast", "BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)", "BCAST"),
    (1, "# of lookahead depth", ""),
    ("depth", "DEPTHs (>=0)", "DEPTH"),
    ("swap", "SWAP (0=bin-exch,1=long,2=mix)", "SWAP"),
    ("swap_threshold", "swapping threshold", ""),
    ("l1", "L1 in (0=transposed,1=no-transposed) form", "L1"),
    ("u", "U  in (0=transposed,1=no-transposed) form", "U"),
    ("equilibration", "Equilibration (0=no,1=yes)", "EQUIL"),
    ("alignment", "memory alignment in double (> 0)", "ALIGN"),
)
#: What HPL prints for the words of a campaign, where it is not the word itself.
_PRINTED: dict[str, dict[object, str]] = {
    "pmap": {"row": "Row-major process mapping", "column": "Column-major process mapping"},
    "bcast": {"long": "Blong", "longM": "BlongM"},
    "swap": {"bin-exch": "Binary-exchange", "long": "Spread-roll (long)"},
    "l1": {"transposed": "transposed form", "no-transposed": "no-transposed form"},
    "u": {"transposed": "transposed form", "no-transposed": "no-transposed form"},
    "equilibration": {True: "yes", False: "no"},
    **{name: {word: word.capitalize() for word in HPL_CODES[name]} for name in ("pfact", "rfact")},
}
_SETTING = re.compile(r"^(?P<name>[A-Z][A-Z1 ]{5}) ?:(?P<value>.*)$")
_STRAY_SETTING = re.compile(
    rf"^(?:{'|'.join(printed for *_, printed in _LINES if printed)}) *:.*$", re.MULTILINE
)
_NUMBER = r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|nan|inf)"
#: HPL prints the time with two decimals, never with an exponent as the rate: so the columns differ.
_TIME = r"[-+]?(?:\d+\.?\d*|nan|inf)"
_COUNTS = "".join(rf" +(?P<{name}>\d{{1,15}})" for name in ("n", "nb", "p", "q"))
#: Parts of the output in their order: as each must be there, once, and how its lines begin: there
#: are no others.
_PARTS = {
    "settings": (
        r"^The following parameter values will be used:\s*\n(?s:(?P<lines>.*?))^-{5,}\s*$",
        r"^The following parameter values.*",
    ),
    "threshold": (
        r"^- Computational tests pass if scaled residuals are less than +(?P<least>\S+)\s*$",
        r"^- Computational tests pass.*",
    ),
    "heading": (r"^T/V +N +NB +P +Q +Time +Gflops\s*\n-+\s*\n(?=W[RC])", r"^T/V +N .*"),
    "result": (
        rf"^(?P<variant>W[RC]\d+[LCR]\d+[LCR]\d+){_COUNTS} +(?P<time>{_TIME})"
        rf" +(?P<gflops>(?i:{_NUMBER}))\s*$",
        r"^W[RC]\d.*",
    ),
    "residual": (
        r"^\|\|Ax-b\|\|_oo/\(eps\*\(\|\|A\|\|_oo\*\|\|x\|\|_oo\+\|\|b\|\|_oo\)\*N\)="
        rf" *(?P<residual>{_NUMBER}) \.+ (?P<verdict>PASSED|FAILED)\s*$",
        r"^\|\|.*",
    ),
    "summary": (
        r"^Finished +1 tests with the following results:\s*\n"
        r" +1 tests completed and passed residual checks,\s*\n"
        r" +0 tests completed and failed residual checks,\s*\n"
        r" +0 tests skipped because of illegal input values\.\s*$",
        r"^(?:Finished| +\d+ tests).*",
    ),
    "end": (r"^End of Tests\.\s*$", r"^End of Tests.*"),
}
#: For another version of HPL, whose tables cannot be distinguished from damaged ones.
_KNOWN_FORM = "right is one of each, in the form that netlib's HPL 2.0 to 2.3 print"


@dataclass(frozen=True)
class HplResult:
    """Result of HPL: `time_s` as printed (two decimals), `rate_flop_per_s` (four digits)."""

    time_s: float
    rate_flop_per_s: float
    residual: float


def operations(n: int) -> float:
    """HPL's operation count for order n: 2n³/3 + 3n²/2."""
    return 2 * n**3 / 3 + 3 * n**2 / 2


def hpl_dat(asked: HplParameters) -> str:
    """The HPL.dat that asks for exactly one test with these settings."""
    values: dict[str | int, object] = dict(asked)
    for name, words in HPL_CODES.items():
        values[name] = words.index(str(values[name]))
    values["equilibration"] = int(asked.equilibration)
    lines = [f"{values.get(what, what)!s:<14}{meaning}" for what, meaning, _ in _LINES]
    return "\n".join(["HPLinpack benchmark input file", "written by assay", *lines, ""])


def variant_of(asked: HplParameters) -> str:
    """The code that begins the result line, as HPL_pdtest prints it."""
    factorisations = {"left": "L", "crout": "C", "right": "R"}
    return (
        f"W{'R' if asked.pmap == 'row' else 'C'}{asked.depth}"
        f"{HPL_CODES['bcast'].index(asked.bcast)}{factorisations[asked.rfact]}{asked.ndiv}"
        f"{factorisations[asked.pfact]}{asked.nbmin}"
    )


def parse(text: str, asked: HplParameters) -> HplResult:
    """Read the one result in HPL's output, of the test that was asked for.

    Raises OutputError where it is not whole, is of another test, did not pass, or has numbers that
    do not agree with each other.
    """
    parts: dict[str, re.Match[str]] = {}
    for name, (whole, begin) in _PARTS.items():
        found = list(re.finditer(whole, text, re.MULTILINE | re.ASCII))
        lines = re.findall(begin, text, re.MULTILINE | re.ASCII)
        if len(found) != 1 or lines != re.findall(begin, found[0][0], re.MULTILINE | re.ASCII):
            shown = [line[:100] for line in lines]
            raise OutputError(f"HPL printed as its {name} {shown!s:.300}; {_KNOWN_FORM}")
        parts[name] = found[0]
    starts = [part.start() for part in parts.values()]
    if starts != sorted(starts):
        raise OutputError(f"HPL's parts are not in their order, {', '.join(_PARTS)}")
    _check_settings(text, parts["settings"], parts["threshold"], asked)
    line, residual = parts["result"], parts["residual"]
    if residual["verdict"] != "PASSED":
        raise OutputError(f"HPL's residual check FAILED: scaled residual {residual['residual']}")
    scaled = float(residual["residual"])
    if not (math.isfinite(scaled) and scaled >= 0):
        raise OutputError(f"HPL's scaled residual is {residual['residual']}")
    ran = (line["variant"], *(int(line[name]) for name in ("n", "nb", "p", "q")))
    test = (variant_of(asked), asked.n, asked.nb, asked.p, asked.q)
    if ran != test:
        raise OutputError(f"HPL ran {ran}; asked was (variant, N, NB, P, Q) = {test}")
    time_s = float(line["time"])
    rate = check_number(float(line["gflops"]) * 1e9, "flop/s", "HPL's rate")
    # The time is printed in hundredths of a second, the rate with four digits.
    least, most, exact_s = max(time_s - 0.00505, 0.0), time_s + 0.00505, operations(asked.n) / rate
    if not (math.isfinite(time_s) and 0.9994 * least <= exact_s <= 1.0006 * most):
        raise OutputError(
            f"HPL's time {time_s} s and rate {rate:.4g} flop/s do not belong together at"
            f" N = {asked.n}"
        )
    return HplResult(time_s, rate, scaled)


def _settings_of(asked: HplParameters) -> dict[str, str]:
    """The settings that HPL must print for what was asked, in their order."""
    values = dict(asked)
    settings = {
        printed: str(_PRINTED.get(str(name), {}).get(values[str(name)], values[str(name)]))
        for name, _, printed in _LINES
        if printed
    }
    if asked.swap == "mix":
        settings["SWAP"] = f"Mix (threshold = {asked.swap_threshold})"
    return {**settings, "ALIGN": f"{asked.alignment} double precision words"}


def _check_settings(
    text: str, block: re.Match[str], threshold: re.Match[str], asked: HplParameters
) -> None:
    """Raise OutputError unless HPL printed these settings, each once, and no other."""
    if stray := _STRAY_SETTING.search(text, block.end()):
        raise OutputError(f"HPL prints {stray[0][:80]!r} after its settings")
    settings: list[tuple[str, str]] = []
    # str.splitlines would also split at characters that are no newline to the program.
    for line in block["lines"].split("\n"):
        if line.strip() and not line.startswith("{"):
            match = _SETTING.match(line)
            name, value = (match["name"], match["value"]) if match else (line, "")
            settings.append((name.strip(" "), value.strip(" ")))
    wanted = _settings_of(asked).items()
    for (name, value), (right, asked_value) in zip_longest(settings, wanted, fillvalue=("", "")):
        if name != right:
            raise OutputError(f"HPL's settings have {name[:80]!r} where {right!r} is right")
        if value != asked_value:
            raise OutputError(f"HPL ran with {name} = {value!r:.80}; asked was {asked_value}")
    if threshold["least"] != f"{asked.threshold:.1f}":
        raise OutputError(
            f"HPL's threshold is {threshold['least']!r:.80}; asked was {asked.threshold:.1f}"
        )


class Run(MpiCheck):
    """Run of HPL: order, block size, grid and every other line of HPL.dat are parameters."""

    @property
    def netlib(self) -> Path:
        """Path of the program that netlib's source becomes, which has its own main program."""
        return self.setting.builds["Hpl"] / "xhpl-netlib"

    @property
    def foreign(self) -> str | None:
        """The site's own HPL, where the environment names one, or one built of netlib's source."""
        named = "hpl" in self.setting.programs
        return "hpl" if named or self.netlib.exists() else None

    @property
    def foreign_path(self) -> Path:
        """Where that HPL is."""
        return self.netlib if self.netlib.exists() else super().foreign_path

    def command(self) -> list[str]:
        """HPL has its own build."""
        if self.foreign:
            return [str(self.foreign_path)]
        return [str(self.setting.builds["Hpl"] / "xhpl")]

    def write_inputs(self, stage: Path) -> None:
        """Write HPL.dat."""
        (stage / "HPL.dat").write_text(hpl_dat(self.params))

    def came_to_its_end(self, output: Output, text: str) -> bool:
        """Ours prints an end line; another says so in words."""
        return "End of Tests." in text if self.foreign else super().came_to_its_end(output, text)

    def read(self, output: Output, text: str) -> Reading:
        """Rate and time of the one test that was asked for."""
        reader = read_other_build if self.foreign else read_test
        return reader(self.params, output, text)


def read_other_build(asked: HplParameters, output: Output, text: str) -> Reading:
    """An HPL with its own main program: the rate has the four or five digits that it prints.

    The time is that of the rate, for HPL prints hundredths of a second.
    """
    printed = parse(text, asked)
    if wrong := answer.died(text) or answer.longer_than_launch(printed.time_s, output):
        return Reading(wrong=wrong)
    return _reading(printed.rate_flop_per_s, operations(asked.n) / printed.rate_flop_per_s)


def _reading(rate_flop_per_s: float, time_s: float) -> Reading:
    values = {"rate": rate_flop_per_s, "time": time_s}
    return Reading([measured(CHECK.metrics_by_name[name], value) for name, value in values.items()])


def read_test(asked: HplParameters, output: Output, text: str) -> Reading:
    """HPL prints hundredths of a second; our main program reports all digits, which must agree."""
    printed, results = parse(text, asked), output.notes_of("hpl_result")
    wrong = (
        answer.died(text)
        or answer.other_program("hpl", ["hpl"], output)
        or answer.other_settings({}, output.program)
        or answer.other_notes({"tests": 1}, output)
    )
    if not wrong and (len(results) != 1 or not isinstance(results[0], dict)):
        wrong = f"HPL's main program gave no result, or {len(results)}"
    wrong = wrong or _other_result(asked, printed, results[0])
    if wrong := wrong or answer.longer_than_launch(printed.time_s, output):
        return Reading(wrong=wrong)
    time_s = results[0]["time_s"]
    return _reading(operations(asked.n) / time_s, time_s)


def _other_result(asked: HplParameters, printed: HplResult, result: dict[str, Any]) -> str | None:
    """Value that our main program reports otherwise than HPL printed it, or None."""
    counts = {"test": 1, "n": asked.n, "nb": asked.nb, "p": asked.p, "q": asked.q}
    for name, count in {**counts, "passed": True}.items():
        if result.get(name) != count or isinstance(result[name], bool) != (count is True):
            return f"HPL's main program reports {name} = {result.get(name)!r:.80}, not {count}"
    time_s = check_number(result.get("time_s"), "s", "HPL's exact time")
    rate = check_number(result.get("gflops"), "flop/s", "HPL's exact rate") * 1e9
    residual = check_number(result.get("residual"), "1", "HPL's exact residual")
    threshold = check_number(result.get("threshold"), "1", "HPL's threshold")
    pairs = {
        "time": (time_s, printed.time_s, 0.00505, 0.0),
        # Four and nine significant digits.
        "printed rate": (rate, printed.rate_flop_per_s, 0.0, 5.1e-4),
        "rate": (rate, operations(asked.n) / time_s, 0.0, 2e-8),
        "residual": (residual, printed.residual, 5.1e-8, 5.1e-7),
        "threshold": (threshold, asked.threshold, 0.0, 1e-8),
    }
    for name, (found, right, difference, share) in pairs.items():
        if not math.isclose(found, right, abs_tol=difference, rel_tol=share):
            return f"HPL's main program reports the {name} {found:.9g}; HPL printed {right:.9g}"
    if not residual < asked.threshold:
        return f"HPL's scaled residual {residual:.9g} is not below {asked.threshold:g}"
    return None
