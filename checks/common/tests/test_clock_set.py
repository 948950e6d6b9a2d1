# SPDX-License-Identifier: Apache-2.0
"""A clock that is set during a launch or a wait: it is named, nothing waits for it, no value is
taken by it, and what was right stays right."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from socket import gethostname
from types import SimpleNamespace

import pytest

from checks.common import json_lines
from checks.common.evidence.clocks import Moment, Stamp, set_by
from checks.common.slurm import scheduler
from checks.common.sources import LIBRARY
from checks.common.tests.clock_setting import SetClock
from checks.common.tests.judged import OURS, Launch
from checks.common.tests.program_runs import ran

HOUR_S, DAY_S = 3600.0, 86400.0
SETTINGS = [HOUR_S, -HOUR_S, DAY_S, -DAY_S, 2.0, -2.0]
SESSION = LIBRARY.parent / "launch" / "session.sh"


@pytest.fixture
def clock(tmp_path):
    return SetClock(tmp_path)


def session(folder, clock, script):
    """Output of session.sh around a shell script, under a clock that the script may set."""
    more = clock.variables | {"ASSAY_TOKEN": OURS, "SLURM_JOB_NODELIST": gethostname()}
    told = ran([SESSION, "none", "60", "sh", "-c", script], more, cwd=folder)
    return json_lines.parse(told.stdout, {}, OURS)


def said_around(clock, seconds, program):
    """The numbers that a Python program prints before a clock is set and it reads a line, and
    after that."""
    more, pipes = {**os.environ, **clock.variables}, {"stdin": -1, "stdout": -1, "text": True}
    process = subprocess.Popen([sys.executable, "-c", program], env=more, **pipes)
    first = float(process.stdout.readline())
    clock.set_by(seconds)
    said, _ = process.communicate("go on\n")
    return [first, *map(float, said.split())]


@pytest.mark.parametrize("seconds", SETTINGS)
def test_a_session_tells_by_how_much_its_clock_was_set(tmp_path, clock, seconds):
    began = time.monotonic()
    output = session(tmp_path, clock, clock.command(seconds))
    took = time.monotonic() - began
    (by,) = output.clock_set()
    assert by == pytest.approx(seconds, abs=1)
    begin, end = output.session_interval()
    assert 0 <= end - begin < took + 1
    assert "clock of" in output.other_session("none")


def test_a_session_under_a_clock_that_nobody_sets_tells_of_none(tmp_path, clock):
    clock.set_by(-DAY_S)
    for script in ("true", "sleep 1.3"):
        output = session(tmp_path, clock, script)
        assert output.uptimes.keys() == output.stamps.keys()
        assert output.clock_set() == []
        assert output.other_session("none") is None


def test_stamps_without_uptimes_and_slow_ones_tell_of_no_setting():
    assert set_by([Stamp(100.0), Stamp(4.0)]) == []
    slow = [Stamp(100.0, (50.0, 50.0)), Stamp(103.5, (52.0, 54.5)), Stamp(105.0, (55.0, 55.01))]
    assert set_by(slow) == []
    twice = [Stamp(100.0, (50.0, 50.0)), Stamp(60.0, (51.0, 51.0)), Stamp(102.0, (52.0, 52.0))]
    assert set_by(twice) == pytest.approx([-41.0, 41.0], abs=0.02)


@pytest.mark.parametrize("up", [[5], [7.0, 6.0], ["1", "2"], [-1, 2], 3.0, [True, True]])
def test_uptimes_that_are_none_are_refused(up):
    line = json.dumps({"assay": "stamp", "name": "launch_begin", "at": 1.7e9, "up": up})
    with pytest.raises(json_lines.OutputError, match="launch_begin"):
        json_lines.parse(line, {})


@pytest.fixture(scope="module")
def launch():
    return Launch("ring", "lam")


def with_uptimes(text, seconds=0.0, since=""):
    """A stored session with uptimes, its host's clock set by `seconds` from stamp `since` on."""
    lines, by = text.split("\n"), 0.0
    for place, line in enumerate(lines):
        if '"assay":"stamp"' in line:
            stamp = json.loads(line)
            by = seconds if stamp["name"] == since else by
            up = int((stamp["at"] - 1.6e9) * 100) / 100
            stamp |= {"at": stamp["at"] + by, "up": [up, round(up + 0.01, 2)]}
            lines[place] = json.dumps(stamp, separators=(",", ":"))
    return "\n".join(lines)


