# SPDX-License-Identifier: Apache-2.0
"""Two runs are two days: what differs is called better or worse only where days are known."""

import numpy as np
import pytest

from assay.cli import main
from bench.simulated.nights import Event, normal, simulate
from records.history.model import Change
from reports.tests.test_nightly_history import add_nights, folder, write_night  # noqa: F401
from reports.verdicts.comparison.days import day_spreads

pytestmark = pytest.mark.numerical


def compared(capsys, first, second):
    capsys.readouterr()
    assert main(["compare", str(first), str(second)]) == 0
    return " ".join(capsys.readouterr().out.split())


def test_without_a_history_two_days_cannot_tell(folder, capsys):  # noqa: F811 the fixture
    told = compared(capsys, write_night(folder, 1), write_night(folder, 2, slower=1.3))
    assert "spread of days: not known" in told
    assert "two days cannot tell" in told
    assert "worse" not in told


def test_history_tells_how_far_days_differ(folder, capsys):  # noqa: F811 the fixture
    add_nights(folder, 8)
    first, second = write_night(folder, 20), write_night(folder, 21, slower=1.3)
    told = compared(capsys, first, second)
    assert "spread of days: from the history, 2 series of 8 nights" in told
    changed = told.partition("changed, each value by itself at 95 %: 2")[2]
    assert changed.count(" worse ") == 2
    assert ": rate" in changed.partition("two days cannot tell")[0]


def test_days_that_differ_make_a_difference_unresolved(folder, capsys):  # noqa: F811 the fixture
    for number in range(1, 13):
        slower = 1 + 0.04 * (number % 3)
        main(["history", "add", str(write_night(folder, number, slower=slower))])
    first, second = write_night(folder, 20), write_night(folder, 21, slower=1.08)
    assert "worse" not in compared(capsys, first, second)


def test_runs_compared_are_left_out_and_changes_do_not_count():
    history = simulate(Event("step", step=0.2, at=20), normal, 0.01, (3, 40), 4)
    since = history.nights[20].id
    for series in range(3):
        history.changes.append(Change(series, "regression", "tonight", since, since, 1.0, 1.2, 20))
    found = day_spreads(history, {"night-3"})
    assert [day.nights for day in found.values()] == [19] * 3
    assert all(day.spread < 0.02 for day in found.values())
    assert np.isfinite([day.spread for day in found.values()]).all()
