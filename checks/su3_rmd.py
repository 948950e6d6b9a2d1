# SPDX-License-Identifier: Apache-2.0
"""The lattice gauge application (src/su3_rmd): wall, CPU and communication time of a real program.

Before any time counts: every trajectory was run and measured, the plaquette is one of a gauge field
at this coupling, and the links are still SU(3).
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from reframe.core.builtins import fixture

from campaigns.metrics import REGISTER
from campaigns.records import Metric
from checks.adapters import json_lines
from checks.base import MpiCheck, Reading
from checks.builds import Su3Rmd
from checks.catalogue.su3_rmd import Su3RmdParameters
from checks.knobs import knobs_of

#: Greatest deviation of a link from SU(3) that is rounding, by precision.
_DEVIATION = {"double": 1e-12, "single": 1e-4}
_NEEDED = {"program_time", "cpu_time", "communication_share", "rate"}


class Su3RmdCheck(MpiCheck, knobs_of(Su3RmdParameters)):
    """Trajectories on one lattice over a number of ranks."""

    su3_rmd = fixture(Su3Rmd, scope="environment")

    def executable_path(self, built: Path) -> Path:  # noqa: ARG002
        """The program has its own build."""
        return Path(self.su3_rmd.stagedir) / "out" / f"su3_rmd_{self.precision}"

    def arguments(self) -> list[str]:
        """The program's options; what it computes is in its input file."""
        overlap = "yes" if self.overlap else "no"
        options = {"comm": self.communication, "overlap": overlap, "kernel": self.kernel}
        words = [f"--{name} {value}" for name, value in options.items()]
        return ["--input", "su3.in", "--json", "-", *words]

    def write_inputs(self, stage: Path) -> None:
        """Write the input in the original's format."""
        lines = [
            "prompt 0",
            *(f"{name} {getattr(self, name)}" for name in ("nx", "ny", "nz", "nt")),
            f"iseed {self.seed}",
            f"warms {self.warmups}",
            f"trajecs {self.trajectories}",
            "traj_between_meas 1",
            f"beta {self.beta!r}",
            f"microcanonical_time_step {self.step_size!r}",
            f"steps_per_trajectory {self.steps}",
            "fresh",
            "forget",
        ]
        (stage / "su3.in").write_text("\n".join([*lines, ""]))

    def read(self, output: json_lines.Output, text: str) -> Reading:
        """The program's times and rate, and the launch's wall time."""
        wrong = self._wrong_answer(output.notes.get("answer"), text)
        if wrong:
            return Reading(wrong=wrong)
        missing = _NEEDED - {metric.name for metric in output.metrics}
        if missing:
            return Reading(wrong=f"not reported: {', '.join(sorted(missing))}")
        return Reading(metrics=[*output.metrics, _launch_time(output)])

    def _wrong_answer(self, answer: Any, text: str) -> str | None:
        if not isinstance(answer, dict) or "RUNNING COMPLETED" not in text:
            return "the program gave no answer"
        if answer.get("measurements") != self.trajectories:
            return f"{answer.get('measurements')} of {self.trajectories} measurements were made"
        plaquette = answer.get("plaquette")
        if not _is_number(plaquette) or not 0 < plaquette < 1:
            return f"the mean plaquette is {plaquette}; it must lie between 0 and 1"
        deviation = answer.get("deviation_from_su3")
        if not _is_number(deviation) or not 0 <= deviation < _DEVIATION[self.precision]:
            return f"links deviate from SU(3) by {deviation}"
        return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _launch_time(output: json_lines.Output) -> Metric:
    seconds = output.phase_s("launch_begin", "launch_end")
    definition = REGISTER["launch"]
    value = json_lines.check_number(seconds, definition.unit, "launch")
    return Metric("launch", definition.unit, definition.better, value)
