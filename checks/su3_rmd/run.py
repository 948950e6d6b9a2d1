# SPDX-License-Identifier: Apache-2.0
"""The lattice gauge application: wall, CPU and communication time of a real program.

The program is ours (src/), or the original where the site has it; the record says which.
Before any time counts: every trajectory was run and measured, the plaquette is one of a gauge field
at this coupling, and the links are still SU(3).
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

from reframe.core.builtins import fixture

from checks.common import json_lines
from checks.common.base import MpiCheck, Reading
from checks.common.builds import Su3Rmd
from checks.common.json_lines import registered_metric
from checks.common.knobs import knobs_of
from checks.su3_rmd import Su3RmdParameters, operations
from checks.su3_rmd import output as milc

#: Greatest deviation of a link from SU(3) that is rounding, by precision.
_DEVIATION = {"double": 1e-12, "single": 1e-4}
_MEASURED = re.compile(r"^GMES( -?\d\.\d+e[+-]\d+){5}$", re.MULTILINE)
_NEEDED = {"program_time", "cpu_time", "communication_share", "rate"}


class Su3RmdCheck(MpiCheck, knobs_of(Su3RmdParameters)):
    """Trajectories on one lattice over a number of ranks."""

    su3_rmd = fixture(Su3Rmd, scope="environment")

    @property
    def foreign(self) -> str | None:
        """The original, where it is asked for."""
        return "su3_rmd" if self.implementation == "milc" else None

    @property
    def input_file(self) -> str | None:
        """The original reads its standard input."""
        return "su3.in" if self.foreign else None

    def executable_path(self, built: Path) -> Path:
        """The program has its own build."""
        if self.foreign:
            return super().executable_path(built)
        return Path(self.su3_rmd.stagedir) / "out" / f"su3_rmd_{self.precision}"

    def arguments(self) -> list[str]:
        """The program's options; what it computes is in its input file."""
        if self.foreign:
            return []
        overlap = "yes" if self.overlap else "no"
        options = {"comm": self.communication, "overlap": overlap, "kernel": self.kernel}
        words = [f"--{name}={value}" for name, value in options.items()]
        return ["--input=su3.in", "--json=-", *words]

    def write_inputs(self, stage: Path) -> None:
        """Write the input in the original's format."""
        lines = [
            "prompt 0",
            *(f"{name} {getattr(self, name)}" for name in ("nx", "ny", "nz", "nt")),
            f"iseed {self.seed}",
            f"warms {self.warmups}",
            f"trajecs {self.trajectories}",
            f"traj_between_meas {self.trajectories_between_measurements}",
            f"beta {self.beta!r}",
            f"microcanonical_time_step {self.step_size!r}",
            f"steps_per_trajectory {self.steps}",
            "fresh",
            "forget",
        ]
        (stage / "su3.in").write_text("\n".join([*lines, ""]))

    def settings(self) -> Su3RmdParameters:
        """The knobs as one validated value."""
        knobs = {name: getattr(self, name) for name in self.knob_names}
        return Su3RmdParameters(**knobs, ranks=self.ranks, ranks_per_node=self.ranks_per_node)

    def came_to_its_end(self, output: json_lines.Output, text: str) -> bool:
        """Ours prints an end line; the original says so in words."""
        return milc.completed(text) if self.foreign else super().came_to_its_end(output, text)

    def read(self, output: json_lines.Output, text: str) -> Reading:
        """The program's times and rate, and the launch's wall time."""
        if self.foreign:
            return read_original(self.settings(), output, text)
        return read_run(self.settings(), output, text)


def read_run(asked: Su3RmdParameters, output: json_lines.Output, text: str) -> Reading:
    """The metrics of a run that did what was `asked`; else what is wrong with it."""
    values = {metric.name: metric.value for metric in output.metrics if not metric.at}
    wrong = _wrong_answer(asked, output.notes.get("answer"), text) or _wrong_values(asked, values)
    if wrong:
        return Reading(wrong=wrong)
    launch = registered_metric("launch", output.phase_s("launch_begin", "launch_end"))
    cpu_time = registered_metric("rank_cpu_time", _greatest_cpu_s(output))
    return Reading(metrics=[*output.metrics, launch, cpu_time])


