# SPDX-License-Identifier: Apache-2.0
"""The lattice gauge application: wall, CPU and communication time of a real program.

The program is ours, or the original where the site has it; the record says which. Its text, which
ours prints in the original's form (MILC collaboration, "MIMD version 7"): settings that were read,
a line a measurement and the wall time, each line once, whole and in its order. Before any time
counts: every trajectory was run and measured, the plaquette is one of a gauge field at this
coupling, and the links are still SU(3).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, TypeGuard

from checks.common import answer
from checks.common.answer import Reading
from checks.common.base import OwnProgram
from checks.common.json_lines import Output, OutputError, check_number, measured
from checks.common.metrics import LAUNCH
from checks.su3_rmd import CHECK, PRINTED_DIGITS, RANK_CPU_TIME, Su3RmdParameters
from records.metric import Metric

_VALUE = r"-?\d\.\d+e[+-]\d\d+"
_PAIR = rf"(?P<space>{_VALUE}) (?P<time>{_VALUE})"
_REALS = ("beta", "microcanonical_time_step")
_GMES = "GMES"


def _settings(*names: str) -> dict[str, str]:
    value = {name: r"\d+\.?\d*(?:e[+-]\d+)?" if name in _REALS else r"\d{1,15}" for name in names}
    return {f"{name} ": rf"{name} (?P<value>{value[name]})" for name in names}


#: Lines in their order: the word that a line begins with, and the whole line.
_LINES = {
    word: re.compile(pattern, re.ASCII)
    for word, pattern in {
        "MIMD version ": r"MIMD version (?P<version>\S+)",
        "Machine = ": r"Machine = (?:MPI|QMP) \(portable\), with (?P<ranks>\d{1,15}) nodes",
        "su3_rmd of Assay": r"su3_rmd of Assay, (?P<precision>\w+) precision, (?P<library>.+),"
        r" with (?P<ranks>\d{1,15}) ranks",
        **_settings("nx", "ny", "nz", "nt", "iseed"),
        "kernels ": r"kernels (?P<kernels>\w+), .*",
        "messages ": r"messages (?P<messages>\w+), overlap (?P<overlap>yes|no)",
        **_settings("warms", "trajecs", "traj_between_meas", *_REALS, "steps_per_trajectory"),
        "CHECK PLAQ": rf"CHECK PLAQ: {_PAIR}",
        _GMES: rf"GMES (?P<re>{_VALUE}) (?P<im>{_VALUE}) (?P<iterations>{_VALUE}) {_PAIR}",
        "RUNNING": r"RUNNING COMPLETED",
        "Time = ": rf"Time = (?P<seconds>{_VALUE}) seconds",
    }.items()
}
#: Lines of the original alone, and of ours.
_ORIGINAL = ("MIMD version ", "Machine = ")
_OWN = ("su3_rmd of Assay", "kernels ", "messages ")
#: Conjugate-gradient iterations where there are no quarks to iterate for.
_NO_ITERATIONS = 99.9
#: Greatest plaquette and Polyakov loop, traces of SU(3) matrices, with their rounding.
_GREATEST_TRACE = 3.00001
#: Digits after the point of the plaquette at load, printed with %.16e in double precision.
_DOUBLE_DIGITS = 16
#: Half a unit of the sixth digit, in which %g prints real settings.
_SETTING_ROUNDING = 5.1e-6
#: JSON knows integers that are greater than any real number.
_GREATEST_NUMBER = 1e300
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
        return [str(program), *answer.option_words(CHECK.options(self.params))]

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
        if not self.foreign:
            return super().came_to_its_end(output, text)
        return len(re.findall(r"^RUNNING COMPLETED$", text, re.MULTILINE)) == 1

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
    printed = parse(text, own=True)
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
    asked: Su3RmdParameters, output: Output, printed: Block, program_s: float
) -> Iterator[str]:
    """Lines of the program's text that say otherwise than what was asked, or than it reported."""
    plaquette = output.notes["answer"]["plaquette"]
    if wrong := other_run(asked, printed):
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


def _kept(asked: Su3RmdParameters, printed: Block) -> list[Metric]:
    """The numbers of each measurement as they were printed, where the case keeps them."""
    return [
        Metric(one.name, one.unit, one.better, getattr(line, one.name), {"measurement": number})
        for number, line in enumerate(printed.measurements, start=1)
        for one in PRINTED_DIGITS
        if asked.keep_measurements
    ]