@pytest.mark.parametrize("seconds", SETTINGS)
@pytest.mark.parametrize("since", ["boot_end", "launch_end", "session_end"])
@pytest.mark.plugins("papers")
def test_a_launch_during_which_the_clock_was_set_is_lost_by_that_and_made_again(
    launch, since, seconds
):
    assert launch.outcome(with_uptimes(launch.text)).status == "ok"
    outcome = launch.outcome(with_uptimes(launch.text, seconds, since))
    assert (outcome.status, outcome.fault) == ("lost", "clock")
    assert "the clock of n1 was set during the launch, by" in outcome.reason


def moved(moment, seconds):
    """The moment by a clock that was set by so many seconds."""
    return Moment(moment.wall + seconds, moment.steady)


def with_job(monkeypatch, launch, **changes):
    monkeypatch.setattr(launch, "job", SimpleNamespace(**vars(launch.job) | changes))


@pytest.mark.parametrize("seconds", SETTINGS)
@pytest.mark.plugins("papers")
def test_a_launch_stays_right_when_the_clock_of_the_harness_is_set_meanwhile(
    launch, monkeypatch, seconds
):
    with_job(monkeypatch, launch, ended=moved(launch.job.ended, seconds))
    assert launch.outcome(launch.text).status == "ok"


@pytest.mark.plugins("papers")
def test_stamps_of_another_time_are_lost_by_the_clocks(launch, monkeypatch):
    moments = {name: moved(getattr(launch.job, name), -HOUR_S) for name in ("handed_in", "ended")}
    with_job(monkeypatch, launch, **moments)
    outcome = launch.outcome(launch.text)
    assert (outcome.status, outcome.fault) == ("lost", "clock")
    assert "are the clocks of this host" in outcome.reason


@pytest.mark.plugins("papers")
def test_what_slurm_ends_by_a_clock_that_was_set_is_lost(launch, monkeypatch):
    cut = launch.text[: launch.text.index('"launch_end"')].rsplit("\n", 1)[0]
    ended = launch.job.ended
    for seconds, status in ((HOUR_S, "lost"), (0.0, "failed")):
        with_job(monkeypatch, launch, ended=moved(ended, seconds), state="TIMEOUT")
        assert launch.outcome(cut).status == status


_WAITS = """
import sys, time
from checks.common.slurm import scheduler
from checks.common.slurm.job import SlurmJob
job = SlurmJob(job_id="7", watch=lambda state: print(state.waited_s))
print(scheduler.pause_s(job), flush=True)
sys.stdin.readline()
job.tell("pending", "Resources")
print(scheduler.pause_s(job))
"""


@pytest.mark.parametrize("seconds", [HOUR_S, -HOUR_S, -DAY_S])
def test_a_job_that_waits_while_the_clock_is_set_has_not_waited_for_longer(clock, seconds):
    first, waited_s, pause_s = said_around(clock, seconds, _WAITS)
    assert 0 <= waited_s < HOUR_S / 2
    assert first == pause_s == scheduler.QUIET_POLL_S


_POLLS = """
import sys
from types import SimpleNamespace
from reframe.frontend.executors import policies
from checks.common.session import command_line as session
session.count_by_steady_clock()
rates = {"poll_rate_max": 25, "poll_rate_min": 10, "poll_rate_decay": 0.01}
options = {"general/0/" + name: value for name, value in rates.items()}
policies.rt = SimpleNamespace(runtime=lambda: SimpleNamespace(get_option=options.get))
policies.time.sleep = print
polls = policies._PollController()
polls.reset_poll_rate()
polls.snooze()
sys.stdout.flush()
sys.stdin.readline()
polls.snooze()
"""


@pytest.mark.full(sample=1)
@pytest.mark.parametrize("seconds", SETTINGS)
def test_a_session_looks_at_its_launch_as_often_when_the_clock_is_set_meanwhile(clock, seconds):
    first, second = said_around(clock, seconds, _POLLS)
    assert all(0 <= pause_s <= 0.1 for pause_s in (first, second))
