# SPDX-License-Identifier: Apache-2.0
"""An MPI is found in the modules of a real module system, flat or in a hierarchy of compilers."""

import os
import shutil
from pathlib import Path

import pytest

from assay.onboarding.modules import chosen, find_mpi, modules_system

LMOD = Path("/usr/share/lmod/lmod/init/bash").exists()
TMOD = Path("/usr/share/modules/init/bash").exists()
FAMILIES = ("mpich", "openmpi")
#: What shells, module systems and the libraries' launchers need of /usr/bin.
TOOLS = (
    *("bash", "sh", "env", "cat", "sed", "grep", "tr", "head", "ls", "id", "ps", "expr", "tty"),
    *("hostname", "uname", "dirname", "basename", "readlink", "gcc", "sort", "which"),
)
pytestmark = pytest.mark.skipif(
    not all(shutil.which(f"mpirun.{family}") for family in FAMILIES),
    reason="needs mpich and openmpi: make packages",
)


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A login node without an MPI in PATH; gives the folder for modules, and that of the MPIs."""
    (tmp_path / "usr").mkdir()
    for tool in filter(shutil.which, TOOLS):
        (tmp_path / "usr" / tool).symlink_to(shutil.which(tool))
    for family in FAMILIES:
        (tmp_path / "opt" / family).mkdir(parents=True)
        for name in ("mpicc", "mpirun", "mpiexec"):
            program = shutil.which(f"{name}.{family}")
            (tmp_path / "opt" / family / name).symlink_to(program)
    for name in [name for name in os.environ if name.startswith(("LMOD", "MODULE", "_LM"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PATH", str(tmp_path / "usr"))
    monkeypatch.setenv("MODULEPATH", str(tmp_path / "modules"))
    return tmp_path / "modules", tmp_path / "opt"


def write(file, text):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@pytest.mark.skipif(not LMOD, reason="needs the package lmod")
def test_lmod_with_a_hierarchy_of_compilers(site):
    modules, opt = site
    for compiler, families in {"gcc/12": FAMILIES, "intel/2023": ("mpich",)}.items():
        below = modules.parent / "below" / compiler
        write(modules / f"{compiler}.lua", f'prepend_path("MODULEPATH", "{below}")\n')
        for family in families:
            text = f'family("mpi")\nprepend_path("PATH", "{opt / family}")\n'
            write(below / family / "4.0.lua", text)
    assert modules_system() == "lmod"
    found = chosen(find_mpi("lmod", print))
    assert {name: one.modules for name, one in found.items()} == {
        "mpich-gcc": ("gcc/12", "mpich/4.0"),
        "mpich-intel": ("intel/2023", "mpich/4.0"),
        "openmpi": ("gcc/12", "openmpi/4.0"),
    }
    assert found["openmpi"].launchers == ("mpirun", "mpiexec")


@pytest.mark.skipif(LMOD or not TMOD, reason="needs environment-modules, with which lmod conflicts")
def test_environment_modules(site):
    modules, opt = site
    for family in FAMILIES:
        write(modules / family / "4.0", f"#%Module1.0\nprepend-path PATH {opt / family}\n")
    write(modules / "mpich" / "broken", "#%Module1.0\nerror nothing\n")
    assert modules_system() == "tmod4"
    found = chosen(find_mpi("tmod4", print))
    assert {name: one.modules for name, one in found.items()} == {
        "mpich": ("mpich/4.0",),
        "openmpi": ("openmpi/4.0",),
    }