def read_original(asked: Su3RmdParameters, output: Output, text: str) -> Reading:
    """The original's time and the rate that follows from it, if it did what was `asked`."""
    printed = parse(text)
    flag = f"MILC su3_rmd, version {printed.words['version']}"
    wrong = (
        other_run(asked, printed)
        or _wrong_plaquette(asked, printed.plaquette)
        or answer.died(text)
        or answer.other_program(None, [], output)
        or answer.longer_than_launch(printed.time_s, output)
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
    note, precision = _only_note(output, "answer"), (output.program or {}).get("precision")
    if precision != params.precision:
        yield f"the program computed in {precision} precision; asked was {params.precision}"
    counts = {
        "trajectories": params.warmups + params.trajectories,
        "measurements": params.measurements,
    }
    for name, count in counts.items():
        if type(note.get(name)) is not int or note[name] != count:
            yield f"{note.get(name)} of {count} {name} were made"
    if wrong := _wrong_plaquette(params, note.get("plaquette")):
        yield wrong
    space, time = note.get("plaquette_space"), note.get("plaquette_time")
    both = (space + time) / 6 if is_number(space) and is_number(time) else math.nan
    if not math.isclose(both, note["plaquette"], rel_tol=1e-8):
        yield f"the mean plaquette is {note['plaquette']}; by its parts it is {both:.9g}"
    deviation = note.get("deviation_from_su3")
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
        if not answer.mean_is_possible(least, mean, greatest, ranks):
            raise OutputError(f"the note `ranks`: {name} has an impossible least, mean or greatest")
    return found


def is_number(value: Any) -> TypeGuard[float]:
    """True if a value of a JSON line is a finite number."""
    return type(value) in (int, float) and abs(value) < _GREATEST_NUMBER


@dataclass(frozen=True)
class Measurement:
    """Line of measurements: Polyakov loop and plaquettes, which are 3 of a unit field."""

    polyakov_re: float
    polyakov_im: float
    plaquette_space: float
    plaquette_time: float

    @property
    def plaquette(self) -> float:
        """The mean plaquette, normalised to 1."""
        return (self.plaquette_space + self.plaquette_time) / 6


@dataclass(frozen=True)
class Block:
    """Settings that the program read and what it measured; `words` are those of its other lines."""

    settings: dict[str, float]
    measurements: list[Measurement]
    time_s: float
    words: dict[str, str]

    @property
    def plaquette(self) -> float:
        """The last mean plaquette, normalised to 1."""
        return self.measurements[-1].plaquette


def parse(text: str, *, own: bool = False) -> Block:
    """Read the one block that was run; `own`: as our program prints it.

    Raises OutputError for anything missing, repeated, out of its place, or impossible.
    """
    found = _in_order(text, [word for word in _LINES if word not in (_ORIGINAL if own else _OWN)])
    lines = {word: match for word, match in found if word != _GMES}
    settings = {w.strip(): float(m["value"]) for w, m in lines.items() if "value" in m.groupdict()}
    words = {k: v for match in lines.values() for k, v in match.groupdict().items()}
    loaded = lines["CHECK PLAQ"]
    if any(abs(float(loaded[which]) - 3) > 1e-5 for which in ("space", "time")):
        raise OutputError(f"su3_rmd began with {loaded[0]!r}; a unit field's plaquettes are 3")
    digits = len(loaded["space"].split(".")[1].split("e")[0])
    words["precision"] = "double" if digits == _DOUBLE_DIGITS else "single"
    if own and words["precision"] != lines["su3_rmd of Assay"]["precision"]:
        raise OutputError(f"su3_rmd began with {loaded[0]!r}, of {words['precision']} precision")
    time_s = check_number(float(words["seconds"]), "s", "its time")
    return Block(settings, [_measurement(m) for w, m in found if w == _GMES], time_s, words)


def _in_order(text: str, wanted: Sequence[str]) -> list[tuple[str, re.Match[str]]]:
    """The lines that are known, by their first word: each wanted one once, measurements often."""
    found: list[tuple[str, re.Match[str]]] = []
    words: list[str] = []
    for line in text.split("\n"):
        word = next((word for word in _LINES if line.startswith(word)), None)
        if word is None:
            continue
        match = _LINES[word].fullmatch(line.rstrip(" \r"))
        if match is None or word not in wanted:
            raise OutputError(f"su3_rmd prints a line that is cut, mixed or none: {line[:80]!r}")
        found.append((word, match))
        if word != _GMES or words[-1:] != [_GMES]:
            words.append(word)
    for word, right in zip_longest(words, wanted):
        if word != right:
            raise OutputError(f"su3_rmd prints {word!r} where {right!r} is right, once, in order")
    return found


def _measurement(match: re.Match[str]) -> Measurement:
    values = [float(match[name]) for name in ("re", "im", "space", "time")]
    no_field = any(abs(value) > _GREATEST_TRACE for value in values)
    if no_field or float(match["iterations"]) != _NO_ITERATIONS:
        raise OutputError(f"su3_rmd measured {match[0]!r}, which no gauge field has")
    return Measurement(*values)


def other_run(asked: Su3RmdParameters, printed: Block) -> str | None:
    """The first setting that was not asked, or None."""
    wanted: dict[str, Any] = {
        **{name: getattr(asked, name) for name in ("nx", "ny", "nz", "nt")},
        "warms": asked.warmups,
        "trajecs": asked.trajectories,
        "traj_between_meas": asked.trajectories_between_measurements,
        "steps_per_trajectory": asked.steps,
        "iseed": asked.seed,
        "beta": asked.beta,
        "microcanonical_time_step": asked.step_size,
        "measurements": asked.measurements,
        "ranks": asked.ranks,
    }
    ran = {**printed.settings, "measurements": len(printed.measurements)}
    ran["ranks"] = int(printed.words["ranks"])
    for name, value in wanted.items():
        rounding = _SETTING_ROUNDING if name in _REALS else 0.0
        if not math.isclose(ran[name], value, rel_tol=rounding):
            return f"the program ran with {name} {ran[name]:g}; asked was {value}"
    if printed.words["precision"] != asked.precision:
        return f"the program ran in {printed.words['precision']} precision, not {asked.precision}"
    return None
