# SPDX-License-Identifier: Apache-2.0
"""Cases by the names that people use: what is measured, not how often."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from records.run.plan import PlannedCase
from reports.notation.labels import CheckLabels, case_names, check_labels


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
    nothing = [Case("other", {"deep": [1]})]
    assert check_labels(nothing)["other"].label(nothing[0]) == "the one case"


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
    lists = (["ab"], ["ac"])
    cases = [
        planned("pt2pt", {"constructs": words, "sizes": [8, 64]}, id=f"pt2pt-{n}")
        for n, words in enumerate(lists)
    ]
    cases += [planned("hpl", {"n": 9}, id=f"hpl-{n}", cpus_per_task=n) for n in (1, 2)]
    cases += [planned("hpl", {"n": 9}, id="hpl-3", environment="lam")]
    assert [*case_names(cases).values()] == [
        *("pt2pt (0)", "pt2pt (1)"),
        *("hpl N 9 (1)", "hpl N 9 (2)", "hpl N 9"),
    ]
