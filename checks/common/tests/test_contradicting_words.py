# SPDX-License-Identifier: Apache-2.0
"""Words of a program that contradict its good numbers make the launch wrong."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from checks.common.tests.good_outputs import samples

GOOD = {sample.name: sample for sample in samples()}
OSU, HELLO = "osu osu-7.4.mpich.osu_latency", "osu osu-7.4.mpich.osu_hello"
RESIDUAL = "||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)="
TABLE = "# Size       Avg Latency(us)\n1                       1.25\n"

CHANGES = [
    ("hpl launch.mpich", r"(?=^Finished )", f"{RESIDUAL} 99.0 ...... FAILED please\n"),
    ("hpl launch.mpich", r"(?=^Finished )", "HPL ERROR from process # 1, on line 5:\n"),
    ("hpl launch.mpich", "PASSED", "passed"),
    ("hpl launch.mpich", '"key":"tests","value":1', '"key":"tests","value":true'),
    ("hpl launch.mpich", '"mpi":"MPICH 4.0.2"', '"mpi":"Open MPI 4.1.4"'),
    (HELLO, "(?=^This is a test)", TABLE),
    (HELLO, "(?<=processes\n)", TABLE),
    (HELLO, "(?<=processes\n)", "1                       1.25\n"),
    (HELLO, "(?=^This is a test)", "# OSU MPI Latency Test\n"),
    ("osu osu-7.4.mpich.osu_init", "(?=^nprocs)", TABLE),
    (OSU, "(?=^# Size)", "# OSU MPI Bandwidth Test\n"),
    (OSU, "(?=^# Size)", "# Send Buffer on DEVICE (D) and Receive Buffer on HOST (H)\n"),
    (OSU, "(?=^# Size)", "# Latency in milliseconds\n"),
    (OSU, "(?=^# Size)", "Abort(1) on node 0: MPI error, data corrupt\n"),
    ("netpipe launch.mpich", "(?=^Now starting)", "Fatal error in PMPI_Recv: Other MPI error\n"),
    ("netpipe pvm", "(?=^Now starting)", "0: n9\n"),
    ("netpipe tcp.lam", "(?=^Now starting)", "0: n9\n"),
    ("alltoall_pairs mpich", '("pair_bandwidth","unit":"bytes/s","value":)[0-9.e+]+', r"\g<1>1e17"),
]


@pytest.mark.parametrize(("name", "pattern", "instead"), CHANGES)
def test_a_contradicting_word_is_wrong(name, pattern, instead):
    sample = GOOD[name]
    assert sample.judge(sample.text).wrong is None
    text, changes = re.subn(pattern, instead, sample.text, count=1, flags=re.MULTILINE)
    assert changes == 1
    assert sample.refusal(text)


@pytest.mark.parametrize(
    "comment",
    [
        "# Send Buffer on HOST (H) and Receive Buffer on HOST (H)",
        "# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait",
    ],
)
def test_comments_of_the_suite_itself_are_no_contradiction(comment):
    sample = GOOD[OSU]
    text = re.sub("(?m)(?=^# Size)", f"{comment}\n", sample.text, count=1)
    assert sample.judge(text).wrong is None


def test_what_a_session_starts_does_not_learn_of_the_harnesss_pipe():
    program = (
        "import os, subprocess\n"
        "from checks.common.session.outcome import Outcome, send\n"
        "send(Outcome(progress='one'))\n"
        "subprocess.run(['env'], check=True)\n"
        "send(Outcome(progress='two'))\n"
    )
    read_end, write_end = os.pipe()
    answer = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "ASSAY_OUTCOME_FD": str(write_end)},
        pass_fds=(write_end,),
        capture_output=True,
        text=True,
        check=True,
    )
    os.close(write_end)
    with os.fdopen(read_end) as pipe:
        assert pipe.read().count('"progress"') == 2
    assert "OUTCOME_FD" not in answer.stdout
