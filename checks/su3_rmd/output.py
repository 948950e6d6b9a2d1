# SPDX-License-Identifier: Apache-2.0
"""Text of su3_rmd (MILC collaboration, "MIMD version 7"), which our program prints in its form.

Settings that were read, a line a measurement and the wall time: each line must be there once, whole
and in its order.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, TypeGuard

from checks.common.json_lines import OutputError, check_number
from checks.su3_rmd import Su3RmdParameters

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


def completed(text: str) -> bool:
    """True if the program says that it ran to its end."""
    return len(re.findall(r"^RUNNING COMPLETED$", text, re.MULTILINE | re.ASCII)) == 1


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
