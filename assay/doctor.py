# SPDX-License-Identifier: Apache-2.0
"""`assay doctor`: each requirement, found or missing, with the command that mends it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from assay import ROOT
from assay.outputs import output_of

#: Program → the Debian package that has it, for a machine that hosts a virtual cluster.
_PROGRAMS = {
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
    "sbatch": "slurm-client",
    "munged": "munge",
    "ip": "iproute2",
    "nsenter": "util-linux",
    "taskset": "util-linux",
    "make": "make",
    "cc": "gcc",
    "mpicc.mpich": "libmpich-dev",
    "mpicc.openmpi": "libopenmpi-dev",
    "mpirun.openmpi": "openmpi-bin",
    "mpicc.lam": "lam4-dev",
    "lamboot": "lam-runtime",
    "pvm": "pvm",
    "aimk": "pvm-dev",
}


@dataclass(frozen=True)
class Finding:
    """One requirement: what it is, whether it is there, what was seen, and what mends it."""

    what: str
    found: bool
    seen: str
    remedy: str


def machine_findings() -> Iterator[Finding]:
    """The requirements of this machine."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    for program, package in _PROGRAMS.items():
        where = shutil.which(program, path=path)
        yield Finding(program, where is not None, where or "", f"apt-get install {package}")
    found = "libopenblas.so" in output_of(["ldconfig", "-p"])
    yield Finding("OpenBLAS", found, "ldconfig knows it", "apt-get install libopenblas-dev")
    archives = sorted(str(path) for path in (ROOT / "build/sources").glob("hpcc_*.orig.tar.gz"))
    yield Finding("HPL's source (in HPCC)", bool(archives), "".join(archives[:1]), "make setup")
    uid = os.geteuid()
    yield Finding("rights for a virtual cluster", uid == 0, f"uid {uid}", "run with sudo")
    interpreter = Path(os.path.realpath(ROOT / ".venv" / "bin" / "python"))
    closed = [
        str(path)
        for path in [*interpreter.parents, interpreter]
        if not (path.exists() and path.stat().st_mode & 0o001)
    ]
    remedy = "rm -r .venv && make setup (with a system interpreter, e.g. PYTHON=/usr/bin/python3)"
    seen = f"closed to others: {closed[0]}" if closed else str(interpreter)
    yield Finding("Python that an ordinary user can execute", not closed, seen, remedy)


def render(findings: Iterable[Finding]) -> str:
    """For people: a line a requirement, the remedy where one is missing."""
    lines = []
    for finding in findings:
        if finding.found:
            lines.append(f"found    {finding.what}: {finding.seen}")
        else:
            detail = f" ({finding.seen})" if finding.seen else ""
            lines.append(f"MISSING  {finding.what}{detail}: {finding.remedy}")
    return "\n".join(lines)
