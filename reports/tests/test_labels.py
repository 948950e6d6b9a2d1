# SPDX-License-Identifier: Apache-2.0
"""Cases by the names that people use: what is measured, not how often."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reports.notation.labels import CheckLabels, check_labels


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
    assert labels.label(cases[0]).replace("\u202f", " ") == "1 B … 16 KiB"
    assert labels.label(cases[1]).replace("\u202f", " ") == "23 170 B … 1 MiB"


def test_where_a_length_is_measured_twice_it_is_told_how() -> None:
    labels, cases = labels_of("echo", OFTEN, OVERLAPPING)
    assert labels.untold == frozenset()
    assert labels.parts(cases[1]) == ["iterations 8", "warmup 1"]
    same = {"sizes": OFTEN["sizes"], "iterations": 8, "warmup": 10}
    labels, cases = labels_of("echo", OFTEN, same)
    assert labels.label(cases[0]) != labels.label(cases[1])


def test_cases_that_differ_in_more_need_no_procedure() -> None:
    labels, cases = labels_of("echo", OFTEN, {**SELDOM, "placement": "self"})
    assert [labels.parts(one) for one in cases[:2]] == [["between nodes"], ["self"]]


def test_a_case_of_which_nothing_varies_has_a_name() -> None:
    hpl = {"p": 1, "q": 2, "n": 4000, "nb": 128, "ranks": 2}
    labels, cases = labels_of("hpl", hpl)
    assert labels.label(cases[0]).replace("\u202f", " ") == "1 × 2, N 4 000"
    labels, cases = labels_of("su3_rmd", {"nx": 8, "ny": 8, "nz": 8, "nt": 16, "ranks": 2})
    assert labels.label(cases[0]) == "8³ × 16"
    labels, cases = labels_of("startup", {"ranks": 2})
    assert labels.label(cases[0]) == "ranks 2, between nodes"
    nothing = [Case("other", {"deep": [1]})]
    assert check_labels(nothing)["other"].label(nothing[0]) == "the one case"
