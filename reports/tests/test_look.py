# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from records.text.plain_text import unbroken
from records.units import UNITS
from reports.answers import margin_text
from reports.judgement import Item
from reports.notation.labels import looks
from reports.notation.units import (
    about,
    about_bytes_text,
    all_text,
    as_stated,
    bytes_text,
    count_text,
    counts_text,
    decimals,
    fixed,
    more_text,
    quantity,
    readable_unit,
    signed_percent,
    significant,
    slower_text,
)
from reports.render.markdown import md

SLOW, TWO, ONLY, ALL = "slower by a factor of 1.83", "2 series", "the only launch", "all 3 launches"


def test_no_line_breaks_within_a_quantity() -> None:
    text = "5.4 % at 1 KiB, 11.7 MB/s and 45 µs (n = 12) in 3 steps of 8 blocks"
    assert unbroken(text).replace("\u00a0", "_") == (
        "5.4_% at 1_KiB, 11.7_MB/s and 45_µs (n_=_12) in 3 steps of 8 blocks"
    )


def test_a_library_looks_the_same_in_every_report() -> None:
    assert looks(["mpich"])["mpich"] == looks(["lam", "mpich", "other"])["mpich"]
    assert looks(["mvapich"])["mvapich"] == looks(["mpich", "mvapich"])["mvapich"]


def test_looks_differ_in_colour_marker_and_line() -> None:
    found = list(looks(["mpich", "openmpi", "lam", "lam-lamd", "x", "y", "z"]).values())
    for attribute in ("colour", "marker", "dashes"):
        assert len({getattr(look, attribute) for look in found}) == len(found)


@pytest.mark.parametrize(
    ("unit", "value", "label"),
    [
        *(("s", 6.8e-6, "µs"), ("s", 2.0, "s"), ("s", 0.0, "s"), ("flop/s", 2e9, "Gflop/s")),
        *(("bytes/s", 36.4e9, "GB/s"), ("bytes/s", 12.5e6, "MB/s"), ("1", 2e-5, "")),
        *(("bytes/s", 999_999_999.999_999_8, "GB/s"), ("bytes/s", 999_999_999.0, "MB/s")),
        ("count", 3.0, "count"),
    ],
)
def test_readable_units(unit: str, value: float, label: str) -> None:
    assert readable_unit(unit, [value]).label == label


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (decimals, {(2.43512, 0.0361): 3, (2.43512, 0.0): 3, (123456.0, 0.001): 0, (0.0, 0.0): 0}),
        (fixed, {(None, 2): "–", (-1234.5, 1): "−1\u202f234.5"}),
        (signed_percent, {(1.034,): "+3.4 %", (0.7,): "−30.0 %"}),
        # A great difference is a multiple and no per cent.
        (signed_percent, {(2.5,): "2.50 ×", (0.089,): "0.0890 ×"}),
        (more_text, {(1.0,): "as much", (1.12,): "12.0 % more", (2.4,): "2.40 times as much"}),
        (slower_text, {(1 / 1.83, 0.83): SLOW, (1 / 1.081, 0.081): "8.1 % slower"}),
        (partial(slower_text, speed=False), {(0.25, 3.0): "worse by a factor of 4.00"}),
        (count_text, {(1, "case"): "1 case", (1, "launch"): "1 launch", (1, "series"): "1 series"}),
        (count_text, {(2, "case"): "2 cases", (2, "launch"): "2 launches", (2, "series"): TWO}),
        (counts_text, {((5,), "night"): "5 nights", ((7, 5, 6), "night"): "5 to 7 nights"}),
        (all_text, {(0, "launch"): "no launch", (1, "launch"): ONLY, (3, "launch"): ALL}),
        (about_bytes_text, {(23170.4,): "22.6 KiB"}),
        # Lengths are in powers of two, and exact.
        (
            bytes_text,
            {(0,): "0 B", (1000,): "1\u202f000 B", (1536,): "1.5 KiB", (98304,): "96 KiB"},
        ),
        (bytes_text, {(300,): "300 B", (2**20,): "1 MiB", (10**6,): "1\u202f000\u202f000 B"}),
        (significant, {(3412.3,): "3\u202f412", (99.96,): "100", (12.345,): "12.3", (0,): "0"}),
        (significant, {(0.0376,): "0.0376"}),
        (md, {("a|b\n<i>*x*",): "a\\|b &lt;i&gt;\\*x\\*"}),
    ],
)
def test_numbers_in_words(text: Callable[..., object], told: dict[tuple[Any, ...], object]) -> None:
    assert {values: text(*values) for values in told} == told


#: What a number is written as; a unit with its value.
_WRITTEN = re.compile(r"−?\d{1,3}(\u202f\d{3})*(\.\d+)?(\u202f×\u202f10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?")
_MAGNITUDES = st.floats(1e-18, 1e24) | st.integers(-18, 24).map(lambda power: 10.0**power)


@given(_MAGNITUDES, st.sampled_from([-1, 1]))
def test_a_number_of_any_magnitude_is_written_as_people_do(value: float, sign: int) -> None:
    for text in (significant(sign * value), as_stated(sign * value), fixed(sign * value, 2)):
        assert _WRITTEN.fullmatch(text), text
    digits = significant(value).partition("\u202f×")[0].replace("\u202f", "")
    if "×" not in significant(value):
        assert float(digits) == pytest.approx(value, rel=6e-3)


@given(_MAGNITUDES, st.sampled_from(sorted(UNITS)))
def test_a_quantity_is_read_in_a_unit_of_its_size_and_stays_on_its_line(
    value: float, si_unit: str
) -> None:
    text = about(value, si_unit)
    number = text.split(" ")[0]
    assert _WRITTEN.fullmatch(number), text
    assert " " not in unbroken(text)
    steps = [factor for factor, _ in UNITS[si_unit].steps]
    if len(steps) > 1 and steps[-1] <= value < 999 * steps[0]:
        assert len(number.partition(".")[0].replace("\u202f", "")) <= 7, text
    assert "e+" not in quantity(value, readable_unit(si_unit, [value]))


@pytest.mark.parametrize(
    ("centre", "limit", "unit", "told"),
    [
        *((0.42, 0.75, "1", "−33.0 points"), (0.98, 0.95, "1", "+3.0 points")),
        *((2.4, 2.0, "1", "+20.0 %"), (60e6, 119e6, "bytes/s", "−49.6 %")),
    ],
)
def test_a_margin_between_shares_is_in_points(
    centre: float, limit: float, unit: str, told: str
) -> None:
    item = Item(
        *(6, centre, centre, centre, 0.95, ""),
        subject="n2",
        environment="mpich",
        unit=unit,
        at_least=limit,
        margin=centre / limit - 1,
        verdict="FAIL",
    )
    assert margin_text(item) == told
