# SPDX-License-Identifier: Apache-2.0
"""HPL: solve a random dense system of order N on a P×Q process grid; one test a launch.

The residual must pass before the rate is read. Rate = (2N³/3 + 3N²/2) / time.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from checks.common.answer import (
    Reading,
    died,
    longer_than_launch,
    other_notes,
    other_program,
    other_settings,
)
from checks.common.base import MpiCheck
from checks.common.json_lines import Output, check_number, measured
from checks.hpl import CHECK, HplParameters
from checks.hpl import output as hpl_text


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
        (stage / "HPL.dat").write_text(hpl_text.hpl_dat(self.params))

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
    printed = hpl_text.parse(text, asked)
    if wrong := died(text) or longer_than_launch(printed.time_s, output):
        return Reading(wrong=wrong)
    return _reading(printed.rate_flop_per_s, hpl_text.operations(asked.n) / printed.rate_flop_per_s)


def _reading(rate_flop_per_s: float, time_s: float) -> Reading:
    values = {"rate": rate_flop_per_s, "time": time_s}
    return Reading([measured(CHECK.metrics_by_name[name], value) for name, value in values.items()])


def read_test(asked: HplParameters, output: Output, text: str) -> Reading:
    """HPL prints hundredths of a second; our main program reports all digits, which must agree."""
    printed, results = hpl_text.parse(text, asked), output.notes_of("hpl_result")
    wrong = (
        died(text)
        or other_program("hpl", ["hpl"], output)
        or other_settings({}, output.program)
        or other_notes({"tests": 1}, output)
    )
    if not wrong and (len(results) != 1 or not isinstance(results[0], dict)):
        wrong = f"HPL's main program gave no result, or {len(results)}"
    wrong = wrong or _other_result(asked, printed, results[0])
    if wrong := wrong or longer_than_launch(printed.time_s, output):
        return Reading(wrong=wrong)
    time_s = results[0]["time_s"]
    return _reading(hpl_text.operations(asked.n) / time_s, time_s)


def _other_result(
    asked: HplParameters, printed: hpl_text.HplResult, result: dict[str, Any]
) -> str | None:
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
        "rate": (rate, hpl_text.operations(asked.n) / time_s, 0.0, 2e-8),
        "residual": (residual, printed.residual, 5.1e-8, 5.1e-7),
        "threshold": (threshold, asked.threshold, 0.0, 1e-8),
    }
    for name, (found, right, difference, share) in pairs.items():
        if not math.isclose(found, right, abs_tol=difference, rel_tol=share):
            return f"HPL's main program reports the {name} {found:.9g}; HPL printed {right:.9g}"
    if not residual < asked.threshold:
        return f"HPL's scaled residual {residual:.9g} is not below {asked.threshold:g}"
    return None