def read_original(asked: Su3RmdParameters, output: json_lines.Output, text: str) -> Reading:
    """The original's time and the rate it stands for, if it did what was `asked`."""
    result = milc.parse(text)
    flag = f"MILC su3_rmd, version {result.version}"
    wrong = _wrong_original(asked, result)
    if wrong:
        return Reading(wrong=wrong, flags=[flag])
    steps = (asked.warmups + asked.trajectories) * asked.steps
    values = {
        "program_time": result.time_s,
        "site_step_time": result.time_s / (steps * asked.sites),
        "rate": operations(asked) / result.time_s,
        "launch": output.phase_s("launch_begin", "launch_end"),
    }
    return Reading([registered_metric(*item) for item in values.items()], flags=[flag])


def _wrong_original(asked: Su3RmdParameters, result: milc.MilcResult) -> str | None:
    expected = {
        **{name: getattr(asked, name) for name in ("nx", "ny", "nz", "nt", "beta")},
        "warms": asked.warmups,
        "trajecs": asked.trajectories,
        "traj_between_meas": asked.trajectories_between_measurements,
        "steps_per_trajectory": asked.steps,
        "microcanonical_time_step": asked.step_size,
        "iseed": asked.seed,
    }
    for name, value in expected.items():
        if not math.isclose(result.settings.get(name, math.nan), value, rel_tol=1e-5):
            return f"the program ran with {name} {result.settings.get(name)}; asked was {value}"
    if (result.ranks, result.precision) != (asked.ranks, asked.precision):
        return (
            f"the program ran on {result.ranks} ranks in {result.precision} precision; asked were"
            f" {asked.ranks} in {asked.precision}"
        )
    if result.measurements != asked.measurements:
        return f"{result.measurements} of {asked.measurements} measurements were printed"
    return _wrong_plaquette(asked, result.plaquette)


def _wrong_plaquette(asked: Su3RmdParameters, plaquette: Any) -> str | None:
    away = abs(plaquette - asked.plaquette) if _is_number(plaquette) else math.inf
    if away < asked.plaquette_tolerance:
        return None
    window = f"{asked.plaquette:g} ± {asked.plaquette_tolerance:g}"
    return f"the last mean plaquette is {plaquette}; it must lie within {window}"


def _wrong_answer(asked: Su3RmdParameters, answer: Any, text: str) -> str | None:
    if not isinstance(answer, dict) or not re.search(r"^RUNNING COMPLETED$", text, re.MULTILINE):
        return "the program gave no answer"
    for name, count in _counts(asked).items():
        if answer.get(name) != count:
            return f"{answer.get(name)} of {count} {name} were made"
    lines = len(_MEASURED.findall(text))
    if lines != asked.measurements:
        return f"{lines} of {asked.measurements} measurements were printed"
    wrong = _wrong_plaquette(asked, answer.get("plaquette"))
    if wrong:
        return wrong
    deviation = answer.get("deviation_from_su3")
    if not _is_number(deviation) or not 0 <= deviation < _DEVIATION[asked.precision]:
        return f"links deviate from SU(3) by {deviation}"
    return None


def _counts(asked: Su3RmdParameters) -> dict[str, int]:
    return {
        "trajectories": asked.warmups + asked.trajectories,
        "measurements": asked.measurements,
    }


def _wrong_values(asked: Su3RmdParameters, values: dict[str, float]) -> str | None:
    """Rate times time must be the operations of the lattice and trajectories that were asked."""
    missing = _NEEDED - values.keys()
    if missing:
        return f"not reported: {', '.join(sorted(missing))}"
    done, expected = values["rate"] * values["program_time"], operations(asked)
    if not math.isclose(done, expected, rel_tol=1e-6):
        return f"rate and time stand for {done:.6g} operations; asked were {expected}"
    if values["communication_share"] > 1:
        return f"communication is {values['communication_share']:g} of the program time"
    return None


def _greatest_cpu_s(output: json_lines.Output) -> Any:
    match output.notes.get("ranks"):
        case {"cpu_s": {"greatest": seconds}}:
            return seconds
    return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
