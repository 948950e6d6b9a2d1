# SPDX-License-Identifier: Apache-2.0
"""Output of the original su3_rmd (MILC collaboration, "MIMD version 7"), and ours in its form.

The program prints text only: the lattice and settings it read, a line a measurement, its wall time.
It is accepted only if every part is there once, in its place, and agrees with the others.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from checks.common.json_lines import OutputError, check_number
from checks.su3_rmd import Su3RmdParameters

_VALUE = r"-?\d\.\d+e[+-]\d\d+"
_PAIR = rf"(?P<space>{_VALUE}) (?P<time>{_VALUE})"
_EXTENTS = r"(?P<extents>\d{1,9} x \d{1,9} x \d{1,9} x \d{1,9})"
_INTEGERS = ("nx", "ny", "nz", "nt", "iseed")
_COUNTS = ("warms", "trajecs", "traj_between_meas")
_REALS = ("beta", "microcanonical_time_step")

#: Lines that must be there, in this order: the word a line begins with, and the whole line.
_LINES: dict[str, re.Pattern[str]] = {
    word: re.compile(pattern, re.ASCII)
    for word, pattern in (
        ("Pure gauge", r"Pure gauge SU3"),
        ("Microcanonical", r"Microcanonical simulation with refreshing"),
        ("MIMD version ", r"MIMD version (?P<version>\S+)"),
        ("Machine = ", r"Machine = (?:MPI|QMP) \(portable\), with (?P<ranks>\d{1,15}) nodes"),
        (
            "su3_rmd of Assay",
            r"su3_rmd of Assay, (?P<precision>\w+) precision, (?P<library>.+),"
            r" with (?P<ranks>\d{1,15}) ranks",
        ),
        *((f"{name} ", rf"{name} (?P<value>\d{{1,15}})") for name in _INTEGERS),
        ("LAYOUT = ", rf"LAYOUT = (?:{_EXTENTS} ranks|.*)"),
        ("ON EACH NODE", rf"ON EACH NODE \(RANK\) {_EXTENTS}"),
        ("kernels ", r"kernels (?P<kernels>\w+), .*"),
        ("messages ", r"messages (?P<messages>\w+), overlap (?P<overlap>yes|no)"),
        *((f"{name} ", rf"{name} (?P<value>\d{{1,15}})") for name in _COUNTS),
        *((f"{name} ", rf"{name} (?P<value>[-+.\de]+)") for name in _REALS),
        ("steps_per_trajectory ", r"steps_per_trajectory (?P<value>\d{1,15})"),
        ("fresh", r"fresh"),
        ("forget", r"forget"),
        ("unit gauge", r"unit gauge configuration loaded"),
        ("CHECK PLAQ", rf"CHECK PLAQ: {_PAIR}"),
        ("CHECK NERSC", rf"CHECK NERSC LINKTR: (?P<trace>{_VALUE}) CKSUM: [\da-fA-F]+"),
        ("WARMUPS", r"WARMUPS COMPLETED"),
        ("GMES", rf"GMES (?P<re>{_VALUE}) (?P<im>{_VALUE}) (?P<iterations>{_VALUE}) {_PAIR}"),
        ("RUNNING", r"RUNNING COMPLETED"),
        ("Time = ", rf"Time = (?P<seconds>{_VALUE}) seconds"),
    )
}
#: Lines of the original, of ours, and those that not every version of the original prints.
_ORIGINAL = frozenset({"MIMD version ", "Machine = ", "CHECK NERSC"})
_OWN = frozenset({"su3_rmd of Assay", "kernels ", "messages "})
_OPTIONAL = frozenset({"LAYOUT = ", "ON EACH NODE", "CHECK NERSC"})
#: What lines say besides settings.
_SAID = frozenset({"version", "ranks", "precision", "library", "kernels", "messages", "overlap"})
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
    """Block of the program's input and what was measured; `said` are words of its lines."""

    settings: dict[str, float]
    measurements: list[Measurement]
    precision: str
    time_s: float
    said: dict[str, str]

    @property
    def ranks(self) -> int:
        """Ranks that the program ran on."""
        return int(self.said["ranks"])

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
    others, optional = (_ORIGINAL, frozenset()) if own else (_OWN, _OPTIONAL)
    found = _in_order(text, others, optional)
    words = {word: match for word, match in found if word != "GMES"}
    settings: dict[str, float] = {}
    for name in (*_INTEGERS, *_COUNTS, *_REALS, "steps_per_trajectory"):
        try:
            settings[name] = float(words[f"{name} "]["value"])
        except ValueError:
            raise OutputError(f"su3_rmd prints {words[f'{name} '][0]!r}") from None
    said: dict[str, str] = {}
    for match in words.values():
        said.update({k: v for k, v in match.groupdict().items() if v and k in _SAID})
    _check_layout(words, settings, int(said["ranks"]))
    loaded = words["CHECK PLAQ"]
    if any(abs(float(loaded[which]) - 3) > 1e-5 for which in ("space", "time")):
        raise OutputError(f"su3_rmd began with {loaded[0]!r}; a unit field's plaquettes are 3")
    if "CHECK NERSC" in words and abs(float(words["CHECK NERSC"]["trace"]) - 1) > 1e-5:
        raise OutputError(f"su3_rmd began with {words['CHECK NERSC'][0]!r}, no unit field")
    digits = len(loaded["space"].split(".")[1].split("e")[0])
    precision = "double" if digits == _DOUBLE_DIGITS else "single"
    time_s = check_number(float(words["Time = "]["seconds"]), "s", "its time")
    measured = [_measurement(match) for word, match in found if word == "GMES"]
    return Block(settings, measured, precision, time_s, said)


