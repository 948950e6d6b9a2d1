# SPDX-License-Identifier: Apache-2.0
"""Requirements of Assay on a machine: found or missing, with the command that installs each.

The programs of a virtual cluster are in `setup/packages.txt`, each after the package that has it.
Those of a package with "?" are optional, and not mentioned where the release of Debian has none.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from typing import Annotated

from assay import BASE, ROOT, setup_command
from assay.commands import output_of
from records.forms import Form, Part, key
from virtual_cluster import namespaces

#: Programs that every site needs where Assay is called → what has them.
_EVERYWHERE = {
    "make": "make",
    "bash": "bash",
    "tar": "tar",
    "setpriv": "util-linux 2.24 or later",
}
#: Lines of a Debian package and the programs that a virtual cluster needs of it.
PACKAGES = ROOT / "setup" / "packages.txt"
_LEAST_PYTHON = (3, 11)
#: By it a virtual cluster keeps cores awake; without it messages take longer.
_LATENCY = "/dev/cpu_dma_latency"
_LATENCY_REMEDY = (
    f"sudo chmod o+w {_LATENCY}, until the next start, or for good a rule of udev:"
    ' KERNEL=="cpu_dma_latency", MODE="0666"; else messages in a virtual cluster take longer'
)


class Requirement(Part):
    """Requirement on a machine, found or missing."""

    what: Annotated[str, key("Name of the requirement.")]
    found: Annotated[bool, key("True if it is there.")]
    seen: Annotated[str, key("Evidence that was seen of it.")]
    remedy: Annotated[str, key("The command that fixes it.")]
    needed: Annotated[
        bool, key("False: only some use needs it, and its absence fails nothing.")
    ] = True


class DoctorForm(Form, kw_only=True):
    """`assay doctor`: requirements, found or missing."""

    findings: Annotated[list[Requirement], key("Every requirement.")]


def site_machine() -> Iterator[Requirement]:
    """Requirements on this machine at any site."""
    version = ".".join(map(str, sys.version_info[:3]))
    right = sys.version_info >= _LEAST_PYTHON
    yield Requirement("Python", right, version, "make setup PYTHON=… with Python 3.11 or later")
    for program, source in _EVERYWHERE.items():
        yield _program(program, f"ask the site for {source}, or install it")


def cluster_machine(*, needed: bool = True) -> Iterator[Requirement]:
    """Requirements on this machine to host a virtual cluster, besides those at any site."""
    for line in PACKAGES.read_text().splitlines():
        name, *programs = line.partition("#")[0].split() or [""]
        package, in_every_release = name.rstrip("?"), not name.endswith("?")
        for program in programs:
            required = needed and in_every_release
            one = _program(program, f"apt-get install {package}", needed=required)
            if one.found or in_every_release or output_of(["apt-cache", "madison", package]):
                yield one
    has_blas = "libopenblas.so" in output_of([_path_of("ldconfig") or "ldconfig", "-p"])
    refusal = namespaces.refusal() if _path_of("unshare") else "apt-get install util-linux"
    archives = sorted(str(path) for path in (BASE / "build/sources").glob("hpcc[_-]*.tar.gz"))
    source, remedy = "".join(archives[:1]), setup_command("hpl-source")
    yield Requirement("HPL's source, for check hpl", bool(archives), source, remedy, needed=False)
    for what, found, seen, remedy in (
        ("OpenBLAS", has_blas, "ldconfig knows it" * has_blas, "apt-get install libopenblas-dev"),
        ("namespaces for a virtual cluster", not refusal, "tried", refusal),
    ):
        yield Requirement(what, found, seen, remedy, needed)
    awake = os.access(_LATENCY, os.W_OK)
    what = "request that cores stay awake"
    yield Requirement(what, awake, _LATENCY, _LATENCY_REMEDY, needed=False)


def _program(program: str, remedy: str, *, needed: bool = True) -> Requirement:
    where = _path_of(program)
    return Requirement(program, where is not None, where or "", remedy, needed)


def _path_of(program: str) -> str | None:
    """Where a program is; administrators' folders are often missing in PATH."""
    return shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
