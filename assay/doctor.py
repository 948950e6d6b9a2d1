# SPDX-License-Identifier: Apache-2.0
"""`assay doctor`: each requirement, found or missing, with the command that mends it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from assay import ROOT
from assay.outputs import output_of

#: Programs that every site needs where Assay is called → what has them.
_EVERYWHERE = {
    "make": "make",
    "bash": "bash",
    "tar": "tar",
    "setpriv": "util-linux 2.24 or later",
}
#: Program → the Debian package that has it, for a machine that hosts a virtual cluster.
_PROGRAMS = {
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
    "sbatch": "slurm-client",
    "munged": "munge",
    "ip": "iproute2",
    "nsenter": "util-linux",
    "taskset": "util-linux",
    "cc": "gcc",
    "mpicc.mpich": "libmpich-dev",
    "mpicc.openmpi": "libopenmpi-dev",
    "mpirun.openmpi": "openmpi-bin",
    "mpicc.lam": "lam4-dev",
    "lamboot": "lam-runtime",
    "pvm": "pvm",
    "aimk": "pvm-dev",
}
_LEAST_PYTHON = (3, 11)


@dataclass(frozen=True)
class Finding:
    """One requirement: what it is, whether it is there, what was seen, and what mends it.

    `needed` is False for what only some use needs: its absence fails nothing.
    """

    what: str
    found: bool
    seen: str
    remedy: str
    needed: bool = True


def everywhere_findings() -> Iterator[Finding]:
    """The requirements of this machine at any site."""
    version = ".".join(map(str, sys.version_info[:3]))
    right = sys.version_info >= _LEAST_PYTHON
    yield Finding("Python", right, version, "make setup PYTHON=… with Python 3.11 or later")
    for program, source in _EVERYWHERE.items():
        where = _which(program)
        remedy = f"ask the site for {source}, or install it"
        yield Finding(program, where is not None, where or "", remedy)


def virtual_findings(*, needed: bool = True) -> Iterator[Finding]:
    """What this machine needs to host a virtual cluster."""
    found = [*_virtual_programs(), *_virtual_rights()]
    yield from (replace(finding, needed=needed) for finding in found)


def machine_findings() -> Iterator[Finding]:
    """What every site needs, and what a virtual cluster needs."""
    yield from everywhere_findings()
    yield from virtual_findings()


def _which(program: str) -> str | None:
    """Where a program is; administrators' folders are often missing in PATH."""
    return shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def _virtual_programs() -> Iterator[Finding]:
    for program, package in _PROGRAMS.items():
        where = _which(program)
        yield Finding(program, where is not None, where or "", f"apt-get install {package}")
    found = "libopenblas.so" in output_of([_which("ldconfig") or "ldconfig", "-p"])
    yield Finding("OpenBLAS", found, "ldconfig knows it" * found, "apt-get install libopenblas-dev")
    archives = sorted(str(path) for path in (ROOT / "build/sources").glob("hpcc[_-]*.tar.gz"))
    yield Finding("HPL's source", bool(archives), "".join(archives[:1]), "make hpl-source")


def _virtual_rights() -> Iterator[Finding]:
    uid = os.geteuid()
    yield Finding("rights for a virtual cluster", uid == 0, f"uid {uid}", "run with sudo")
    interpreter = Path(os.path.realpath(ROOT / ".venv" / "bin" / "python"))
    closed = [str(path) for path in [*interpreter.parents, interpreter] if not _open_to_all(path)]
    remedy = "rm -r .venv && make setup (with a system interpreter, e.g. PYTHON=/usr/bin/python3)"
    seen = f"closed to others: {closed[0]}" if closed else str(interpreter)
    yield Finding("Python that an ordinary user can execute", not closed, seen, remedy)


def _open_to_all(path: Path) -> bool:
    try:
        return bool(path.stat().st_mode & 0o001)
    except OSError:
        return False


def render(findings: Iterable[Finding]) -> str:
    """For people: a line a requirement, the remedy where one is not there."""
    lines = []
    for finding in findings:
        if finding.found:
            lines.append(f"found    {finding.what}: {finding.seen}")
        else:
            detail = f" ({finding.seen})" if finding.seen else ""
            word = "MISSING" if finding.needed else "absent "
            lines.append(f"{word}  {finding.what}{detail}: {finding.remedy}")
    return "\n".join(lines)
