# SPDX-License-Identifier: Apache-2.0
"""Commands and steps: a caller that waits is called meanwhile, and may end them."""

import os
import pty
import sys
import time

import pytest

from assay import commands
from assay.commands import output_of, run_command
from assay.probe.probe import JobFolder, Step
from assay.probe.trials import END_MARK
from assay.sites.loading import SlurmSite
from assay.sites.site_file import chosen, read_site_file
from checks.common.slurm.job import Allocation
from records.errors import InfrastructureError


@pytest.fixture
def paused(tmp_path):
    """A file that is there once a pause was made, and shell words that wait for it."""
    file = tmp_path / "paused"
    return file, f"while ! [ -e {file} ]; do sleep 0.05; done"


def test_a_command_is_read_whole_and_pauses_are_made_while_it_runs(paused):
    file, until_paused = paused
    script = f"head -c 300000 /dev/zero; {until_paused}; cat | wc -c; echo last >&2; exit 3"
    answer = run_command(
        ["bash", "-c", script], dict(os.environ), b"x" * 200000, pause=lambda _: file.touch()
    )
    assert (answer.status, answer.stderr) == (3, "last\n")
    assert answer.stdout == 300000 * "\0" + "200000\n"


def test_a_command_that_does_not_end_in_time_is_ended_and_named():
    with pytest.raises(InfrastructureError, match=r"^it did not answer within 0 s"):
        run_command(["sleep", "1000"], dict(os.environ), limit_s=0.1, called="it")


def test_a_proof_lies_on_nodes_that_srun_would_not_take_by_itself(tmp_path):
    allocation = Allocation(job_id="1", nodes=["n1", "n2", "n3", "n4"], ends_at=1e12)
    with JobFolder(SlurmSite(chosen(read_site_file("virtual"))), str(tmp_path)) as folder:
        words = Step(folder, "proof", allocation, "night-1", 2, 1, 60.0, time.sleep).words
    assert "--nodelist=n3" in words
    assert "n3,n4" in words
    assert "--job-name=assay-night-1.proof" in words, "by which what it leaves is ended"


def test_a_step_is_waited_for_with_pauses_of_which_one_may_end_it(tmp_path, monkeypatch, paused):
    """So the harness renews the allocation's beat during a proof, and heeds a signal."""
    srun = tmp_path / "bin" / "srun"
    srun.parent.mkdir()
    profile = tmp_path / "profile"
    profile.write_text(f"PATH={srun.parent}:$PATH\n")
    monkeypatch.setattr(commands, "PROFILE", str(profile))
    file, until_paused = paused
    pid = tmp_path / "pid"

    def interrupted(_):
        if pid.exists() and pid.read_text().endswith("\n"):
            raise InfrastructureError("ended by SIGINT")

    def step(script, pause):
        srun.write_text(f"#!/bin/sh\n{script}\n")
        srun.chmod(0o755)
        folder.put({"proof.job": f"echo {END_MARK}".encode()})
        return Step(folder, "proof", allocation, "night-1", 1, 1, 60.0, pause).wait()

    allocation = Allocation(job_id="1", nodes=["n1"], ends_at=1e12)
    with JobFolder(SlurmSite(chosen(read_site_file("virtual"))), str(tmp_path)) as folder:
        assert step(f"{until_paused}; echo it", lambda _: file.touch()).output == "it\n"
        with pytest.raises(InfrastructureError, match="ended by SIGINT"):
            step(f'echo "$$" > {pid}; exec sleep 1000', interrupted)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


_SHOW = "import os; print(os.getsid(0) == os.getpid(), os.readlink('/proc/self/fd/0'))"


def test_a_short_command_cannot_reach_the_callers_terminal():
    pid, master = pty.fork()
    if pid == 0:
        alone = output_of([sys.executable, "-c", _SHOW])
        os._exit(0 if alone == "True /dev/null" else 1)
    try:
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    finally:
        os.close(master)
