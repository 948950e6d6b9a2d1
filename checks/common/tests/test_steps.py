# SPDX-License-Identifier: Apache-2.0
"""Steps of an allocation: they end with the session, and their ranks stay on their nodes."""

import os
import signal
import subprocess
import sys

import pytest

from checks.common.slurm.commands import HERE, Answer
from checks.common.slurm.scheduler import _Step
from checks.common.sources import CHECKS
from checks.common.tests.program_runs import holds, ran, written_script

LAUNCH = CHECKS / "common" / "launch"
SESSION = """
import sys, time
from pathlib import Path
from checks.common.slurm.scheduler import _Step
step = _Step(["sh", "-c", sys.argv[2]], Path(sys.argv[1]))
time.sleep(1000)
"""
#: What srun does: told to end, it ends its step.
SRUN = "trap 'touch ended; exit' TERM; touch begun; while :; do sleep 0.05; done"


@pytest.mark.parametrize("options", [[], ["--external-launcher"], ["-n", "-x"]])
def test_a_remote_shell_passes_over_options_before_the_host(tmp_path, options):
    """MPICH's hydra gives one since 4.2."""
    written_script(tmp_path / "srun", 'echo "$6" "$9"')
    words = [f"{LAUNCH}/remote-shell.sh", *options, "n2", "hydra_pmi_proxy", "--proxy-id", "1"]
    said = ran(words, {"PATH": f"{tmp_path}:/usr/bin:/bin"}).stdout
    assert said == "n2 hydra_pmi_proxy --proxy-id 1\n"


@pytest.mark.parametrize("name", ["pterm.openmpi", "pterm.prrte", "prte-term", "pterm"])
def test_daemons_of_prrte_are_ended_by_the_pterm_of_their_distribution(tmp_path, name):
    """Debian calls it otherwise: its pterm is PuTTY's terminal."""
    for program in ("prte", "pterm", name):
        written_script(tmp_path / program, f"echo {program} $*")
    script = f"halt_s=60 keeper=999999999; . {LAUNCH}/prte.sh; daemon_halt"
    said = ran(["bash", "-c", script], {"PATH": f"{tmp_path}:/usr/bin:/bin"}).stdout
    assert said == f"{name} --dvm-uri file:prte.uri\n"


def test_a_step_that_is_told_to_end_removes_its_folder(tmp_path):
    """srun hands the signal to each process of the step, also to the one that removes."""
    slow = 'touch removing; until [ -e go ]; do sleep 0.02; done; /bin/rm "$@"'
    written_script(tmp_path / "rm", slow)
    told = {"PATH": f"{tmp_path}:/usr/bin:/bin", "ASSAY_STEPKEEPER": "env"}
    told["ASSAY_NODE_TMP"] = f"{tmp_path}/assay-lam-1"
    words = [str(LAUNCH / "step.sh"), "true"]
    step = subprocess.Popen(words, env=told, cwd=tmp_path, start_new_session=True)
    assert holds((tmp_path / "removing").exists)
    assert [*tmp_path.glob("assay-lam-1-*")]
    os.killpg(step.pid, signal.SIGTERM)
    (tmp_path / "go").touch()
    step.wait()
    assert not [*tmp_path.glob("assay-lam-1-*")]
    assert [*tmp_path.glob("lam.ended.*")], "the mark is in the working folder of the launch"


def test_a_step_is_told_to_end_when_the_session_is_killed(tmp_path):
    session = subprocess.Popen([sys.executable, "-c", SESSION, str(tmp_path), SRUN])
    assert holds((tmp_path / "begun").exists)
    session.send_signal(signal.SIGKILL)
    session.wait()
    assert holds((tmp_path / "ended").exists)


def test_ranks_stay_on_the_nodes_of_the_launch_though_a_module_puts_another_srun_first(tmp_path):
    real = written_script(tmp_path / "slurm" / "srun", 'echo "overlap=$SLURM_OVERLAP $*"')
    script = f'PATH={real.parent}:$PATH; exec {LAUNCH}/session.sh none 600 "$@"'
    launch = ["bash", LAUNCH / "allocated.sh", "n7,n8", "2", "1", "-", "-", "bash", "-c", script]
    told = {"SLURM_JOB_ID": "12", "SLURM_STEP_ID": "3", "ASSAY_RUN_ID": "quick-1f"}
    handed = "overlap=1 --nodelist=n7,n8 --job-name=assay-quick-1f.ranks-of-12-3 -n 2 ./prog a b"
    for begin in (["srun"], [str(real)], ["env", "X=1", str(real)]):
        words = [*launch, "job", *begin, "-n", "2", "./prog", "a b"]
        said = ran(words, told, cwd=tmp_path).stdout.splitlines()
        assert [line for line in said if line.startswith("overlap=")] == [handed]


def test_ranks_of_a_step_that_was_killed_are_ended(tmp_path, monkeypatch):
    listed = (
        "12.2 assay-quick-1f.rfm_L0000003_hpl_b1\n12.3 assay-quick-1f.ranks-of-12-2\n"
        "12.4 assay-quick-1f.ranks-of-12-22\n12.extern extern\n"
    )
    monkeypatch.setattr(HERE, "ask", lambda *argv: Answer(0, listed, ""))
    ended = []
    monkeypatch.setattr(HERE, "cancel", lambda *steps: ended.extend(steps))
    step = _Step(["sh", "-c", "echo begun 12-2; kill -KILL $$"], tmp_path)
    step.process.wait()
    assert step.over()
    step.clear()
    assert ended == ["12.3"]
