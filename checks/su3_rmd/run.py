# SPDX-License-Identifier: Apache-2.0
"""The lattice gauge application: wall, CPU and communication time of a real program.

The program is ours, or the original where the site has it; the record says which. Before any time
counts: every trajectory was run and measured, the plaquette is one of a gauge field at this
coupling, and the links are still SU(3).
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

from reframe.core.builtins import fixture

from checks.common.answer import Reading, died, longer_than_launch, option_words, other_program
from checks.common.base import OwnProgram
from checks.common.json_lines import Output, measured
from checks.common.session.builds import Su3Rmd
from checks.su3_rmd import CHECK, wrong_plaquette
from checks.su3_rmd import output as milc
from checks.su3_rmd.metrics import PRINTED_DIGITS
from checks.su3_rmd.parameters import Su3RmdParameters
from records.metric import Metric


class Run(OwnProgram):
    """Trajectories on one lattice over a number of ranks."""

    su3_rmd = fixture(Su3Rmd, scope="environment")

    @property
    def foreign(self) -> str | None:
        """The original, where it is asked for."""
        return "su3_rmd" if self.params.implementation == "milc" else None

    @property
    def input_file(self) -> str | None:
        """The original reads its standard input."""
        return "su3.in" if self.foreign else None

    def command(self) -> list[str]:
        """The program has its own build."""
        if self.foreign:
            return [str(self.foreign_path)]
        program = self.su3_rmd.folder / f"su3_rmd_{self.params.precision}"
        return [str(program), *option_words(CHECK.options(self.params))]

    def write_inputs(self, stage: Path) -> None:
        """Write the input in the original's format."""
        p = self.params
        lines = [
            "prompt 0",
            *(f"{name} {getattr(p, name)}" for name in ("nx", "ny", "nz", "nt")),
            f"iseed {p.seed}",
            f"warms {p.warmups}",
            f"trajecs {p.trajectories}",
            f"traj_between_meas {p.trajectories_between_measurements}",
            f"beta {p.beta!r}",
            f"microcanonical_time_step {p.step_size!r}",
            f"steps_per_trajectory {p.steps}",
            "fresh",
            "forget",
        ]
        (stage / "su3.in").write_text("\n".join([*lines, ""]))

    def came_to_its_end(self, output: Output, text: str) -> bool:
        """Ours prints an end line; the original says so in words."""
        return milc.completed(text) if self.foreign else super().came_to_its_end(output, text)

    def read(self, output: Output, text: str) -> Reading:
        """The program's times and rate, and the launch's wall time."""
        reader = read_original if self.foreign else read_own
        return reader(self.params, output, text)


def read_own(asked: Su3RmdParameters, output: Output, text: str) -> Reading:
    """The metrics of our program, whose text in the original's format must say the same."""
    reading = CHECK.read(asked, output)
    if reading.wrong:
        return reading
    printed = milc.parse(text, own=True)
    program = output.program or {}
    said = {
        "precision": asked.precision,
        "library": program.get("mpi"),
        "messages": asked.communication,
        "overlap": "yes" if asked.overlap else "no",
        **({} if asked.kernel == "auto" else {"kernels": asked.kernel}),
    }
    program_s = next(m.value for m in reading.metrics if m.name == "program_time")
    answer = output.notes["answer"]
    notes = output.notes_of("measurement")
    wrong = milc.other_run(asked, printed) or milc.other_measurements(
        printed.measurements, notes, answer
    )
    if [_place(note) for note in notes] != _places(asked):
        wrong = "the measurements that were reported are not those of the trajectories asked"
    for name, value in said.items():
        if printed.said[name] != value:
            wrong = f"the program ran with {name} {printed.said[name]}; asked was {value}"
    if not math.isclose(printed.time_s, program_s, rel_tol=5.1e-7):
        wrong = f"the program printed {printed.time_s} s and reported {program_s} s"
    if not math.isclose(printed.plaquette, answer["plaquette"], rel_tol=1e-6):
        wrong = f"the program printed the plaquette {printed.plaquette}, not {answer['plaquette']}"
    if wrong:
        return Reading(wrong=wrong)
    return replace(reading, metrics=[*reading.metrics, *_kept(asked, printed)])


def _kept(asked: Su3RmdParameters, printed: milc.Block) -> list[Metric]:
    """The numbers of each measurement as they were printed, where the case keeps them."""
    return [
        Metric(one.name, one.unit, one.better, getattr(line, one.name), {"measurement": number})
        for number, line in enumerate(printed.measurements, start=1)
        for one in PRINTED_DIGITS
        if asked.keep_measurements
    ]


def _place(note: Any) -> tuple[Any, Any]:
    place = [note.get(name) if isinstance(note, dict) else None for name in ("block", "trajectory")]
    block, trajectory = (one if type(one) is int else None for one in place)
    return block, trajectory


def _places(asked: Su3RmdParameters) -> list[tuple[int, int]]:
    """Block and trajectory of every measurement."""
    step = asked.trajectories_between_measurements
    return [(1, asked.warmups + step * (i + 1)) for i in range(asked.measurements)]


def read_original(asked: Su3RmdParameters, output: Output, text: str) -> Reading:
    """The original's time and the rate that follows from it, if it did what was `asked`."""
    printed = milc.parse(text)
    flag = f"MILC su3_rmd, version {printed.said['version']}"
    wrong = (
        milc.other_run(asked, printed)
        or wrong_plaquette(asked, printed.plaquette)
        or died(text)
        or other_program(None, [], output)
        or longer_than_launch(printed.time_s, output)
    )
    if wrong:
        return Reading(wrong=wrong, flags=[flag])
    values = {
        "program_time": printed.time_s,
        "site_step_time": printed.time_s / asked.site_steps,
        "rate": asked.operations / printed.time_s,
        "launch": output.phase_s("launch_begin", "launch_end"),
    }
    metrics = [measured(CHECK.metrics_by_name[name], value) for name, value in values.items()]
    return Reading([*metrics, *_kept(asked, printed)], flags=[flag])
