# SPDX-License-Identifier: Apache-2.0
"""`assay doctor`: each requirement, found or missing, with the command that mends it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from assay.sites.loading import load_site
from records.errors import AssayError

_ROOT = Path(__file__).resolve().parent.parent

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


def examine(site_name: str | None) -> list[Finding]:
    """Look at this machine, and at a site when one is named."""
    findings = [*_programs(), _blas(), _hpl_source(), _rights(), _python()]
    return [*findings, *_site(site_name)] if site_name else findings


def _programs() -> Iterator[Finding]:
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    for program, package in _PROGRAMS.items():
        where = shutil.which(program, path=path)
        yield Finding(program, where is not None, where or "", f"apt-get install {package}")


def _blas() -> Finding:
    answer = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=False)
    found = "libopenblas.so" in answer.stdout
    return Finding("OpenBLAS", found, "ldconfig knows it", "apt-get install libopenblas-dev")


def _hpl_source() -> Finding:
    archives = sorted((_ROOT / "build" / "sources").glob("hpcc_*.orig.tar.gz"))
    seen = str(archives[0]) if archives else ""
    return Finding("HPL's source (in HPCC)", bool(archives), seen, "make setup")


def _rights() -> Finding:
    root = os.geteuid() == 0
    return Finding("rights for a virtual cluster", root, f"uid {os.geteuid()}", "run with sudo")


def _python() -> Finding:
    interpreter = Path(os.path.realpath(_ROOT / ".venv" / "bin" / "python"))
    closed = [str(p) for p in [*interpreter.parents, interpreter] if not _open_to_all(p)]
    remedy = "rm -r .venv && make setup (with a system interpreter, e.g. PYTHON=/usr/bin/python3)"
    seen = f"closed to others: {closed[0]}" if closed else str(interpreter)
    return Finding("Python that an ordinary user can execute", not closed, seen, remedy)


def _open_to_all(path: Path) -> bool:
    return path.exists() and bool(path.stat().st_mode & 0o001)


def _site(site_name: str) -> Iterator[Finding]:
    try:
        site = load_site(site_name)
    except AssayError as error:
        yield Finding(f"site {site_name}", False, str(error), "assay cluster up")
        return
    facts = site.facts()
    yield Finding(f"site {site_name}", True, f"{facts.nodes} nodes", "")
    for name, environment in site.description.environments.items():
        where = shutil.which(environment.compiler)
        if environment.spack_view and where is None:
            # Nobody needs it who does not ask for it: no fault of the machine.
            seen = f"not built by Spack; assay build --site {site.name} does it"
            yield Finding(f"environment {name}", True, seen, "")
            continue
        packages = " ".join(environment.packages)
        remedy = f"apt-get install {packages}" if packages else "see the site's site.yaml"
        yield Finding(f"environment {name}", where is not None, where or "", remedy)


def render(findings: list[Finding]) -> str:
    """For people: a line a requirement, the remedy where one is missing."""
    lines = []
    for finding in findings:
        if finding.found:
            lines.append(f"found    {finding.what}: {finding.seen}")
        else:
            detail = f" ({finding.seen})" if finding.seen else ""
            lines.append(f"MISSING  {finding.what}{detail}: {finding.remedy}")
    return "\n".join(lines)
