# SPDX-License-Identifier: Apache-2.0
"""NetPIPE's table, one line a message size: accepted only if it is complete and its numbers agree.

NetPIPE 3.7 prints no last line, so a table counts as whole when it has exactly the sizes that its
options ask for, in their order. In every line the rate must be that of the size and the time.
"""

import math
import re
from dataclasses import dataclass

from checks.common.evidence import short_host
from checks.common.json_lines import OutputError, check_number

_LINE = re.compile(
    r"^ *(?P<index>\d{1,15}): +(?P<bytes>\d{1,15}) bytes +(?P<repeats>\d{1,15}) times -->"
    r" +(?P<mbps>\d+\.\d\d) Mbps in +(?P<usec>\d+\.\d\d) usec *$",
    re.ASCII,
)
_LIKE_A_LINE = re.compile(r"times|-->|Mbps|usec|^ *\d+: +\d+ b")

_START = re.compile(r"^Now starting the main loop\s*$", re.MULTILINE)
_PERTURBATION = re.compile(
    r"^Using (?:(?P<none>no perturbations)|a perturbation value of (?P<value>\d{1,15}))\s*$",
    re.MULTILINE | re.ASCII,
)
_HOST = re.compile(r"^(?P<rank>\d{1,15}): (?P<host>[^\s:]+)\s*$", re.MULTILINE | re.ASCII)

#: Trials of each size, of which NetPIPE gives the best.
TRIALS = 3
#: NetPIPE's "Mbps" are 2²⁰ bits a second.
MEGABIT = 2.0**20


@dataclass(frozen=True)
class Point:
    """Message size: half round trip in seconds, the best of NetPIPE's trials' means."""

    message_bytes: int
    repeats: int
    half_round_trip_s: float


def schedule(least: int, greatest: int, perturbation: int) -> list[int]:
    """The sizes NetPIPE takes, in its order: two an octave, each with its perturbed neighbours.

    `least` and `greatest` are its options -l and -u, `perturbation` its option -p.
    """
    sizes: list[int] = []
    length, step = least, least // 2 if least > 1 else 1
    turn = 1 if least > 1 else 0
    while length <= greatest:
        if turn > 2 and turn % 2:
            step += step
        around = perturbation if perturbation > 0 and step > perturbation + 1 else 0
        sizes += [length - around, length, length + around] if around else [length]
        length += step
        turn += 1
    return sizes


def check_start(text: str, perturbation: int, hosts: list[str]) -> None:
    """Raise OutputError unless NetPIPE began once, with this option -p as each end prints it, and
    each rank printed its host, once; `hosts`: by rank."""
    begun = [match.start() for match in _START.finditer(text)]
    said = [int(match["value"] or 0) for match in _PERTURBATION.finditer(text)]
    lines = len(re.findall(r"^Using ", text, re.MULTILINE))
    early = len(begun) == 1 and begun[0] < text.find("-->")
    if not early or not said or set(said) != {perturbation} or lines != len(said):
        raise OutputError(
            f"NetPIPE began {len(begun)} times, with perturbations {said}; asked was once before"
            f" its table, with {perturbation}"
        )
    on = sorted((int(match["rank"]), short_host(match["host"])) for match in _HOST.finditer(text))
    if on != list(enumerate(hosts)):
        raise OutputError(f"NetPIPE's ranks say that they are on {on!r:.200}, not on {hosts}")


def parse(text: str, sizes: list[int], repeats: int | None) -> list[Point]:
    """The points of NetPIPE's table in `text`, which must have exactly `sizes` in this order.

    `repeats` is the option -n, None when NetPIPE chose. Raises OutputError.
    """
    points: list[Point] = []
    # str.splitlines would also split at characters that are no newline to the program.
    for line in text.split("\n"):
        found = _LINE.match(line)
        if found:
            points.append(_point(found, len(points), repeats))
        elif _LIKE_A_LINE.search(line):
            raise OutputError(f"a line of NetPIPE's table cannot be read: {line[:80]!r}")
    measured = [point.message_bytes for point in points]
    if measured == sizes[: len(measured)] and len(measured) < len(sizes):
        raise OutputError(f"NetPIPE's table has {len(measured)} of {len(sizes)} sizes")
    if measured != sizes:
        both = zip(measured, sizes, strict=False)
        others = (f"{found} instead of {asked}" for found, asked in both if found != asked)
        first = next(others, f"{len(measured)} sizes instead of {len(sizes)}")
        raise OutputError(f"NetPIPE's table has other sizes than asked: {first}")
    _check_columns(points)
    return points


def _check_columns(points: list[Point]) -> None:
    """Time and rate of a size have one product, so they could be exchanged.

    If they did in every line, times would grow like sizes; on every network those of 1 to 64 bytes
    hardly do. In a single line, a time far below those of its neighbours, which its rate would fit,
    gives it away; one far above them may be a disturbance.
    """
    shortest = [p.half_round_trip_s for p in points if p.message_bytes <= 3]
    short = [p.half_round_trip_s for p in points if 32 <= p.message_bytes <= 64]
    if shortest and short and min(short) > 5 * max(shortest):
        raise OutputError(
            f"NetPIPE's times rise from {max(shortest):.3g} s to {min(short):.3g} s below 64 bytes:"
            " rates in their place?"
        )
    for place, point in enumerate(points):
        near = [p.half_round_trip_s for p in points[max(place - 1, 0) : place + 2] if p != point]
        rate = point.message_bytes * 8 / MEGABIT / point.half_round_trip_s
        fits = all(time_s / 3 < rate * 1e-6 < 3 * time_s for time_s in near)
        if near and fits and point.half_round_trip_s < min(near) / 5:
            raise OutputError(
                f"NetPIPE's time of {point.message_bytes} bytes is {point.half_round_trip_s:.3g} s,"
                " its neighbours' are 5 times as long: the rate in its place?"
            )


def _point(found: re.Match[str], index: int, repeats: int | None) -> Point:
    where = f"NetPIPE's line {found['index']}"
    if int(found["index"]) != index:
        raise OutputError(f"{where} is in the place of line {index}")
    if repeats is not None and int(found["repeats"]) != repeats:
        raise OutputError(f"{where} has {found['repeats']} repeats; asked were {repeats}")
    size, mbps, usec = int(found["bytes"]), float(found["mbps"]), float(found["usec"])
    time_s = check_number(usec * 1e-6, "s", where)
    # Both numbers are rounded to hundredths.
    least, greatest = (8 * size / MEGABIT / (time_s + sign * 0.0051e-6) for sign in (1, -1))
    if not (math.isfinite(mbps) and least - 0.0051 <= mbps <= max(least, greatest) + 0.0051):
        raise OutputError(f"{where}: {size} bytes in {usec} µs are not {mbps} Mbps")
    return Point(size, int(found["repeats"]), time_s)
