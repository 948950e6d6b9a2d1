# SPDX-License-Identifier: Apache-2.0
"""The proof programs of src/, built and run with each MPI library."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parent.parent / "src"


@pytest.mark.parametrize("compiler", ["mpicc.mpich", "mpicc.openmpi", "mpicc.lam"])
def test_proof_programs_pass(compiler):
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}: run make setup")
    if compiler == "mpicc.lam" and os.geteuid() != 0 and shutil.which("setpriv") is None:
        pytest.skip("needs setpriv (package util-linux)")
    # LAM refuses root, so its programs run as nobody, who must be able to read them.
    with tempfile.TemporaryDirectory(prefix="assay-proof-", dir="/tmp") as out:
        Path(out).chmod(0o755)
        answer = subprocess.run(
            ["make", "-j2", "-C", str(SOURCES), "check", f"CC={compiler}", f"OUT={out}"],
            capture_output=True,
            text=True,
            check=False,
        )
    assert answer.returncode == 0, answer.stdout[-3000:] + answer.stderr[-3000:]
    lines = answer.stdout.splitlines()
    assert not [line for line in lines if line.startswith("wrong")]
    assert sum(line.startswith("right") for line in lines) > 100