def _in_order(
    text: str, others: frozenset[str], optional: frozenset[str]
) -> list[tuple[str, re.Match[str]]]:
    """The lines of the text that are known, by their first word, in their right order.

    `others` are lines of the other program, `optional` those that may be missing.
    """
    found: list[tuple[str, re.Match[str]]] = []
    for line in text.split("\n"):
        word = next((word for word in _LINES if line.startswith(word)), None)
        if word is None:
            continue
        match = _LINES[word].fullmatch(line.rstrip(" \r"))
        if match is None or word in others:
            raise OutputError(f"su3_rmd prints a line that is cut, mixed or none: {line[:80]!r}")
        found.append((word, match))
    right: list[str] = []
    for word in _LINES:
        count = sum(1 for other, _ in found if other == word)
        if not count and word not in others | optional:
            raise OutputError(f"su3_rmd prints no line that begins with {word!r}")
        if count > 1 and word != "GMES":
            raise OutputError(
                f"su3_rmd prints {count} lines that begin with {word!r}; one is right"
            )
        right += [word] * count
    if [word for word, _ in found] != right:
        raise OutputError("su3_rmd's lines are not in their order")
    return found


def _check_layout(words: dict[str, re.Match[str]], settings: dict[str, float], ranks: int) -> None:
    """Raise OutputError unless the ranks' parts make up the lattice, where they are printed."""
    lattice = [int(settings[name]) for name in ("nx", "ny", "nz", "nt")]
    if "ON EACH NODE" not in words:
        return
    part = _extents(words["ON EACH NODE"])
    right = all(whole % one == 0 for whole, one in zip(lattice, part, strict=True) if one)
    right = right and math.prod(part) * ranks == math.prod(lattice)
    layout = words.get("LAYOUT = ")
    if right and layout is not None and layout["extents"]:
        grid = _extents(layout)
        right = [one * count for one, count in zip(part, grid, strict=True)] == lattice
    if not right:
        raise OutputError(
            f"{words['ON EACH NODE'][0]!r} on {ranks} ranks does not make the lattice {lattice}"
        )


def _extents(match: re.Match[str]) -> list[int]:
    return [int(one) for one in match["extents"].split(" x ")]


def _measurement(match: re.Match[str]) -> Measurement:
    names = ("re", "im", "space", "time")
    values = [float(match[name]) for name in names]
    if float(match["iterations"]) != _NO_ITERATIONS or any(
        abs(value) > _GREATEST_TRACE for value in values
    ):
        raise OutputError(f"su3_rmd measured {match[0]!r}, which no gauge field has")
    return Measurement(*values)


def other_run(asked: Su3RmdParameters, printed: Block) -> str | None:
    """The first setting that was not asked, or None."""
    whole = {
        **{name: getattr(asked, name) for name in ("nx", "ny", "nz", "nt")},
        "warms": asked.warmups,
        "trajecs": asked.trajectories,
        "traj_between_meas": asked.trajectories_between_measurements,
        "steps_per_trajectory": asked.steps,
        "iseed": asked.seed,
    }
    real = {"beta": asked.beta, "microcanonical_time_step": asked.step_size}
    for name, value in {**whole, **real}.items():
        tolerance = _SETTING_ROUNDING if name in real else 0.0
        if not math.isclose(printed.settings[name], value, rel_tol=tolerance):
            return f"the program ran with {name} {printed.settings[name]:g}; asked was {value}"
    found: tuple[tuple[str, Any, Any], ...] = (
        ("measurements", len(printed.measurements), asked.measurements),
        ("ranks", printed.ranks, asked.ranks),
        ("precision", printed.precision, asked.precision),
    )
    for what, got, wanted in found:
        if got != wanted:
            return f"the program ran with {what} {got}; asked was {wanted}"
    return None


def other_measurements(
    printed: Sequence[Measurement], reported: Sequence[Any], answer: Any
) -> str | None:
    """The first measurement that our program reported otherwise than it printed it, or None.

    It prints seven digits. The answer repeats the last plaquettes.
    """
    if len(printed) != len(reported):
        return f"{len(printed)} measurements were printed and {len(reported)} reported"
    for line, note in zip(printed, reported, strict=True):
        for name, value in vars(line).items():
            found = note.get(name) if isinstance(note, dict) else None
            if not is_number(found) or not math.isclose(found, value, rel_tol=5.1e-7):
                return f"the program printed {name} {value:g} and reported {found!r:.40}"
    for name in ("plaquette_space", "plaquette_time"):
        if answer[name] != reported[-1][name]:
            return f"the program answered with {name} {answer[name]}, not {reported[-1][name]}"
    return None
