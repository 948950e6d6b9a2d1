# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from reports.notation.palette import looks
from reports.notation.units import (
    about_bytes_text,
    advantage_text,
    bytes_text,
    decimals,
    fixed,
    readable_unit,
    signed_percent,
    unbroken,
)
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
        ("bytes/s", 1e9, "MB/s"),
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
    assert signed_percent(0.6) == "−40.0 %"


def test_from_a_factor_of_two_on_no_per_cent() -> None:
    assert [signed_percent(ratio) for ratio in (2.5, 0.089)] == ["2.50 ×", "1/11.2"]
    assert [advantage_text(ratio) for ratio in (1.2, 2.5, 0.089)] == [
        "+20.0 %",
        "2.50 × better",
        "11.2 × worse",
    ]


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
