# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from records.units import UNITS
from reports.notation.palette import looks
from reports.notation.units import (
    about_bytes_text,
    advantage_text,
    all_text,
    as_stated,
    bytes_text,
    count_text,
    counts_text,
    decimals,
    fixed,
    more_text,
    readable_unit,
    signed_percent,
    significant,
    slower_text,
    unbroken,
)
from reports.notation.values import about, quantity
from reports.render.markdown import md
from reports.verdicts.acceptance.bounds import Bounds
from reports.verdicts.acceptance.model import Item
from reports.verdicts.acceptance.wording import margin_text


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
        ("s", 6.8e-6, "µs"),
        ("s", 2.0, "s"),
        ("s", 0.0, "s"),
        ("flop/s", 2e9, "Gflop/s"),
        ("bytes/s", 36.4e9, "GB/s"),
        ("bytes/s", 12.5e6, "MB/s"),
        ("bytes/s", 999_999_999.999_999_8, "GB/s"),
        ("bytes/s", 999_999_999.0, "MB/s"),
        ("1", 2e-5, ""),
        ("count", 3.0, "count"),
    ],
)
def test_readable_units(unit: str, value: float, label: str) -> None:
    assert readable_unit(unit, [value]).label == label


def test_decimals_follow_the_spread() -> None:
    assert decimals(2.43512, 0.0361) == 3
    assert decimals(2.43512, 0.0) == 3
    assert decimals(123456.0, 0.001) == 0
    assert decimals(0.0, 0.0) == 0


def test_numbers_in_words() -> None:
    assert fixed(None, 2) == "–"
    assert fixed(-1234.5, 1) == "−1\u202f234.5"
    assert signed_percent(1.034) == "+3.4 %"
    assert signed_percent(0.7) == "−30.0 %"


def test_a_great_difference_is_a_multiple_and_no_per_cent() -> None:
    assert [signed_percent(ratio) for ratio in (2.5, 0.089)] == ["2.50 ×", "0.0890 ×"]
    assert [advantage_text(ratio) for ratio in (1.2, 2.5, 1 / 1.83)] == [
        *("+20.0 %", "2.50 × as fast", "1.83 × as slow"),
    ]
    assert [more_text(ratio) for ratio in (1.0, 1.12, 2.4)] == [
        *("as much", "12.0 % more", "2.40 times as much"),
    ]
    assert slower_text(1 / 1.83, 0.83) == "1.83 × as slow"
    assert slower_text(1 / 1.081, 0.081) == "8.1 % slower"
    assert slower_text(0.25, 3.0, speed=False) == "worse by a factor of 4.00"


def test_what_has_no_speed_is_better_or_worse() -> None:
    assert [advantage_text(ratio, speed=False) for ratio in (1.2, 2.5, 1 / 1.83)] == [
        *("+20.0 %", "better by a factor of 2.50", "worse by a factor of 1.83"),
    ]


def test_a_number_of_things_is_grammatical() -> None:
    told = [count_text(n, noun) for n in (1, 2) for noun in ("case", "launch", "series")]
    assert told == ["1 case", "1 launch", "1 series", "2 cases", "2 launches", "2 series"]
    assert [counts_text(ns, "night") for ns in ([5], [7, 5, 6])] == ["5 nights", "5 to 7 nights"]
    assert [all_text(n, "launch") for n in (0, 1, 3)] == [
        *("no launch", "the only launch", "all 3 launches"),
    ]


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


@given(st.floats(1e-6, 1e6))
def test_a_ratio_and_its_inverse_tell_the_same_factor(ratio: float) -> None:
    one, other = advantage_text(ratio), advantage_text(1 / ratio)
    if "×" in one and "×" in other:
        assert one.split(" ×")[0] == other.split(" ×")[0]
        assert {one[-4:], other[-4:]} == {"fast", "slow"}
    assert re.fullmatch(r"[+−]\d+\.\d %|[\d.\u202f]+ × as (fast|slow)", one), one


@pytest.mark.parametrize(
    ("centre", "limit", "unit", "told"),
    [
        (0.42, 0.75, "1", "−33.0 points"),
        (0.98, 0.95, "1", "+3.0 points"),
        (2.4, 2.0, "1", "+20.0 %"),
        (60e6, 119e6, "bytes/s", "−49.6 %"),
    ],
)
def test_a_margin_between_shares_is_in_points(
    centre: float, limit: float, unit: str, told: str
) -> None:
    bounds = Bounds(6, centre, centre, centre, 0.95, "")
    item = Item("n2", "mpich", bounds, unit, limit, None, "FAIL", "", ())
    assert margin_text(item) == told


def test_lengths_are_in_powers_of_two_and_exact() -> None:
    sizes = (0, 300, 1000, 1024, 1536, 65536, 98304, 2**20, 1_000_000)
    assert [bytes_text(size).replace("\u202f", " ") for size in sizes] == [
        *("0 B", "300 B", "1 000 B", "1 KiB", "1.5 KiB", "64 KiB", "96 KiB", "1 MiB"),
        "1 000 000 B",
    ]
    assert about_bytes_text(23170.4) == "22.6 KiB"


def test_markdown_is_escaped() -> None:
    assert md("a|b\n<i>*x*") == "a\\|b &lt;i&gt;\\*x\\*"
