# SPDX-License-Identifier: Apache-2.0
"""Values, quantities, cases and environments as people read them."""

import re
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from records.run.plan import PlannedCase
from records.text.plain_text import unbroken
from records.units import UNITS
from reports.answers import margin_text
from reports.judgement import Item
from reports.notation import units
from reports.notation.labels import CheckLabels, case_names, check_labels, looks
from reports.notation.units import as_stated, fixed, readable_unit, significant
from reports.render.markdown import md

SLOW, ONE, TWO = "slower by a factor of 1.83", "1 series", "2 series"
ONLY, ALL = "the only launch", "all 3 launches"


def test_no_line_breaks_within_a_quantity() -> None:
    text = "5.4 % at 1 KiB, 11.7 MB/s and 45 µs (n = 12) in 3 steps of 8 blocks"
    told = "5.4_% at 1_KiB, 11.7_MB/s and 45_µs (n_=_12) in 3 steps of 8 blocks"
    assert unbroken(text).replace("\u00a0", "_") == told


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
    ("name", "told"),
    [
        ("decimals", {(2.435, 0.0361): 3, (2.435, 0.0): 3, (123456.0, 0.001): 0, (0.0, 0.0): 0}),
        ("fixed", {(None, 2): "–", (-1234.5, 1): "−1\u202f234.5"}),
        ("signed_percent", {(1.034,): "+3.4 %", (0.7,): "−30.0 %"}),
        # A great difference is a multiple and no per cent.
        ("signed_percent", {(2.5,): "2.50 ×", (0.089,): "0.0890 ×"}),
        ("more_text", {(1.0,): "as much", (1.12,): "12.0 % more", (2.4,): "2.40 times as much"}),
        ("slower_text", {(1 / 1.83, 0.83): SLOW, (1 / 1.081, 0.081): "8.1 % slower"}),
        ("count_text", {(1, "case"): "1 case", (1, "launch"): "1 launch", (1, "series"): ONE}),
        ("count_text", {(2, "case"): "2 cases", (2, "launch"): "2 launches", (2, "series"): TWO}),
        ("counts_text", {((5,), "night"): "5 nights", ((7, 5, 6), "night"): "5 to 7 nights"}),
        ("all_text", {(0, "launch"): "no launch", (1, "launch"): ONLY, (3, "launch"): ALL}),
        ("about_bytes_text", {(23170.4,): "22.6 KiB"}),
        # Lengths are in powers of two, and exact.
        ("bytes_text", {(0,): "0 B", (1536,): "1.5 KiB", (98304,): "96 KiB", (300,): "300 B"}),
        ("bytes_text", {(2**20,): "1 MiB", (10**6,): "1\u202f000\u202f000 B"}),
        ("bytes_text", {(1000,): "1\u202f000 B"}),
        ("significant", {(3412.3,): "3\u202f412", (99.96,): "100", (12.345,): "12.3", (0,): "0"}),
        ("significant", {(0.0376,): "0.0376"}),
    ],
)
def test_numbers_in_words(name: str, told: dict[tuple[Any, ...], object]) -> None:
    assert {values: getattr(units, name)(*values) for values in told} == told


def test_what_has_no_speed_is_worse_and_no_text_is_markup() -> None:
    assert units.slower_text(0.25, 3.0, "bytes") == "worse by a factor of 4.00"
    assert md("a|b\n<i>*x*") == "a\\|b &lt;i&gt;\\*x\\*"


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
def test_a_quantity_is_read_in_a_unit_of_its_size_and_stays_on_its_line(value, si_unit):
    text = units.about(value, si_unit)
    number = text.split(" ")[0]
    assert _WRITTEN.fullmatch(number), text
    assert " " not in unbroken(text)
    steps = [factor for factor, _ in UNITS[si_unit].steps]
    if len(steps) > 1 and steps[-1] <= value < 999 * steps[0]:
        assert len(number.partition(".")[0].replace("\u202f", "")) <= 7, text
    assert "e+" not in units.quantity(value, readable_unit(si_unit, [value]))


@pytest.mark.parametrize(
    ("centre", "limit", "unit", "told"),
    [
        *((0.42, 0.75, "1", "−33.0 points"), (0.98, 0.95, "1", "+3.0 points")),
        *((2.4, 2.0, "1", "+20.0 %"), (60e6, 119e6, "bytes/s", "−49.6 %")),
    ],
)
def test_a_margin_between_shares_is_in_points(centre, limit, unit, told):
    held = {"unit": unit, "at_least": limit, "margin": centre / limit - 1, "verdict": "FAIL"}
    item = Item(6, *[centre] * 3, 0.95, "", subject="n2", environment="mpich", **held)
    assert margin_text(item) == told


