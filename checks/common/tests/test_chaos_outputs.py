# SPDX-License-Identifier: Apache-2.0
"""No output is believed in which something was changed that was asked or is printed twice.

Blind changes of good outputs are drawn by hypothesis. An accepted output must state the same facts
as the good one. The facts are found here without the readers that they check. Left free are values
on which nothing else depends. ASSAY_CHANGED_OUTPUTS sets how many are judged.
"""

import json
import math
import os
import re
from dataclasses import replace
from importlib import import_module
from statistics import fmean, median

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checks.common.tests.good_outputs import samples
from checks.osu import TESTS
from checks.osu.run import expected_sizes

GOOD = {sample.name: sample for sample in samples()}
COUNT = int(os.environ.get("ASSAY_CHANGED_OUTPUTS", "1500"))

NUMBER = r"(?<![\w.])-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.])"
WORD = r"[A-Za-z][\w./()%+-]+"
#: In the place of a number or a word, in our lines and in others.
OTHERS = ["nan", "-nan", "Infinity", "-1", "0", "1e400", "", "null", "true", "[]", "{}", "0x1p3"]
OTHERS += ["1_000", "12,5", "٣", "９９９", "1" * 400, '"1"', '""', r'"\ud800"', f'"{"x" * 999}"']
UNITS = ["us", "ms", "MB/s", "GB/s", "Mbps", "bytes", "seconds", "Gflops", "flop/s", '"s"', '"1"']
WORDS = ["Broadcast", "Latency", "Bandwidth", "Non-blocking", "Send/Recv", "natural", "Crout"]
WORDS += ["half_round_trip", "rate", "FAILED", "n1", "n7", "MPI_FLOAT", "launch_begin", "gather"]
NOISE = ["\ufeff", "\x00", "\ufffd", "\x1b[31m", "\u2028", "\u202e", "\u00a0", "\r", "\x0b", "é"]
FACTORS = [0, 0.1, 0.5, 0.85, 0.999, 1.001, 1.15, 2, 8, 10, 1000, 1e-3, -1]


def rewritten(dice, number):
    """The number times or plus something, written with as many decimals."""
    value = float(number)
    value = dice.choice([value * dice.choice(FACTORS), value + 1, value - 1, value + 7])
    if not math.isfinite(value) or not re.search(r"[.eE]", number):
        return str(int(value)) if math.isfinite(value) else "inf"
    mantissa, *exponent = re.split("[eE]", number)
    return f"{value:.{len(mantissa.partition('.')[2])}{'e' if exponent else 'f'}}"


#: Patterns of which a match is changed, and what it becomes.
IN_LINE = {
    "value": (NUMBER, rewritten),
    "digit": (r"\d", lambda dice, _: dice.choice("0123456789")),
    "no number": (rf'{NUMBER}|(?<=":)"[^"]*"', lambda dice, _: dice.choice(OTHERS)),
    "member": (
        r'"\w+":(?:"[^"]*"|[\w.+-]+),?',
        lambda dice, one: dice.choice(["", f"{one},", one.replace('":', "'\":", 1)]),
    ),
    "size": (
        r'(?<="message_bytes":)\d+|^ *\d+(?= )|(?<=: ) +\d+(?= bytes)',
        lambda dice, size: dice.choice(["7", str(2 * int(size))]),
    ),
    "unit": ("|".join(map(re.escape, UNITS)), lambda dice, _: dice.choice(UNITS)),
    "word": (WORD, lambda dice, _: dice.choice(WORDS)),
    "comma": (r"(?<=\d)\.(?=\d)", lambda dice, _: ","),
    "noise": ("", lambda dice, _: dice.choice(NOISE)),
}


def swapped_columns(dice, lines, at):
    """Two columns swap, in one line or in all that have as many."""
    count = len(lines[at].split())
    one, other = dice.randrange(count or 1), dice.randrange(count or 1)
    alike = [i for i, line in enumerate(lines) if len(line.split()) == count > 1]
    for i in alike if dice.random() < 0.5 else set(alike) & {at}:
        parts = re.split(r"(\s+)", lines[i].strip())
        parts[2 * one], parts[2 * other] = parts[2 * other], parts[2 * one]
        lines[i] = "".join(parts)
    return lines


def broken(dice, lines, at):
    """A line is broken in two, or has another one inside."""
    line = lines[at]
    cut = dice.randrange(len(line) + 1)
    inside = dice.choice(["\n", dice.choice(lines)])
    return [*lines[:at], *f"{line[:cut]}{inside}{line[cut:]}".split("\n"), *lines[at + 1 :]]


def cut_off(dice, lines, at):
    """The output stops, or begins, in the middle."""
    text = "\n".join(lines)
    cut = dice.randrange(len(text) + 1)
    return dice.choice([text[:cut], text[cut:]]).split("\n")


