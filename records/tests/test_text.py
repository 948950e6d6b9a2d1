# SPDX-License-Identifier: Apache-2.0
"""Reasons that differ in names and numbers only are one; paths of a checkout are shortened."""

from pathlib import Path

import records
from records.text.reasons import NO_REASON, grouped
from records.text.withheld import masked


def test_reasons_that_differ_in_names_and_numbers_are_one_group() -> None:
    late, gone = "did not end within {} s", "node n{} is gone (job {})"
    reasons = late.format(12), gone.format(3, 41), late.format(12), late.format(9.5)
    found = grouped([("failed", one) for one in (*reasons, gone.format(12, 7))])
    assert [(one.reason, one.places) for one in found] == [
        ("did not end within 12 s", (0, 2, 3)),
        ("node n3 is gone (job 41)", (1, 4)),
    ]


def test_another_status_is_another_group_and_no_reason_is_told() -> None:
    found = grouped([("failed", "a  b\nc"), ("wrong", "a b c"), ("lost", None), ("lost", "")])
    assert [(one.status, one.reason, len(one.places)) for one in found] == [
        ("lost", NO_REASON, 2),
        ("failed", "a b c", 1),
        ("wrong", "a b c", 1),
    ]
    assert len(grouped([("failed", "no such file"), ("failed", "no such node")])) == 2


def test_what_is_above_this_checkout_is_left_out_of_a_program_s_text() -> None:
    root = Path(records.__file__).parents[1]
    assert masked(f"ld: {root}/bench/x.o, {root}.o") == f"ld: …/bench/x.o, {root}.o"
