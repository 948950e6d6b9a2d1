# SPDX-License-Identifier: Apache-2.0
"""What is wrong with an answer of one of our programs is named with its point."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest

from checks.common.registry import CHECKS
from checks.common.tests.good_outputs import samples

GOOD = {sample.name: sample for sample in samples()}
OWN = [name for name, sample in GOOD.items() if sample.own]


def test_every_own_program_has_a_good_output():
    own = {GOOD[name].definition.name for name in OWN}
    assert own == CHECKS.keys() - {"netpipe", "osu", "hpl"}


@pytest.mark.parametrize("name", OWN)
def test_a_program_that_ran_with_other_settings_gives_no_answer(name):
    sample = GOOD[name]
    (line,) = re.findall(r'^\{"assay":"program".*$', sample.text, re.MULTILINE)
    options = sample.definition.options(sample.params)
    for option, value in json.loads(line)["settings"].items():
        if option not in options:
            continue
        entry = json.loads(line)
        if isinstance(value, bool):
            entry["settings"][option] = not value
        elif isinstance(value, int | float):
            entry["settings"][option] = value + 1
        else:
            entry["settings"][option] = value[:-1]
        said = sample.refusal(sample.text.replace(line, json.dumps(entry)))
        assert said is not None, option
        assert f"ran with {option} = " in said


def refusal(check: str, variant: str, change: Callable[[str], str]) -> str | None:
    sample = GOOD[f"{check} {variant}"]
    text = change(sample.text)
    assert text != sample.text
    return sample.refusal(text)


#: A line that no check but the echoes prints.
STRANGER = '{"assay":"metric","name":"half_round_trip","unit":"s","value":1e-06}'


@pytest.mark.parametrize(
    ("check", "variant", "pattern", "changed", "said"),
    [
        (
            "pt2pt",
            "mpich",
            r'"message_bytes":\d+',
            '"message_bytes":7',
            r"metric half_round_trip at \{.*\} is printed twice",
        ),
        (
            "ring",
            "lam",
            '"order":"gray"',
            '"order":"natural"',
            "6 of 6 values are missing: ring_turn at order=gray message_bytes=8;"
            " ring_time at order=gray message_bytes=8; ring_rate at order=gray message_bytes=8",
        ),
        (
            "pt2pt",
            "mpich",
            r'(?m)^.*"name":"bandwidth".*\n',
            "",
            "4 of 32 values are missing: bandwidth at construct=Send/Recv message_bytes=1;.*",
        ),
        (
            "bisection",
            "openmpi",
            r'(_rate","unit":"bytes/s","value":)',
            r"\g<1>1",
            r"bisection_rate is \S+; by its samples it must be \S+",
        ),
        (
            "echo",
            "tcp.openmpi",
            r'("bandwidth","unit":"bytes/s","value":)',
            r"\g<1>1",
            r"bandwidth at message_bytes=\d+ is \S+; by the other values it must be \S+",
        ),
        (
            "startup",
            "mpich",
            '{"assay":"end"',
            f'{STRANGER}\n{{"assay":"end"',
            "this check reports no metric 'half_round_trip' in 's'",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_point(check, variant, pattern, changed, said):
    found = refusal(check, variant, lambda text: re.sub(pattern, changed, text))
    assert re.fullmatch(said, str(found))


@pytest.mark.parametrize("stamp", ["launch_begin", "launch_end", "boot_begin", "halt_end"])
def test_a_phase_that_was_not_stamped_makes_a_start_up_wrong(stamp):
    line = rf'(?m)^\{{"assay":"stamp","name":"{stamp}".*\n'
    assert refusal("startup", "lam", lambda text: re.sub(line, "", text))


@pytest.mark.parametrize(("name", "value"), [("all_heard", 100), ("first_instruction", 60)])
def test_parts_of_a_start_up_lie_within_the_whole(name, value):
    said = refusal(
        "startup",
        "mpich",
        lambda text: re.sub(
            rf'("name":"{name}","unit":"s","value":)[\d.e-]+', rf"\g<1>{value}", text
        ),
    )
    assert re.match(rf"{name} (took|is) {value} s[,;] ", str(said))