def of_another(dice, lines, at):
    """A line of another check's output is among the lines, or in the place of one."""
    line = dice.choice(GOOD[dice.choice(list(GOOD))].text.split("\n"))
    return [*lines[:at], line, *lines[at + dice.randrange(2) :]]


WIDE = str.maketrans("0123456789", "０１２３４５６７８９")
#: Changes of lines at a place: random, lines, place.
OF_LINES = [
    *(swapped_columns, broken, cut_off, of_another),
    lambda dice, lines, at: lines[:at] + lines[at + dice.choice([1, 1, 2, 5]) :],
    lambda dice, lines, at: [*lines[:at], lines[at], *lines[at:]],
    lambda dice, lines, at: lines + lines,
    lambda dice, lines, at: dice.sample(lines, len(lines)),
    lambda dice, lines, at: [*lines[:at], lines[at].translate(WIDE), *lines[at + 1 :]],
]


def change_in_line(dice, lines, pattern, other):
    """Turn a match of a pattern into another text; a word now and then wherever it occurs."""
    for _ in range(10):
        at = dice.randrange(len(lines))
        if matches := list(re.finditer(pattern, lines[at])):
            break
    else:
        return lines
    match = dice.choice(matches)
    text = other(dice, match[0])
    if match[0] and not match[0][-1].isdigit() and dice.random() < 0.15:
        return [line.replace(match[0], text) for line in lines]
    line = f"{lines[at][: match.start()]}{text}{lines[at][match.end() :]}"
    return [*lines[:at], line, *lines[at + 1 :]]


@st.composite
def changed_outputs(draw):
    """A good output's name, and its text changed once or twice."""
    name, dice = draw(st.sampled_from(list(GOOD))), draw(st.randoms(use_true_random=False))
    lines = GOOD[name].text.split("\n")
    for _ in range(draw(st.sampled_from([1] * 9 + [2]))):
        if dice.random() < 0.4:
            lines = change_in_line(dice, lines, *IN_LINE[dice.choice(list(IN_LINE))])
        else:
            lines = dice.choice(OF_LINES)(dice, lines, dice.randrange(len(lines))) or [""]
    return name, "\n".join(lines)


#: Values on which no other depends, or that follow from the harness's clock.
FREE = {"pair_latency", "pair_bandwidth", "pack_time", "send_time", "wait_time", "unpack_time"}
FREE |= {"copy_time", "init", "first_instruction", "all_heard", "exchange_time", "overlap"}
FREE |= {"availability", "counting_time", "stream_rate", "total_time", "warmup_time", "residual"}
FREE |= {"datagrams_lost", "launch", "whole_start", "daemon_boot", "daemon_halt"}
FREE |= {"storage_node_write_rate", "storage_node_read_rate"}
#: What is printed of the samples of a value, beside their median.
OF_SAMPLES = {"half_round_trip": [min, max, fmean], "ring_turn": [fmean]}
OF_SAMPLES |= {name: [min] for name in ("collective_time", "one_sided_time", "bisection_rate")}
#: Notes that say what else the output says, by check and key; what rounding leaves open.
NOTES = {
    ("su3_rmd", "answer"): ("trajectories|measurements|plaquette.*", 1e-7),
    ("su3_rmd", "kernels"): ("original_flop", 1e-7),
    ("hpl", "hpl_result"): ("test|time_s|gflops|n|nb|p|q|threshold|passed", 1.3e-3),
}
#: Lines of foreign formats that must stay: words are held, numbers with decimals to so much.
HPL_KEYS = "N|NB|PMAP|P|Q|PFACT|NBMIN|NDIV|RFACT|BCAST|DEPTH|SWAP|L1|U|EQUIL|ALIGN"
SU3_KEYS = "nx|ny|nz|nt|iseed|warms|trajecs|traj_between_meas|beta|microcanonical_time_step"
SU3_KEYS += "|steps_per_trajectory"
SU3_LINES = "RUNNING|messages "
HPL_WORDS = rf"({HPL_KEYS}) *: \S.*|T/V N.*|- Computational tests.*"
HPL_WORDS += r"|Finished.*|\d+ tests.*|End of.*"
HPL_RESULT, HPL_RESIDUAL = r"W[RC]\d.*", r"\|\|Ax-b\|\|_oo/\(eps.*"
TEXT = {
    "hpl": [(HPL_WORDS, 0), (HPL_RESULT, 0.02), (HPL_RESIDUAL, 1.2e-7)],
    "hpl alone": [(HPL_WORDS, 0), (f"{HPL_RESULT}|{HPL_RESIDUAL}", math.inf)],
    "netpipe": [(r"\d+: n.*|Now starting the main loop", 0), (r"\d+: \d+ bytes.*", 0.1)],
    "osu": [
        (r"# OSU.*?(?= v[567]|$)|# (Size|Avg).*|# \[ pairs.*", 0),
        (r"\d+(\.\d\d)?( [\d.]+)*$", math.inf),
    ],
    "osu startup": [(r"# OSU.*?(?= v[567]|$)|nprocs: \d+", 0)],
    "su3_rmd": [
        (rf"(({SU3_KEYS}) |{SU3_LINES}).*", 0),
        (r"CHECK PLAQ.*", 1.1e-5),
        (r"GMES.*|Time =.*|Machine =.*|su3_rmd of.*", math.inf),
    ],
}
DECIMALS = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?", re.ASCII)


