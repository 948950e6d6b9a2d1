# SPDX-License-Identifier: Apache-2.0
"""What the original su3_rmd prints (MILC collaboration, "MIMD version 7").

The program prints text only: the lattice and settings it read, a line a measurement, its wall time.
It is accepted only if every part is there once and agrees with the others.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from checks.common.json_lines import OutputError, check_number

_VALUE = r"-?\d\.\d+e[+-]\d\d+"
_VERSION = re.compile(r"^MIMD version (?P<version>\S+)$", re.MULTILINE | re.ASCII)
_RANKS = re.compile(r"^Machine = .+, with (?P<ranks>\d+) nodes$", re.MULTILINE | re.ASCII)
_SETTING = re.compile(
    r"^(?P<name>nx|ny|nz|nt|iseed|warms|trajecs|traj_between_meas|beta|microcanonical_time_step"
    r"|steps_per_trajectory) (?P<value>[-+.\de]+)$",
    re.MULTILINE | re.ASCII,
)
_LOADED = re.compile(rf"^CHECK PLAQ: (?P<space>{_VALUE}) {_VALUE}$", re.MULTILINE | re.ASCII)
_MEASURED = re.compile(
    rf"^GMES {_VALUE} {_VALUE} {_VALUE} (?P<space>{_VALUE}) (?P<time>{_VALUE})$", re.MULTILINE
)
_TIME = re.compile(rf"^Time = (?P<time>{_VALUE}) seconds$", re.MULTILINE | re.ASCII)
#: Digits after the point of the plaquette at load, printed with %.16e in double precision.
_DOUBLE_DIGITS = 16


@dataclass(frozen=True)
class Block:
    """One block of the program's input, which our own program prints in the same form.

    `plaquette` is the last mean one, normalised to 1.
    """

    settings: dict[str, float]
    measurements: int
    plaquette: float
    time_s: float


@dataclass(frozen=True)
class MilcResult:
    """A run of one block by the original."""

    version: str
    ranks: int
    precision: str
    block: Block


def completed(text: str) -> bool:
    """Whether the program says that it ran to its end."""
    return len(re.findall(r"^RUNNING COMPLETED$", text, re.MULTILINE | re.ASCII)) == 1


def parse(text: str) -> MilcResult:
    """The result of a run of one block. Raises OutputError for anything missing or repeated."""
    block = parse_block(text)
    digits = len(_only(_LOADED, text, "the plaquette at load")["space"].split(".")[1].split("e")[0])
    return MilcResult(
        version=_only(_VERSION, text, "its version")["version"],
        ranks=int(_only(_RANKS, text, "its ranks")["ranks"]),
        precision="double" if digits == _DOUBLE_DIGITS else "single",
        block=block,
    )


def parse_block(text: str) -> Block:
    """Settings, measurements and time of the one block. Raises OutputError."""
    if not completed(text):
        raise OutputError("su3_rmd does not say RUNNING COMPLETED once")
    measured = list(_MEASURED.finditer(text))
    lines = len(re.findall(r"^GMES", text, re.MULTILINE | re.ASCII))
    if not measured or len(measured) != lines:
        raise OutputError(f"{lines} lines of measurements, of which {len(measured)} can be read")
    mean = (float(measured[-1]["space"]) + float(measured[-1]["time"])) / 6
    if not (math.isfinite(mean) and -0.5 <= mean <= 1):
        raise OutputError(f"the mean plaquette {mean:g} is none of a gauge field")
    settings: dict[str, float] = {}
    for match in _SETTING.finditer(text):
        if match["name"] in settings:
            raise OutputError(f"su3_rmd prints {match['name']} twice")
        try:
            settings[match["name"]] = float(match["value"])
        except ValueError:
            raise OutputError(f"su3_rmd prints {match[0]!r}") from None
    time_s = check_number(float(_only(_TIME, text, "its time")["time"]), "s", "its time")
    return Block(settings, lines, mean, time_s)


def _only(pattern: re.Pattern[str], text: str, what: str) -> re.Match[str]:
    found = list(pattern.finditer(text))
    if len(found) != 1:
        raise OutputError(f"su3_rmd prints {what} {len(found)} times; once is right")
    return found[0]
