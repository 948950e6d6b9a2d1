# SPDX-License-Identifier: Apache-2.0
"""The proofs of the C sources, built and run with each MPI library."""

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from checks.common.sources import CHECKS, LIBRARY


def proofs(folder, compiler, out, *settings):
    """Run `make prove` of a folder and count its judgements."""
    answer = subprocess.run(
        ["make", "-j2", "-C", str(folder), "prove", f"CC={compiler}", f"OUT={out}", *settings],
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stdout[-3000:] + answer.stderr[-3000:]
    lines = answer.stdout.splitlines()
    assert not [line for line in lines if line.startswith("wrong")]
    return sum(line.startswith("right") for line in lines)


@pytest.fixture
def out():
    # LAM refuses root, so its programs run as nobody, who must be able to read them.
    with tempfile.TemporaryDirectory(prefix="assay-proof-", dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        yield folder


@pytest.mark.parametrize("compiler", ["mpicc.mpich", "mpicc.openmpi", "mpicc.lam"])
def test_proofs_of_the_library_pass(compiler, out):
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}: run make setup")
    assert proofs(LIBRARY, compiler, out) > 100


@pytest.mark.parametrize(
    ("folder", "least"), [(CHECKS / "su3_rmd" / "src", 500), (LIBRARY / "mpiprofile", 50)]
)
def test_proofs_of_the_application_and_the_profile_pass(folder, least, out):
    if shutil.which("mpicc.mpich") is None:
        pytest.skip("needs mpicc.mpich: run make setup")
    try:
        assert proofs(folder, "mpicc.mpich", out) > least
    except AssertionError:
        # MPICH's launcher now and then drops the last line of a rank that aborts, which the
        # refusals are judged by: what fails by that chance passes the second time.
        assert proofs(folder, "mpicc.mpich", out) > least
