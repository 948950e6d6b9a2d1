# SPDX-License-Identifier: Apache-2.0
"""The lattice gauge application: wall, CPU and communication time of a real program.

The program is ours, or the original where the site has it; the record says which. Before any time
counts: every trajectory was run and measured, the plaquette is one of a gauge field at this
coupling, and the links are still SU(3).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from checks.common.answer import (
    Reading,
    died,
    longer_than_launch,
    mean_is_possible,
    option_words,
    other_program,
)
from checks.common.base import OwnProgram
from checks.common.json_lines import Output, OutputError, measured
from checks.common.metrics import LAUNCH
from checks.su3_rmd import CHECK, PRINTED_DIGITS, RANK_CPU_TIME, Su3RmdParameters
from checks.su3_rmd import output as milc
from checks.su3_rmd.output import is_number
from records.metric import Metric

#: Greatest deviation of a link from SU(3) that is rounding, by precision.
GREATEST_DEVIATION = {"double": 1e-12, "single": 1e-4}
#: Times of the ranks, and what is given of each over them.
_RANK_TIMES = tuple(
    f"{name}_s"
    for name in ("communication", "global_sums", "dynamics", "refresh", "measurement", "cpu")
)
WHICH = ("least", "mean", "greatest")


class Run(OwnProgram):
    """Trajectories on one lattice over a number of ranks."""

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
        program = self.setting.builds["Su3Rmd"] / f"su3_rmd_{self.params.precision}"
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
    seconds = _seconds_of_ranks(_only_note(output, "ranks"), asked.ranks)
    printed = milc.parse(text, own=True)
    values = {metric.name: metric.value for metric in reading.metrics}
    faults = (
        _wrong_answer(asked, output),
        _wrong_times(asked, values, seconds),
        _other_text(asked, output, printed, values["program_time"]),
    )
    if wrong := next(chain(*faults), None):
        return Reading(wrong=wrong)
    launch = measured(LAUNCH, output.phase_s("launch_begin", "launch_end"))
    rank_cpu_time = measured(RANK_CPU_TIME, seconds["cpu_s", "greatest"])
    return Reading([*reading.metrics, launch, rank_cpu_time, *_kept(asked, printed)])


def _other_text(
    asked: Su3RmdParameters, output: Output, printed: milc.Block, program_s: float
) -> Iterator[str]:
    """Lines of the program's text that say otherwise than what was asked, or than it reported."""
    plaquette = output.notes["answer"]["plaquette"]
    if wrong := milc.other_run(asked, printed):
        yield wrong
    if not math.isclose(printed.plaquette, plaquette, rel_tol=1e-6):
        yield f"the program printed the plaquette {printed.plaquette:g}, not {plaquette}"
    wanted = {
        "library": (output.program or {}).get("mpi"),
        "messages": asked.communication,
        "overlap": "yes" if asked.overlap else "no",
        **({} if asked.kernel == "auto" else {"kernels": asked.kernel}),
    }
    for name, value in wanted.items():
        if printed.words[name] != value:
            yield f"the program ran with {name} {printed.words[name]}; asked was {value}"
    if not math.isclose(printed.time_s, program_s, rel_tol=5.1e-7):
        yield f"the program printed {printed.time_s} s and reported {program_s} s"


def _kept(asked: Su3RmdParameters, printed: milc.Block) -> list[Metric]:
    """The numbers of each measurement as they were printed, where the case keeps them."""
    return [
        Metric(one.name, one.unit, one.better, getattr(line, one.name), {"measurement": number})
        for number, line in enumerate(printed.measurements, start=1)
        for one in PRINTED_DIGITS
        if asked.keep_measurements
    ]


