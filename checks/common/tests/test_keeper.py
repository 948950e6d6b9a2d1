# SPDX-License-Identifier: Apache-2.0
"""The keeper of a step on this machine: nothing outlives it, however it was left behind."""

import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from checks.common.sources import CHECKS
from checks.common.tests.program_runs import PATIENCE_S, holds
from checks.common.tests.test_stepkeeper import alive, pid_in

KEEPER = [sys.executable, "-I", "-S", str(CHECKS / "common" / "launch" / "keeper.py")]
#: Leaves a daemon in a session of its own that has lost its parents and ignores signals.
DAEMON = (
    "(setsid sh -c 'trap \"\" TERM HUP INT; echo $$ >pid; while :; do sleep 0.1; done' &);"
    " until [ -s pid ]; do sleep 0.01; done; "
)


def marked(word):
    """Processes with a word in their environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if word.encode() in (folder / "environ").read_bytes() and alive(int(folder.name)):
                found.append(int(folder.name))
    return found


@pytest.fixture
def start(tmp_path):
    def run(script):
        step = [*KEEPER, "here", "1", "1", "out", "err", "sh", "-c", script]
        return subprocess.Popen(step, cwd=tmp_path, stdout=subprocess.PIPE, text=True)

    return run


@pytest.mark.parametrize(
    ("script", "status"),
    [("exit 3", 3), ("kill -KILL $$", 137), ("kill -TERM $$", 143), ("echo said; exit 0", 0)],
)
def test_it_says_when_a_launch_begins_and_how_it_ends(start, tmp_path, script, status):
    step = start(f"echo $ASSAY_NODES $ASSAY_LAUNCH_ID >&2; {script}")
    said = step.communicate(timeout=PATIENCE_S)[0].splitlines()
    assert said == [f"begun {step.pid}-0", f"ended {status}"]
    assert step.returncode == status
    assert (tmp_path / "err").read_text() == f"here {step.pid}-0\n"
    assert (tmp_path / "out").read_text() == ("said\n" if "said" in script else "")


def test_a_daemon_that_forked_away_and_ignores_signals_is_ended(start, tmp_path):
    step = start(f"{DAEMON} exit 0")
    step.communicate(timeout=PATIENCE_S)
    assert step.returncode == 0
    assert not alive(int((tmp_path / "pid").read_text()))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_told_to_end_it_ends_what_it_keeps_first(start, tmp_path, number):
    step = start(f"trap 'echo halted >&2; exit 7' TERM; {DAEMON} while :; do sleep 0.1; done")
    daemon = pid_in(tmp_path)
    step.send_signal(number)
    said = step.communicate(timeout=PATIENCE_S)[0]
    assert "ended 7" in said and not alive(daemon)
    assert (tmp_path / "err").read_text() == "halted\n"


def test_it_ends_with_its_starter(tmp_path):
    """As with a session of ReFrame that is killed: the kernel tells the keeper."""
    step = [*KEEPER, "here", "1", "1", "-", "-", "sh", "-c", f"{DAEMON} sleep 600"]
    code = f"import subprocess; subprocess.run({step!r})"
    starter = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path)
    daemon = pid_in(tmp_path)
    starter.kill()
    starter.wait()
    assert holds(lambda: not alive(daemon))


def test_a_program_that_forks_while_it_is_ended_leaves_nothing(start, tmp_path):
    forks = "while :; do (setsid sleep 600 &); done"
    step = start(f"(setsid sh -c '{forks}' &); sleep 0.2; echo $$ >pid; exit 0")
    step.communicate(timeout=PATIENCE_S)
    assert (tmp_path / "pid").exists()
    assert holds(lambda: not marked(f"ASSAY_LAUNCH_ID={step.pid}-0"))
