# SPDX-License-Identifier: Apache-2.0
"""What an output says that was asked or stands in it more than once.

Written apart from the readers that it is to check. Two outputs with one meaning differ only in what
nothing else depends on: the digits of a time that is printed once, comments, noise of launchers.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from statistics import fmean, median
from typing import Any

from bench.output_samples import Sample
from checks.osu import STARTUP_TESTS

#: Rounding of nine digits, of two values that follow from each other.
_NINE_DIGITS = 5e-8
#: Printed values on which no other depends.
_SINGLE = {
    *("pair_latency", "pair_bandwidth", "pack_time", "send_time", "wait_time", "unpack_time"),
    *("copy_time", "init", "first_instruction", "all_heard", "exchange_time", "overlap"),
    *("availability", "total_time", "warmup_time", "residual", "datagrams_lost"),
}
#: What of the samples a value is computed from, beside the median.
_OF_SAMPLES: dict[str, list[Callable[[Sequence[float]], float]]] = {
    "half_round_trip": [min, max, fmean],
    "ring_turn": [fmean],
    "collective_time": [min],
    "one_sided_time": [min],
    "bisection_rate": [min],
}
#: Notes that say what else the output says, by check: their members, and what rounding leaves open.
_NOTES: dict[str, dict[str, tuple[str, float]]] = {
    "su3_rmd": {
        "measurement": ("block|trajectory|plaquette_space|plaquette_time|polyakov_..", 1.2e-6),
        "answer": ("trajectories|measurements|plaquette.*", 1e-7),
        "ranks": (r"(communication|global_sums|dynamics|refresh|measurement|cpu)_s\..*", 4e-7),
        "kernels": ("original_flop", 1e-7),
    },
    "hpl": {
        "hpl_result": ("test|time_s|gflops|n|nb|p|q|residual|threshold|passed", 1.3e-3),
        "tests": ("", 0.0),
    },
}


@dataclass(frozen=True)
class Item:
    """Words that must be as they are, and numbers each with what rounding leaves open."""

    words: str
    numbers: tuple[tuple[float, float], ...] = ()

    def same(self, other: Item) -> bool:
        """Whether both say the same."""
        return (
            self.words == other.words
            and len(self.numbers) == len(other.numbers)
            and all(
                abs(one - two) <= max(slack, least)
                for (one, slack), (two, least) in zip(self.numbers, other.numbers, strict=True)
            )
        )


def other_meaning(sample: Sample, text: str) -> str | None:
    """What `text` says otherwise than the sample, as far as anything in it can tell, or None."""
    for kind in (_lines_of_ours, _lines_of_text):
        right, found = list(kind(sample, sample.text)), list(kind(sample, text))
        for one, other in zip_longest(right, found):
            if one is None or other is None or not one.same(other):
                return f"{one} became {other}"
    return None


def _lines_of_ours(sample: Sample, text: str) -> Iterator[Item]:
    """The JSON lines, in no order."""
    items = []
    for line in text.split("\n"):
        if '"assay":' in line:
            try:
                items += _entry(sample, json.loads(line))
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                items.append(Item(f"cannot be read: {line}"))
    return iter(sorted(items, key=lambda item: (item.words, item.numbers)))


def _entry(sample: Sample, entry: dict[str, Any]) -> list[Item]:
    match entry["assay"]:
        case "metric":
            found = [_metric(entry)]
        case "note":
            found = _note(sample, entry["key"], entry["value"])
        case "program":
            found = [_program(sample, entry)]
        case "evidence":
            found = [_evidence(sample, entry)]
        case "stamp" if f'"stamp","name":"{entry["name"]}"' not in sample.text:
            found = []
        case "stamp":
            found = [Item(f"stamp {entry['name']} {type(entry['at']) in (int, float)}")]
        case "allocation":
            found = [Item("allocation")]
        case _:
            found = [Item(json.dumps(entry, sort_keys=True))]
    return found


def _evidence(sample: Sample, entry: dict[str, Any]) -> Item:
    ranks = sorted((rank["rank"], rank["host"]) for rank in entry["ranks"])
    links = sorted((link["from_host"], link["to_host"]) for link in entry["links"])
    used = all(link["arrived_bytes"] >= link["sent_bytes"] > 0 for link in entry["links"])
    library = re.split("[,;]", entry["library"], maxsplit=1)[0]
    if '"assay":"program"' not in sample.text:
        known = re.search(sample.claim.library_pattern, f"{library} {entry['library_file']}")
        library = str(bool(known))
    return Item(f"evidence {library} {ranks} {links} {used}")


def _metric(entry: dict[str, Any]) -> Item:
    name, samples, at = entry["name"], entry.get("samples"), entry.get("at")
    words = {key: value for key, value in entry.items() if key not in ("value", "samples")}
    numbers = [] if name in _SINGLE or _is_single(name, at) else [float(entry["value"])]
    if samples is not None:
        if name == "window_rate":
            numbers.append(1 / median([1 / sample for sample in samples]))
        else:
            numbers.append(median(samples))
        numbers += [of(samples) for of in _OF_SAMPLES.get(name, [])]
    kinds = {str(type(one).__name__) for one in [entry["value"], *(samples or [])]}
    said = json.dumps(words, sort_keys=True)
    return Item(
        f"metric {said} {None if samples is None else len(samples)} {kinds <= {'int', 'float'}}",
        tuple((number, abs(number) * _NINE_DIGITS) for number in numbers),
    )


def _is_single(name: str, at: dict[str, Any] | None) -> bool:
    """Whether no other value depends on this one at its point."""
    size = (at or {}).get("message_bytes")
    return name == "half_round_trip_loop" and size == 0


def _note(sample: Sample, key: str, value: Any) -> list[Item]:
    hosts = list(sample.claim.nodes)
    every = [host for host in hosts for _ in range(sample.claim.ranks_per_node)]
    wanted = sample.definition.notes(sample.params, every)
    if key in wanted:
        text = wanted[key] is str and isinstance(value, str) and bool(value)
        return [Item(f"note {key} {'any text' if text else json.dumps(value)}")]
    if key not in _NOTES.get(sample.definition.name, {}):
        return []
    if not isinstance(value, dict):
        return [Item(f"note {key} {value!r}")]
    members, share = _NOTES[sample.definition.name][key]
    numbers, words = [], []
    for name, inner in sorted(_flat(value)):
        if not re.fullmatch(members, name):
            continue
        if type(inner) is float or (type(inner) is int and key == "ranks"):
            least = 1.1e-7 if name == "residual" else 0.0
            numbers.append((float(inner), max(abs(inner) * share, least)))
            words.append(name)
        else:
            words.append(f"{name}={inner!r}")
    return [Item(f"note {key} {words}", tuple(numbers))]


def _flat(value: dict[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, inner in value.items():
        if isinstance(inner, dict):
            yield from _flat(inner, f"{before}{name}.")
        else:
            yield f"{before}{name}", inner


def _program(sample: Sample, entry: dict[str, Any]) -> Item:
    asked = sample.definition.options(sample.params) if sample.own else {}
    settings = entry["settings"]
    said = {name: settings.get(name) for name in asked}
    said["fault"] = bool(settings.get("inject-fault"))
    said["precision"] = entry.get("precision")
    said["launch-host"] = settings.get("launch-host")
    library = re.sub(r"^(none: \w+ of) .*", r"\1 any system", str(entry["mpi"]))
    return Item(f"program {entry['name']} {library} {json.dumps(said, sort_keys=True)}")


def _lines_of_text(sample: Sample, text: str) -> Iterator[Item]:
    """The lines of a foreign format, in their order."""
    reader = {"hpl": _hpl, "netpipe": _netpipe, "osu": _osu, "su3_rmd": _su3}
    if sample.definition.name not in reader:
        return
    lines = [line.rstrip() for line in text.split("\n") if '"assay":' not in line]
    yield from reader[sample.definition.name](sample, lines)


def _decimals(text: str) -> float:
    """A number with decimals; a KeyError-free nan for anything else."""
    return float(text) if re.fullmatch(r"-?\d+\.\d+(e[+-]\d+)?", text, re.ASCII) else math.nan


_HPL_HELD = re.compile(
    r"(N|NB|PMAP|P|Q|PFACT|NBMIN|NDIV|RFACT|BCAST|DEPTH|SWAP|L1|U|EQUIL|ALIGN) *: +\S"
    r"|T/V +N|- Computational tests|Finished|  +\d+ tests|End of|The following parameter values"
)


def _hpl(_: Sample, lines: list[str]) -> Iterator[Item]:
    begun = False
    for line in lines:
        words = " ".join(line.split())
        begun = begun or line.startswith("The following parameter values")
        if re.match(r"W[RC]\d", line):
            parts = line.split()
            time_s, rate = (_decimals(part) for part in [*parts, "", ""][5:7])
            slack = (time_s, 0.0102 + 1.3e-3 * time_s), (rate, 1.3e-3 * rate)
            yield Item(f"{parts[:5]} {len(parts)} {math.isnan(time_s + rate)}", slack)
        elif line.startswith("||Ax-b||_oo/(eps"):
            residual = _decimals((words.split("=")[-1].split() or [""])[0])
            yield Item(re.sub(r"\d+\.\d+", "#", words), ((residual, 1.2e-7),))
        elif begun and _HPL_HELD.match(line):
            yield Item(words)


def _netpipe(_: Sample, lines: list[str]) -> Iterator[Item]:
    said = {line for line in lines if line.startswith("Using ")}
    yield Item(f"{sorted(said)}")
    yield Item(f"{sorted(line for line in lines if re.match(r'[0-9]+: n', line))}")
    for line in lines:
        if line == "Now starting the main loop":
            yield Item(line)
        found = re.match(r" *(\d+: +\d+ bytes +\d+ times) -->(.*)", line)
        if found:
            rate, unit, inside, usec, of = [*found[2].split(), *[""] * 5][:5]
            # Which of the two is the time nothing tells for sure.
            both = sorted((_decimals(rate), _decimals(usec)))
            product = both[0] * both[1]
            slack = tuple((one, 0.0103 + 0.0103 * one**2 / product) for one in both if one > 0)
            yield Item(f"{found[1].split()} {unit} {inside} {of} {len(slack)}", slack)


def _osu(sample: Sample, lines: list[str]) -> Iterator[Item]:
    below, test = False, sample.params.test
    for line in lines:
        words = line.split()
        if line.startswith("# OSU"):
            yield Item(re.sub(r" v[567]\.[\w.-]+$", " v", line).casefold())
        elif test in STARTUP_TESTS and not re.match("nprocs|This is a test", line):
            continue
        elif line.startswith(("# Datatype", "# [ pairs")):
            if line != "# Datatype: MPI_CHAR.":
                yield Item(line)
        elif re.match(r"(# +(Size|Avg Latency|Overall\(us\))| +Overall\(us\))", line):
            below = True
            # Versions before 7.1 leave out the first sign or a word.
            yield Item(f"{[word for word in words if word not in ('#', 'Avg')]}")
        elif test in STARTUP_TESTS:
            words = line.split()
            numbers = tuple(
                (float(one), 3.0) for one in words[3::3] if one.isascii() and one.isdigit()
            )
            yield Item(
                f"{words[:2]} {words[4::3]} {len(numbers)}", numbers if "nprocs" in line else ()
            )
        elif below and words:
            yield _osu_row(sample, words)


def _osu_row(sample: Sample, words: list[str]) -> Item:
    test, full = sample.params.test, sample.params.full
    size = 0 if test in ("osu_barrier", "osu_ibarrier") else 1
    values = [_decimals(word) for word in words[size:]]
    slack = [math.inf] * len(values)
    if test == "osu_mbw_mr":
        bytes_sent = int(words[0])
        slack[:2] = [0.0102 * (1 + bytes_sent / 1e6), 0.0102 * (1 + 1e6 / bytes_sent)]
    elif full and test.startswith("osu_i") and len(values) == 9:
        overall, compute, *_, comm, _, _, overlap = values
        exposed = (overall - compute) / comm
        error = 1.1 * (0.0102 + (2 + exposed) * 1.02 / comm)
        slack[8] = 2 * error
        if overlap > 0:
            slack[0] = slack[1] = 2 * error * comm / 100
        slack[5:8] = [0.031, 0.062, 0.062]
    elif full and len(values) >= 4:
        slack[:4] = [0.031, 0.062, 0.062, 0.0]
    held = [word for word in words[size:] if not re.fullmatch(r"\d+\.\d\d", word, re.ASCII)]
    numbers = [pair for pair in zip(values, slack, strict=True) if not math.isnan(pair[0])]
    return Item(f"{words[:size]} {held} {len(numbers)}", tuple(numbers))


_SU3_HELD = re.compile(
    r"(nx|ny|nz|nt|iseed|warms|trajecs|traj_between_meas|beta|microcanonical_time_step"
    r"|steps_per_trajectory) |fresh|forget|Pure gauge|Microcanonical|WARMUPS|RUNNING|unit gauge"
    r"|messages "
)


def _su3(sample: Sample, lines: list[str]) -> Iterator[Item]:
    value = re.compile(r"-?\d\.\d+e[+-]\d\d+", re.ASCII)
    for line in lines:
        if re.match(_SU3_HELD, line):
            yield Item(line)
        elif line.startswith(("Machine =", "su3_rmd of Assay")):
            yield Item(line if sample.own else line.partition("with")[2])
        elif line.startswith("CHECK PLAQ"):
            numbers = tuple((float(one), 1.1e-5) for one in value.findall(line))
            form = re.sub(r"(?<=e\+)00", "", value.sub("#", line))
            yield Item(f"{form} {len(line)}", numbers)
        elif line.startswith(("GMES", "Time =")):
            numbers = tuple((float(one), 1.2e-6 * abs(float(one))) for one in value.findall(line))
            yield Item(value.sub("#", line), numbers if sample.own else numbers[2:3])
