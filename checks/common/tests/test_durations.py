# SPDX-License-Identifier: Apache-2.0
"""A launch that measured for too short a time is flagged."""

import pytest

from checks.common.definition import LEAST_ONCE_S, LEAST_REPEATED_S, CheckDefinition, is_short
from checks.common.registry import CHECKS
from checks.common.tests.judged import Launch
from records.flags import MEANINGS, TOO_SHORT
from records.metric import Metric


def test_a_launch_is_short_if_more_than_half_of_its_values_are():
    assert LEAST_ONCE_S > 100 * LEAST_REPEATED_S
    assert is_short([0.05], 0.2) and is_short([0.0], 1e-3) and is_short([1e-5, 1e-5, 1e-2], 1e-3)
    for times_s in ([LEAST_ONCE_S], [], [1e-5, LEAST_ONCE_S]):
        assert not is_short(times_s, LEAST_ONCE_S)


@pytest.mark.parametrize(
    ("check", "name", "value", "samples", "short"),
    [
        ("hpl", "time", 0.025, None, True),
        ("hpl", "time", 0.3, None, False),
        ("su3_rmd", "program_time", 0.1, None, True),
        ("pt2pt", "half_round_trip", 1e-6, 20, True),
        ("pt2pt", "half_round_trip", 5e-5, 20, False),
        ("echo", "half_round_trip", 1e-6, 500, False),
        ("collectives", "collective_time", 1e-5, 5, True),
        ("collectives", "collective_time", 1e-3, 5, False),
        ("startup", "whole_start", 0.01, None, False),
    ],
)
def test_what_was_timed_decides_by_check(check, name, value, samples, short):
    definition = CHECKS[check]
    metric = Metric(name, "s", "lower", value, samples=samples and [value] * samples)
    params = definition.parameters.model_validate(definition.example)
    assert is_short(definition.durations_s(params, [metric]), definition.least_measured_s) == short


def test_the_record_of_a_short_launch_is_flagged(monkeypatch):
    launch, start = Launch("pt2pt", "mpich"), Launch("startup", "mpich")
    assert launch.outcome(launch.text).flags == []
    monkeypatch.setattr(CheckDefinition, "least_measured_s", 1e6)
    assert launch.outcome(launch.text).flags == [TOO_SHORT]
    assert TOO_SHORT in MEANINGS
    assert TOO_SHORT not in start.outcome(start.text).flags
