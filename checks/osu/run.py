# SPDX-License-Identifier: Apache-2.0
"""The OSU micro-benchmarks (versions 5 to 7) where a site has them, our evidence laid before.

The site names the suite's folder, or that its programs are on PATH. A run that was cut off is
failed, however whole its table looks; what it had printed is kept as partial.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from checks.common import json_lines
from checks.common.base import MpiCheck, Reading
from checks.common.json_lines import registered_metric
from checks.common.knobs import knobs_of
from checks.common.registry import REGISTER
from checks.osu import STARTUP_TESTS, UNSIZED_TESTS, OsuParameters
from checks.osu import output as osu
from records.metric import Metric


class OsuCheck(MpiCheck, knobs_of(OsuParameters)):
    """One test of the suite."""

    @property
    def foreign(self) -> str | None:
        """Always the site's."""
        return "osu"

    def executable_path(self, built: Path) -> Path:
        """The test below the suite's folder, wherever its version keeps it."""
        folder = super().executable_path(built)
        if len(folder.parts) == 1:
            return Path(self.test)
        found = sorted(path for path in folder.rglob(self.test) if path.is_file())
        return found[0] if found else folder / self.test

    def arguments(self) -> list[str]:
        """The suite's own options."""
        if self.test in STARTUP_TESTS:
            return []
        words = ["-i", str(self.iterations), "-x", str(self.warmup)]
        if self.test not in UNSIZED_TESTS and not self.suite_sizes:
            words += ["-m", f"{self.least_bytes}:{self.greatest_bytes}"]
        switches = {"-f": self.full, "-c": self.validate_data, "-z": self.tails}
        return [*words, *(switch for switch, wanted in switches.items() if wanted)]

    def came_to_its_end(self, output: json_lines.Output, text: str) -> bool:  # noqa: ARG002
        """The suite says nothing at its end; the table is held against the sizes asked for."""
        return True

    def partial(self, text: str) -> list[Metric]:
        """What a run that failed had printed."""
        if self.test in STARTUP_TESTS:
            return []
        return [_metric(value) for value in osu.parse_partial(text)]

    def wrong_answer(self, text: str) -> str | None:
        """The suite ends a run whose data failed its validation, as any that fails."""
        return osu.failed_validation(text)

    def _greets(self) -> bool:
        """Whether the program that ran is of a version whose osu_hello says anything."""
        found = shutil.which(self.executable_path(self.built))
        return found is None or osu.GREETING.encode() in Path(found).read_bytes()

    def read(self, output: json_lines.Output, text: str) -> Reading:
        """Every value of the whole table."""
        if self.test == "osu_hello":
            osu.check_hello(text, self.ranks, silent=not self._greets())
            launch_s = output.phase_s("launch_begin", "launch_end")
            return Reading(metrics=[registered_metric("launch", launch_s)])
        if self.test == "osu_init":
            return Reading(metrics=[_metric(value) for value in osu.parse_init(text, self.ranks)])
        sizes = osu.expected_sizes(self.least_bytes, self.greatest_bytes)
        table = osu.parse(text, None if self.test in UNSIZED_TESTS else sizes)
        if self.validate_data and not table.validated:
            return Reading(wrong=f"OSU {table.version} printed no validation, which was asked for")
        metrics = [_metric(value) for value in table.values]
        return Reading(metrics=metrics, flags=[f"OSU {table.version}"])


def _metric(value: osu.Value) -> Metric:
    at = {"message_bytes": value.message_bytes, "percentile": value.percentile}
    known = {key: number for key, number in at.items() if number is not None}
    if value.value == 0:
        # The adapter lets only a few be zero.
        definition = REGISTER.metrics[value.metric]
        return Metric(value.metric, definition.unit, definition.better, 0.0, known or None)
    return registered_metric(value.metric, value.value, known or None)