@dataclass(frozen=True)
class Case:
    """What is labelled."""

    check: str
    params: dict[str, Any]


OFTEN: dict[str, Any] = {"sizes": [1, 4096, 16384], "iterations": 100, "warmup": 10}
SELDOM: dict[str, Any] = {"sizes": [23170, 1048576], "iterations": 8, "warmup": 1}
OVERLAPPING: dict[str, Any] = {"sizes": [16384, 1048576], "iterations": 8, "warmup": 1}


def labels_of(check: str, *params: dict[str, Any]) -> tuple[CheckLabels, list[Case]]:
    cases = [Case(check, {"placement": "between-nodes", **found}) for found in params * 2]
    return check_labels(cases)[check], cases


def test_how_often_is_no_name_but_the_range_of_lengths_is() -> None:
    labels, cases = labels_of("echo", OFTEN, SELDOM)
    assert labels.varying == ("sizes", "iterations", "warmup")
    assert [labels.parts(one) for one in cases] == [[]] * 4
    told = [labels.label(one).replace("\u202f", " ") for one in cases[:2]]
    assert told == ["1 B … 16 KiB", "23 170 B … 1 MiB"]


def test_where_a_length_is_measured_twice_it_is_told_how() -> None:
    labels, cases = labels_of("echo", OFTEN, OVERLAPPING)
    assert labels.untold == frozenset()
    assert labels.parts(cases[1]) == ["iterations 8", "warmup 1"]
    # Cases that differ in more need no procedure.
    labels, cases = labels_of("echo", OFTEN, {**SELDOM, "placement": "self"})
    assert [labels.parts(one) for one in cases[:2]] == [["between nodes"], ["self"]]


def test_a_case_of_which_nothing_varies_has_a_name() -> None:
    for check, params, told in (
        ("hpl", {"p": 1, "q": 2, "n": 4000, "nb": 128, "ranks": 2}, "1 × 2, N 4 000"),
        ("su3_rmd", {"nx": 8, "ny": 8, "nz": 8, "nt": 16, "ranks": 2}, "8³ × 16"),
        ("startup", {"ranks": 2}, "2 ranks, between nodes"),
    ):
        labels, cases = labels_of(check, params)
        assert labels.label(cases[0]).replace("\u202f", " ") == told
    nothing = Case("other", {"deep": [1]})
    assert check_labels([nothing])["other"].label(nothing) == "the one case"


def planned(check: str, params: dict[str, Any], **more: Any) -> PlannedCase:
    layout = {"ranks": 2, "ranks_per_node": 1, "nodes": 2, "memory_bytes_per_node": 1}
    told = {"environment": "mpich", "estimate_s": 1.0, "skipped": None, **layout, **more}
    return PlannedCase(check=check, params=params, **{"id": f"{check}-{len(more):08x}", **told})


def test_a_case_is_called_by_its_problem_and_what_varies_in_the_plan() -> None:
    lattice = {"nx": 8, "ny": 8, "nz": 8, "nt": 16}
    cases = [
        planned("su3_rmd", {**lattice, "ranks": ranks, "steps": 20}, id=f"su3_rmd-{ranks}")
        for ranks in (1, 2)
    ]
    tcp = {"placement": "between-nodes", "sizes": [1], "transport": "tcp"}
    cases += [planned("echo", tcp, id="echo-1"), planned("other", {"deep": [1]}, id="other-1")]
    cases += [planned("echo", {**tcp, "transport": "udp"}, id="echo-2")]
    assert [*case_names(cases).values()] == [
        *("su3_rmd 8³ × 16, 1 rank", "su3_rmd 8³ × 16, 2 ranks"),
        *("echo transport tcp", "other", "echo transport udp"),
    ]


def test_a_parameter_that_a_case_lacks_tells_it_from_the_others() -> None:
    cases = [planned("echo", {"a": 1}, id="echo-1"), planned("echo", {}, id="echo-2")]
    assert check_labels(cases)["echo"].varying == ("a",)


def test_cases_that_differ_in_their_job_or_in_long_lists_alone_have_their_own_names() -> None:
    cases = [
        planned("pt2pt", {"constructs": [word], "sizes": [8, 64]}, id=f"pt2pt-{n}")
        for n, word in enumerate(("ab", "ac"))
    ]
    cases += [planned("hpl", {"n": 9}, id=f"hpl-{n}", cpus_per_task=n) for n in (1, 2)]
    cases += [planned("hpl", {"n": 9}, id="hpl-3", environment="lam")]
    assert [*case_names(cases).values()] == [
        *("pt2pt (0)", "pt2pt (1)"),
        *("hpl N 9 (1)", "hpl N 9 (2)", "hpl N 9"),
    ]
