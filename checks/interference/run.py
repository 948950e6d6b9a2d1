# SPDX-License-Identifier: Apache-2.0
"""What messages and computing cost each other (interference.c).

The program compares every message with what was sent and every counting loop with the closed form
of its result; a difference ends the launch as `wrong`.
"""

from __future__ import annotations

from checks.collectives.run import read_points
from checks.common import json_lines
from checks.common.base import MpiCheck, Reading
from checks.common.knobs import knobs_of
from checks.common.sizes import expand_sizes
from checks.interference import InterferenceParameters


class InterferenceCheck(MpiCheck, knobs_of(InterferenceParameters)):
    """Slow-downs, stream rates and overlap over message sizes."""

    program = "interference"

    def arguments(self) -> list[str]:
        """The program's options."""
        return [
            f"--sizes={','.join(str(size) for size in expand_sizes(self.sizes))}",
            f"--samples={self.samples}",
            f"--warmup={self.warmup}",
            f"--window={self.window}",
            f"--work={self.work_s:g}",
        ]

    def read(self, output: json_lines.Output, text: str) -> Reading:  # noqa: ARG002
        """All metrics of the program, complete or not at all."""
        return read_points(output, "overlap", len(expand_sizes(self.sizes)))