def facts(sample, text):
    """Statements of a text, in no order: words, and numbers each with its tolerance."""
    return sorted([*of_ours(sample, text), *of_format(sample, text)])


def of_format(sample, text):
    """Facts in the lines of a foreign format, HPL explains its own words first."""
    kind = sample.definition.name
    if kind == "hpl":
        text = re.split(r"(?m)^(?=The following parameter values)", text, maxsplit=1)[-1]
        kind = "hpl alone" if sample.changes else kind
    startup = getattr(sample.params, "test", "") == "osu_init"
    held = TEXT.get("osu startup" if startup else kind, ())
    for line in (" ".join(line.split()) for line in text.split("\n")):
        for pattern, share in held:
            if '"assay":' not in line and (match := re.match(pattern, line)):
                words = DECIMALS.sub("#", match[0])
                numbers = [float(one) for one in DECIMALS.findall(match[0]) if share]
                yield words.casefold(), tuple((one, share) for one in sorted(numbers))


def of_ours(sample, text):
    """Facts in our JSON lines."""
    for line in text.split("\n"):
        if '"assay":' in line:
            try:
                yield from of_entry(sample, json.loads(line))
            except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError):
                yield f"cannot be read: {line}", ()


def of_entry(sample, entry):
    kind, numbers = entry["assay"], ()
    # What says the stamps again; what says nothing of an HPL alone beside which it stands.
    if kind == "stamps" or (sample.changes and kind in ("program", "note", "end")):
        return
    if kind == "metric":
        words = {key: entry[key] for key in sorted(entry.keys() - {"value", "samples"})}
        words |= {"samples": "samples" in entry and len(entry["samples"])}
        numbers = tuple((number, 2e-7) for number in numbers_of(entry))
    elif kind == "program":
        asked = sample.definition.options(sample.params) if sample.own else {}
        words = {name: entry["settings"].get(name) for name in [*asked, "launch-host"]}
        words |= {"name": entry["name"], "fault": bool(entry["settings"].get("inject-fault"))}
        words |= {"precision": entry.get("precision")}
        words |= {"mpi": re.sub(r"^(none: \w+ of) .*", r"\1 any system", str(entry["mpi"]))}
    elif kind == "evidence":
        library = f"{entry['library']} {entry['library_file']}"
        known = bool(re.search(sample.claim.library_pattern, library))
        ranks = sorted((rank["rank"], rank["host"]) for rank in entry["ranks"])
        links = sorted((link["from_host"], link["to_host"]) for link in entry["links"])
        used = all(one["arrived_bytes"] >= one["sent_bytes"] > 0 for one in entry["links"])
        words = [known, ranks, links, used]
    elif kind == "note":
        words, numbers = of_note(sample, entry["key"], entry["value"])
        if words is None:
            return
    elif kind == "stamp":
        if f'"stamp","name":"{entry["name"]}"' not in sample.text:
            return
        words = [entry["name"], type(entry["at"]) in (int, float)]
    else:
        words = None if kind == "allocation" else entry
    yield f"{kind} {json.dumps(words, sort_keys=True)}", numbers


def numbers_of(entry):
    """Part of a metric that another printed value depends on."""
    name, samples = entry["name"], entry.get("samples")
    empty = entry.get("at", {}).get("message_bytes") == 0
    if not (name in FREE or (name == "half_round_trip_loop" and empty)):
        yield float(entry["value"])
    if samples:
        inverse = name == "window_rate"
        yield 1 / median(1 / one for one in samples) if inverse else median(samples)
        yield from (of(samples) for of in OF_SAMPLES.get(name, []))


def of_note(sample, key, value):
    hosts = [host for host in sample.claim.nodes for _ in range(sample.claim.ranks_per_node)]
    wanted = sample.definition.notes(sample.params, hosts)
    if key in wanted:
        text = wanted[key] is str and isinstance(value, str) and bool(value)
        return [key, "any text" if text else value], ()
    members, share = NOTES.get((sample.definition.name, key), ("", 0))
    if not members or not isinstance(value, dict):
        return ([key, value] if members else None), ()
    held = {name: value[name] for name in sorted(value) if re.fullmatch(members, name)}
    numbers = tuple((one, share) for one in held.values() if type(one) is float)
    return [key, {name: one for name, one in held.items() if type(one) is not float}], numbers


