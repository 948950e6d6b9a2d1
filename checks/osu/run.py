# SPDX-License-Identifier: Apache-2.0
"""The OSU micro-benchmarks (versions 5 to 7) where a site has them, our evidence library preloaded.

The site names the suite's folder, or that its programs are on PATH. A run that was cut off is
failed even if its table looks complete.
"""

from __future__ import annotations

from pathlib import Path

from checks.common.answer import Reading, died, longer_than_launch, other_program
from checks.common.base import MpiCheck
from checks.common.json_lines import Output, measured
from checks.common.metrics import LAUNCH
from checks.osu import OsuParameters
from checks.osu import output as osu


class Run(MpiCheck):
    """Launch of a test of the suite."""

    #: Always the site's.
    foreign = "osu"

    @property
    def program(self) -> Path:
        """The test below the suite's folder, wherever its version keeps it."""
        folder, test = self.foreign_path, self.params.test
        if len(folder.parts) == 1:
            return Path(test)
        found = sorted(path for path in folder.rglob(test) if path.is_file())
        return found[0] if found else folder / test

    def command(self) -> list[str]:
        """The test with the suite's own options."""
        asked, test = self.params, self.params.suite_test
        if test.prints == "start-up":
            return [str(self.program)]
        words = ["-i", str(asked.iterations), "-x", str(asked.warmup)]
        if test.sized and not asked.suite_sizes:
            words += ["-m", f"{asked.least_bytes}:{asked.greatest_bytes}"]
        switches = {"-f": asked.full, "-c": asked.validate_data, "-z": asked.tails}
        chosen = [switch for switch, wanted in switches.items() if wanted]
        return [str(self.program), *words, *chosen]

    def came_to_its_end(self, output: Output, text: str) -> bool:
        """The suite prints no last line; the table must have the sizes asked for."""
        return True

    def wrong_answer(self, text: str) -> str | None:
        """The suite ends a run whose data failed its validation, as any that fails."""
        return osu.failed_validation(text)

    def read(self, output: Output, text: str) -> Reading:
        """Every value of the whole table."""
        return read_test(self.params, output, text)


def read_test(asked: OsuParameters, output: Output, text: str) -> Reading:
    """Every value of the one test that was asked for. Raises OutputError."""
    other = died(text) or other_program(None, [], output)
    if other:
        return Reading(wrong=other)
    if asked.test == "osu_hello":
        osu.check_hello(text, asked.ranks)
        return Reading([measured(LAUNCH, output.phase_s("launch_begin", "launch_end"))])
    if asked.test == "osu_init":
        values = osu.parse_init(text, asked.ranks)
        return Reading(values, longer_than_launch(max(one.value for one in values), output))
    table = osu.parse(text, asked)
    wrong = longer_than_launch(table.least_duration_s, output)
    return Reading(table.values, wrong, [f"OSU {table.version}"])
