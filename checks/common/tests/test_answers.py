# SPDX-License-Identifier: Apache-2.0
"""Faults of an answer of one of our programs are named with their point."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from checks.common.registry import CHECKS
from checks.common.tests.good_outputs import samples

GOOD = {sample.name: sample for sample in samples()}
CHANGES = yaml.safe_load(Path(__file__).with_name("named_changes.yaml").read_text())
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


@pytest.mark.parametrize(
    ("name", "pattern", "instead", "said"),
    [(name, *change) for name in sorted(CHANGES.keys() & GOOD.keys()) for change in CHANGES[name]],
)
def test_what_was_changed_is_named(name, pattern, instead, said):
    text, changes = re.subn(pattern, instead, GOOD[name].text)
    assert changes
    found = GOOD[name].refusal(text)
    assert found is None if said is None else re.search(said, str(found))


@pytest.mark.plugins("papers")
def test_times_that_do_not_fit_into_the_launch_are_refused():
    """All times a thousand times as long, and all that follows from them."""

    def slower(name):
        share = {"s": 1e3, "bytes/s": 1e-3}
        lines = GOOD[name].text.split("\n")
        for place, line in enumerate(lines):
            if line.startswith('{"assay":"metric"'):
                entry = json.loads(line)
                entry["value"] *= share[entry["unit"]]
                if "samples" in entry:
                    entry["samples"] = [one * share[entry["unit"]] for one in entry["samples"]]
                lines[place] = json.dumps(entry)
        return "\n".join(lines)

    for name in ("pt2pt mpich", "echo distance.mpich", "collectives each.lam", "streams mpich"):
        said = str(GOOD[name].refusal(slower(name)))
        assert re.search("what was timed took .* at least; the whole launch", said)