def read_original(asked: Su3RmdParameters, output: Output, text: str) -> Reading:
    """The original's time and the rate that follows from it, if it did what was `asked`."""
    printed = milc.parse(text)
    flag = f"MILC su3_rmd, version {printed.words['version']}"
    wrong = (
        milc.other_run(asked, printed)
        or _wrong_plaquette(asked, printed.plaquette)
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


def _wrong_plaquette(params: Su3RmdParameters, plaquette: Any) -> str | None:
    """Why the last mean plaquette is not the one expected, or None."""
    away = abs(plaquette - params.plaquette) if is_number(plaquette) else math.inf
    if away < params.plaquette_tolerance:
        return None
    window = f"{params.plaquette:g} ± {params.plaquette_tolerance:g}"
    return f"the last mean plaquette is {plaquette}; it must lie within {window}"


def _only_note(output: Output, key: str) -> dict[str, Any]:
    """The members of a note. Raises OutputError unless it came once."""
    notes = output.notes_of(key)
    if len(notes) != 1 or not isinstance(notes[0], dict):
        raise OutputError(f"the program gave {len(notes)} notes {key}; right is one, with members")
    note: dict[str, Any] = notes[0]
    return note


def _wrong_answer(params: Su3RmdParameters, output: Output) -> Iterator[str]:
    """Operations, trajectories and traces that are not those asked for."""
    answer, precision = _only_note(output, "answer"), (output.program or {}).get("precision")
    if precision != params.precision:
        yield f"the program computed in {precision} precision; asked was {params.precision}"
    counts = {
        "trajectories": params.warmups + params.trajectories,
        "measurements": params.measurements,
    }
    for name, count in counts.items():
        if type(answer.get(name)) is not int or answer[name] != count:
            yield f"{answer.get(name)} of {count} {name} were made"
    if wrong := _wrong_plaquette(params, answer.get("plaquette")):
        yield wrong
    space, time = answer.get("plaquette_space"), answer.get("plaquette_time")
    both = (space + time) / 6 if is_number(space) and is_number(time) else math.nan
    if not math.isclose(both, answer["plaquette"], rel_tol=1e-8):
        yield f"the mean plaquette is {answer['plaquette']}; by its parts it is {both:.9g}"
    deviation = answer.get("deviation_from_su3")
    if not is_number(deviation) or not 0 <= deviation < GREATEST_DEVIATION[params.precision]:
        yield f"links deviate from SU(3) by {deviation}"
    found = _only_note(output, "kernels").get("original_flop")
    if not (is_number(found) and math.isclose(found, params.operations, rel_tol=1e-8)):
        yield f"the program counts {found!r:.40} operations; asked were {params.operations}"


def _wrong_times(
    params: Su3RmdParameters,
    values: Mapping[str, float],
    seconds: Mapping[tuple[str, str], float],
) -> Iterator[str]:
    """Times that do not follow from those of the ranks, or are longer than what contains them."""
    sums_s, mean_cpu_s = seconds["global_sums_s", "mean"], seconds["cpu_s", "mean"]
    parts = {
        "communication_time": seconds["communication_s", "mean"] + sums_s,
        "global_sum_time": sums_s,
        "molecular_dynamics_time": seconds["dynamics_s", "greatest"]
        + seconds["refresh_s", "greatest"],
        "measurement_time": seconds["measurement_s", "greatest"],
        "cpu_time": mean_cpu_s * params.ranks,
    }
    for name, expected in parts.items():
        if not math.isclose(values[name], expected, rel_tol=1e-7):
            yield f"{name} is {values[name]:.9g} s; by the ranks' it is {expected:.9g} s"
    # The program's time is that of rank 0; another may be in a part while rank 0 still begins.
    least_s = sum(seconds[name, "least"] for name in ("dynamics_s", "refresh_s", "measurement_s"))
    if least_s > 1.001 * values["program_time"]:
        yield f"parts of {least_s:.9g} s, program_time {values['program_time']:.9g} s"
    for part, whole in (
        ("warmup_time", "program_time"),
        ("communication_time", "program_time"),
        ("program_time", "total_time"),
    ):
        if values[part] > values[whole]:
            yield f"{part} is {values[part]:.9g} s, {whole} {values[whole]:.9g} s"


def _seconds_of_ranks(note: dict[str, Any], ranks: int) -> Mapping[tuple[str, str], float]:
    """Least, mean and greatest over the ranks of each time. Raises OutputError."""
    found: dict[tuple[str, str], float] = {}
    for name in _RANK_TIMES:
        for which in WHICH:
            of_name = note.get(name)
            value = of_name.get(which) if isinstance(of_name, dict) else None
            if not is_number(value):
                raise OutputError(f"the note `ranks` has no {which} {name}")
            found[name, which] = float(value)
        least, mean, greatest = (found[name, which] for which in WHICH)
        if not mean_is_possible(least, mean, greatest, ranks):
            raise OutputError(f"the note `ranks`: {name} has an impossible least, mean or greatest")
    return found
