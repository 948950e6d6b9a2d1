# SPDX-License-Identifier: Apache-2.0
"""The original beside our program: the same digits of the same input, others of another."""

import os
import shutil
import subprocess

import pytest

from checks.common.sources import CHECKS, LIBRARY
from checks.common.tests.program_runs import build_folder

ORIGINAL = os.environ.get("ASSAY_MILC_MPICH", "")
INPUT = (CHECKS / "su3_rmd/src/proof/data/su3_rmd.4x4x4x8.double.in").read_text()
pytestmark = [
    pytest.mark.skipif(
        not os.access(ORIGINAL, os.X_OK),
        reason="needs MILC's su3_rmd in double precision on MPICH: see docs/originals.md, and set"
        " ASSAY_MILC_MPICH to it",
    ),
    pytest.mark.skipif(shutil.which("mpiexec.mpich") is None, reason="needs MPICH: make packages"),
]


@pytest.fixture(scope="module")
def ours():
    out = build_folder("mpich")
    command = ["make", "-s", "-C", str(LIBRARY), "CC=mpicc.mpich", f"OUT={out}", "su3_rmd"]
    subprocess.run(command, check=True, capture_output=True)
    return [str(out / "su3_rmd_double"), "--input"]


def measurements(words, text, folder, ranks):
    (folder / "su3.in").write_text(text)
    words = [*words, str(folder / "su3.in")] if "--input" in words else words
    with (folder / "su3.in").open() as file:
        command = ["mpiexec.mpich", "-n", str(ranks), *words]
        answer = subprocess.run(command, stdin=file, check=True, capture_output=True, text=True)
    return [line for line in answer.stdout.splitlines() if line.startswith("GMES")]


@pytest.mark.parametrize("ranks", [1, 2])
def test_every_printed_digit_is_the_originals(ours, tmp_path, ranks):
    theirs = measurements([ORIGINAL], INPUT, tmp_path, ranks)
    assert len(theirs) == 10
    assert measurements(ours, INPUT, tmp_path, ranks) == theirs


@pytest.mark.parametrize(
    ("found", "instead"), [("iseed 8352", "iseed 8353"), ("beta 6.0", "beta 6.1")]
)
def test_another_seed_or_coupling_has_other_digits(ours, tmp_path, found, instead):
    assert found in INPUT
    theirs = measurements([ORIGINAL], INPUT.replace(found, instead), tmp_path, 1)
    assert measurements(ours, INPUT, tmp_path, 1) != theirs