def alike(good, other):
    """True if two lists of facts are the same, within what rounding leaves open."""
    return len(good) == len(other) and all(
        words == said
        and len(numbers) == len(found)
        and all(
            one == two or share == math.inf or math.isclose(one, two, rel_tol=share)
            for (one, share), (two, _) in zip(numbers, found, strict=True)
        )
        for (words, numbers), (said, found) in zip(good, other, strict=True)
    )


@pytest.mark.parametrize("name", GOOD)
def test_every_good_output_is_believed(name):
    assert GOOD[name].outcome(GOOD[name].text).metrics
    assert GOOD[name].refusal(GOOD[name].text) is None


@pytest.mark.parametrize("name", [name for name, sample in GOOD.items() if not sample.own])
def test_a_foreign_output_cut_at_any_line_or_with_a_launchers_complaint_is_refused(name):
    sample = GOOD[name]
    lines = sample.text.split("\n")
    foreign = [i for i, line in enumerate(lines) if line.strip() and '"assay"' not in line]
    for cut in range(1, len(foreign)):
        kept = [line for i, line in enumerate(lines) if i not in foreign[-cut:]]
        found = sample.refusal("\n".join(kept)), facts(sample, "\n".join(kept))
        assert found[0] is not None or alike(facts(sample, sample.text), found[1]), lines[cut]
    lines.insert(foreign[-1] + 1, "srun: error: n2: task 1: Terminated")
    if sample.definition.name == "osu" and TESTS[sample.params.test].prints != "start-up":
        assert sample.refusal("\n".join(lines)) is not None


@pytest.mark.parametrize("count", [200, pytest.param(COUNT, marks=pytest.mark.full)])
def test_no_changed_output_is_believed_that_states_something_else(count):
    @settings(
        max_examples=count,
        derandomize="ASSAY_CHANGED_OUTPUTS" not in os.environ,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(changed_outputs())
    def judge(changed):
        name, text = changed
        sample = GOOD[name]
        if sample.refusal(text) is None:
            assert alike(facts(sample, sample.text), facts(sample, text))

    judge()


#: Parameters of the harness, or that say what is right; `fill` may be any number.
NOT_OF_THE_PROGRAM = {"mpi_profile", "hops", "ranks_per_node", "placement", "plaquette"}
NOT_OF_THE_PROGRAM |= {"plaquette_tolerance", "implementation", "keep_measurements", "transport"}


def without_effect(sample):
    """Parameters on which the output of a foreign program does not depend."""
    if sample.definition.name != "osu":
        return set()
    test, found = sample.params.test, {"warmup", "suite_sizes"}
    found |= {"least_bytes", "greatest_bytes"} if not TESTS[test].sized else set()
    found |= {"validate_data"} if TESTS[test].prints == "start-up" else set()
    return found | (set() if sample.params.full else {"iterations"})


def other_values(value, annotation):
    """Values that differ a little from one that was asked."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return [value + 1, value * 2, max(value - 1, 0)]
    if isinstance(value, list):
        return [value[1:], value[:-1], value[::-1], [*value, *value[-1:]]]
    return re.findall(r"'([^']+)'", annotation) or ["fill"]


def sizes_asked(sample):
    """The sizes that OSU's or NetPIPE's options ask for: others can mean the same."""
    asked, dump = sample.params, sample.params.model_dump()
    bounds = [dump.pop("least_bytes", 0), dump.pop("greatest_bytes", 0)]
    if sample.definition.name == "netpipe":
        output = import_module(f"{sample.definition.package}.output")
        return output.schedule(*bounds, asked.perturbation_bytes), dump
    if sample.definition.name == "osu" and TESTS[asked.test].sized:
        return expected_sizes(*bounds), dump
    return bounds, dump


def other_questions(sample):
    """The sample as if one parameter had been asked otherwise, each with what was changed."""
    fields = type(sample.params).model_fields
    for parameter in sorted(fields.keys() - NOT_OF_THE_PROGRAM - without_effect(sample)):
        asked = getattr(sample.params, parameter)
        for value in other_values(asked, str(fields[parameter].annotation)):
            try:
                changed = dict(sample.params) | {parameter: value}
                other = replace(sample, params=type(sample.params).model_validate(changed))
            except ValueError:
                continue
            if sizes_asked(other) != sizes_asked(sample):
                yield other, f"{parameter}: {value!r}"


@pytest.mark.parametrize("name", GOOD)
def test_no_output_answers_another_question(name):
    for other, changed in other_questions(GOOD[name]):
        assert other.refusal(GOOD[name].text) is not None, changed
