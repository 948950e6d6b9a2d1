# SPDX-License-Identifier: Apache-2.0
"""An MPI is found in the modules of a real module system, flat or in a hierarchy of compilers."""

import shutil
from pathlib import Path

import pytest

from assay import commands
from assay.onboarding.mpi import find_mpis, modules_system
from setup.tests.needs import needs

LMOD = Path("/usr/share/lmod/lmod/init/bash").exists()
TMOD = Path("/usr/share/modules/init/bash").exists()
FAMILIES = ("mpich", "openmpi")
#: What shells, module systems and the libraries' launchers need of /usr/bin.
TOOLS = (
    *("bash", "sh", "env", "cat", "sed", "grep", "tr", "head", "ls", "id", "ps", "expr", "tty"),
    *("hostname", "uname", "dirname", "basename", "readlink", "gcc", "sort", "which", "sbatch"),
)
needs_lmod = pytest.mark.skipif(not LMOD, reason="needs lmod: make packages, as root")
pytestmark = needs("gcc", *(f"mpirun.{family}" for family in FAMILIES))


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
    profile = tmp_path / "profile"
    profile.write_text(f"export PATH={tmp_path}/usr MODULEPATH={tmp_path}/modules\n")
    monkeypatch.setattr(commands, "PROFILE", str(profile))
    return tmp_path / "modules", tmp_path / "opt"


def write(file, text):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def ways_of(system):
    """Modules of each environment, and the reasons of modules that bring none."""
    mpis, failed = find_mpis(system, print)
    return {name: mpi.modules for name, mpi in mpis.items()}, failed


def lua(modules, opt, **texts):
    """Lmod modules by name, `_` for `/`; those that bring an MPI begin with its family."""
    for name, text in texts.items():
        family, _, version = name.partition("_")
        brings = f'prepend_path("PATH", "{opt / family}")\n' if family in FAMILIES else ""
        write(modules / family / f"{version.replace('_', '.')}.lua", f"{text}\n{brings}")


@needs_lmod
def test_lmod_with_a_hierarchy_of_compilers(site):
    modules, opt = site
    for compiler, families in {"gcc/12": FAMILIES, "intel/2023": ("mpich",)}.items():
        below = modules.parent / "below" / compiler
        write(modules / f"{compiler}.lua", f'prepend_path("MODULEPATH", "{below}")\n')
        lua(below, opt, **{f"{family}_4_0": 'family("mpi")' for family in families})
    assert modules_system() == "lmod"
    ways, failed = ways_of("lmod")
    assert ways == {
        "mpich": ("gcc/12", "mpich/4.0"),
        "openmpi": ("gcc/12", "openmpi/4.0"),
    }
    assert failed == {}


@pytest.mark.full
@needs_lmod
def test_mpis_behind_prerequisites_several_levels_deep(site):
    lua(
        *site,
        stage_1="",
        compiler_gcc="prereq('stage/1')",
        compiler_intel="conflict('stage')",
        mpich_4_0="prereq('compiler/gcc', 'stage/1')",
        openmpi_4_1="prereq_any('compiler/gcc', 'compiler/intel')",
        mpich_5_0="prereq('no-such/1')",
    )
    ways, failed = ways_of("lmod")
    assert ways == {
        "mpich": ("stage/1", "compiler/gcc", "mpich/4.0"),
        "openmpi": ("stage/1", "compiler/gcc", "openmpi/4.1"),
    }
    assert "Cannot load module" in failed["mpich/5.0"]
    assert "no-such/1" in failed["mpich/5.0"]


@needs_lmod
def test_what_the_person_has_loaded_is_a_way(site, monkeypatch):
    text = "if not isloaded('site-tools') then LmodError('ask the help desk') end"
    lua(*site, mpich_4_0=text, gcc_12="")
    write(site[0] / "site-tools.lua", "")
    ways, failed = ways_of("lmod")
    assert ways == {}
    assert "ask the help desk" in failed["mpich/4.0"]
    monkeypatch.setenv("LOADEDMODULES", "site-tools:mpich/4.0")
    assert ways_of("lmod")[0] == {"mpich": ("site-tools", "mpich/4.0")}


@needs_lmod
def test_a_module_that_excludes_what_it_needs_is_left_with_the_reason(site):
    lua(*site, gcc_12="", mpich_4_0="conflict('gcc')\nprereq('gcc/12')")
    ways, failed = ways_of("lmod")
    assert ways == {}
    assert failed["mpich/4.0"].startswith("gcc/12 mpich/4.0: ")
    assert "are loaded" in failed["mpich/4.0"]


@pytest.mark.skipif(LMOD or not TMOD, reason="needs environment-modules, with which lmod conflicts")
def test_environment_modules(site):
    modules, opt = site
    for family in FAMILIES:
        write(modules / family / "4.0", f"#%Module1.0\nprepend-path PATH {opt / family}\n")
    write(modules / "mpich" / "broken", "#%Module1.0\nerror nothing\n")
    assert modules_system() == "tmod4"
    found = {"mpich": ("mpich/4.0",), "openmpi": ("openmpi/4.0",)}
    assert ways_of("tmod4")[0] == found
