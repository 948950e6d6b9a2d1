# SPDX-License-Identifier: Apache-2.0
"""assay build killed in its middle: what Spack had started ends with it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from virtual_cluster.host import tries

RUN = """
from pathlib import Path
from assay.build.commands import SpackCommands
from assay.build.spack import Spack
home = Path({home!r})
SpackCommands(Spack(home / "spack", None, home), home, print, alone=True).run("building", "install")
"""

#: A Spack that has started a compiler and, as Spack's own builders do, another process group.
SPACK = """#!/bin/bash
setsid sleep {mark} </dev/null >/dev/null 2>&1 &
echo "==> Installing compiler [1/1]"
wait
"""


def running(mark: str) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if words[:2] == ["sleep", mark]:
            found.append(process.name)
    return found


@pytest.mark.skipif(os.geteuid() != 0, reason="a process namespace needs root: sudo make test")
def test_a_killed_build_leaves_no_compiler_behind(tmp_path):
    mark = f"{600 + os.getpid() / 1e7:.7f}"
    (tmp_path / "spack").write_text(SPACK.format(mark=mark))
    (tmp_path / "spack").chmod(0o755)
    command = [sys.executable, "-u", "-c", RUN.format(home=str(tmp_path))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as build:
        assert build.stdout is not None
        while "Installing compiler" not in build.stdout.readline():
            assert build.poll() is None
        assert any(running(mark) for _ in tries(300, 0.1))
        build.kill()
    assert any(not running(mark) for _ in tries(300, 0.1))
