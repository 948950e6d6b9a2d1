# SPDX-License-Identifier: Apache-2.0
"""What a start costs: the daemons that a library needs are part of it, our probe is not."""

import pytest

from checks.common.registry import CHECKS
from checks.common.tests.judged import Launch

STARTUP = CHECKS["startup"]


def times_of(variant):
    launch = Launch("startup", variant)
    return {metric.name: metric.value for metric in launch.outcome(launch.text).metrics}


def test_a_start_is_compared_by_all_that_a_job_pays():
    assert (STARTUP.deciding, STARTUP.shown) == ("whole_start", "whole_start")
    assert STARTUP.history_metrics == ("all_heard",)


def test_booting_and_halting_daemons_is_part_of_a_start():
    times = times_of("lam")
    boot, halt = 1795317056.892276 - 1795317056.402501, 1795317058.538791 - 1795317057.467215
    launch = 1795317057.467128 - 1795317056.895132
    assert times["whole_start"] == pytest.approx(boot + launch + halt - 0.00513195992, abs=1e-5)
    assert times["whole_start"] > 30 * times["all_heard"]


def test_without_daemons_a_start_is_the_launchers_run_without_our_probe():
    times, lam = times_of("mpich"), times_of("lam")
    assert times["whole_start"] == pytest.approx(times["launch"] - 0.094014647, abs=1e-6)
    assert times["whole_start"] > times["all_heard"]
    # Daemons change which library starts faster.
    assert lam["all_heard"] < times["all_heard"] and lam["whole_start"] > times["whole_start"]
