# SPDX-License-Identifier: Apache-2.0
"""Faults of an answer of one of our programs are named with their point."""

import re
from pathlib import Path

import pytest
import yaml

from checks.common.registry import CHECKS
from checks.common.tests.good_outputs import samples

GOOD = {sample.name: sample for sample in samples()}
CHANGES = yaml.safe_load(Path(__file__).with_name("named_changes.yaml").read_text())


def test_every_own_program_has_a_good_output():
    own = {sample.definition.name for sample in GOOD.values() if sample.own}
    assert own == CHECKS.keys() - {"netpipe", "osu", "hpl"}


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

    def slower(entry):
        share = {"s": 1e3, "bytes/s": 1e-3}[entry["unit"]]
        entry["value"] *= share
        if "samples" in entry:
            entry["samples"] = [one * share for one in entry["samples"]]

    for name in ("pt2pt mpich", "echo distance.mpich", "collectives each.lam", "streams mpich"):
        said = str(GOOD[name].refusal(GOOD[name].changed("metric", slower)))
        assert re.search("what was timed took .* at least; the whole launch", said)
