# SPDX-License-Identifier: Apache-2.0
"""Output of foreign programs that is cut off or mixed never becomes a measurement."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.common import json_lines
from checks.common.sources import CHECKS
from checks.hpl import output as hpl
from checks.hpl.tests.test_output import OF as HPL_ASKED
from checks.osu import OsuParameters
from checks.osu import run as osu


def _read_osu(text, name):
    if "init" in name:
        return osu.parse_init(text, 2)
    asked = {"full": ".full." in name, "validate_data": "validate" in name, "iterations": 50}
    test = next(part for part in name.split(".") if part.startswith("osu_"))
    return osu.parse(text, OsuParameters(test=test, **asked))[1]


def _read_hpl(text, name):
    return hpl.parse(text, HPL_ASKED[name.removesuffix(".txt")])


READERS = {"osu": _read_osu, "hpl": _read_hpl}
FILES = {
    path.name: path
    for kind in READERS
    for path in sorted((CHECKS / kind / "samples").glob("*.txt"))
}
#: What a launcher adds when it ends a run at its time limit.
ENDED = re.compile(r"^srun: error: .*\n", re.MULTILINE)
WHOLE = {name: ENDED.sub("", path.read_text()) for name, path in FILES.items()}


def _read(name, text):
    """The numbers of `text` as the reader of the sample `name` takes them, None if refused."""
    try:
        return READERS[FILES[name].parent.parent.name](text, name)
    except json_lines.OutputError:
        return None


@pytest.mark.parametrize("name", WHOLE)
def test_a_sample_is_read_whole_and_refused_where_it_is_cut_at_any_line(name):
    assert _read(name, WHOLE[name])
    lines = WHOLE[name].splitlines(keepends=True)
    for kept in range(max(place for place, line in enumerate(lines) if line.strip())):
        text = "".join(lines[:kept])
        assert _read(name, text) is None, text[-200:]


@pytest.mark.parametrize(
    "name", [name for name in FILES if "srun: error" in FILES[name].read_text()]
)
def test_a_whole_table_with_a_launcher_that_complains_is_refused(name):
    assert _read(name, FILES[name].read_text()) is None


@given(st.binary(max_size=2000), st.sampled_from(sorted(WHOLE)))
def test_anything_at_all_is_refused(noise, name):
    assert _read(name, noise.decode(errors="replace")) is None
