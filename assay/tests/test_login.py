# SPDX-License-Identifier: Apache-2.0
"""Commands and jobs of a site begin with what its system gives a login shell, from any shell; an
MPI is found in the modules of a real module system, flat or in a hierarchy of compilers."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from assay import commands
from assay.commands import libraries_of_python, loaded_modules, login_environment
from assay.onboarding.mpi import find_mpis, modules_system
from assay.tests.campaign_texts import site_of_mpich
from setup.tests.needs import needs

INIT = Path("/usr/share/lmod/lmod/init/bash")
needs_lmod = pytest.mark.skipif(not INIT.exists(), reason="needs lmod: make packages, as root")
#: What a user's shell may hold: a compiler's module, another MPI, settings of MPI libraries.
POLLUTED = {
    "LOADEDMODULES": "compiler/gcc-12",
    "LD_LIBRARY_PATH": "/opt/other-mpi/lib",
    "CPATH": "/opt/other-mpi/include",
    "OMPI_MCA_btl": "self",
    "UCX_TLS": "tcp",
    "PMI_RANK": "7",
    "SLURM_CPU_BIND": "none",
    "SBATCH_EXPORT": "NONE",
    "BASH_FUNC_module%%": "() { false; }",
    "BASH_ENV": "/nowhere",
    "LANG": "de_DE.UTF-8",
}
_SHOW = (
    "import json; from assay.commands import login_environment as found; print(json.dumps(found()))"
)


@pytest.fixture
def profile(tmp_path, monkeypatch):
    """Gives a function that writes what login shells of the system read."""
    file = tmp_path / "profile"
    monkeypatch.setattr(commands, "PROFILE", str(file))
    return file.write_text


def begins_with(**variables):
    return json.loads(subprocess.check_output([sys.executable, "-c", _SHOW], env=variables))


def test_a_polluted_shell_and_cron_give_the_same():
    of_both = {"HOME": os.environ.get("HOME", "/"), "TZ": "Pacific/Chatham"}
    shell = begins_with(**{**os.environ, **POLLUTED, **of_both})
    assert shell == begins_with(**of_both, PATH="/usr/bin:/bin")


def test_modules_loaded_at_login_are_kept(profile):
    exports = {"LOADEDMODULES": "PrgEnv/8:craype-x86", "X": "a\nb"}
    told = " ".join(f"{name}='{value}'" for name, value in exports.items())
    profile(f"module() {{ :; }}; export -f module; export {told}\n")
    assert exports.items() <= login_environment().items()
    assert "BASH_FUNC_module%%" in login_environment()


@needs_lmod
def test_a_sticky_default_module_stays_and_the_callers_does_not(profile, tmp_path, monkeypatch):
    modules = tmp_path / "modules"
    for name, text in {"StdEnv": 'add_property("lmod", "sticky")', "mpich": "", "own": ""}.items():
        (modules / name).mkdir(parents=True)
        (modules / name / "1.lua").write_text(f'{text}\nsetenv("HAS_{name}", "yes")\n')
    profile(f"export MODULEPATH={modules}; . {INIT}; module load StdEnv\n")
    monkeypatch.setenv("LOADEDMODULES", "own/1")
    monkeypatch.setenv("HAS_own", "yes")
    assert loaded_modules(login_environment()) == ["StdEnv/1"]
    site = site_of_mpich({"modules": ["mpich"], "variables": {}}, modules_system="lmod")
    shown = site.output_in("mpich", 'echo "$LOADEDMODULES ${!HAS_*}"')
    assert shown == "StdEnv/1:mpich/1 HAS_StdEnv HAS_mpich"


@pytest.mark.parametrize("ending", ["exit 3", "set -eu; false", "return 1", "cd /tmp; unset HOME"])
def test_a_profile_that_ends_early_gives_what_it_had_set(profile, ending):
    profile(f"export SCRATCH=/scratch PATH=/opt/site/bin:$PATH\n{ending}\nexport LATE=1\n")
    found = login_environment()
    assert found["SCRATCH"] == "/scratch"
    assert found["PATH"].startswith("/opt/site/bin:/usr/local/bin:/usr/bin:/bin")
    assert {"HOME", "USER", "LOGNAME", "SHELL"} <= found.keys()


def test_a_variable_that_the_file_names_comes_from_the_caller_and_no_other(profile, monkeypatch):
    profile("export SCRATCH=/of/the/system\n")
    for name, value in {**POLLUTED, "SCRATCH": "/mine", "MINE": "1", "OTHER": "2"}.items():
        monkeypatch.setenv(name, value)
    prepare = ["export LD_LIBRARY_PATH=$HOME/lib:$LD_LIBRARY_PATH", "echo $MINE $SLURM_CPU_BIND"]
    given = site_of_mpich({"prepare": prepare}, work_dir="${SCRATCH}/assay").variables()
    assert (given["SCRATCH"], given["MINE"]) == ("/mine", "1")
    assert not given.keys() & {"OTHER", *POLLUTED}


def test_the_interpreters_libraries_are_passed_on_only_where_it_needs_them(tmp_path, monkeypatch):
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/other-mpi/lib")
    libraries_of_python.cache_clear()
    assert libraries_of_python() == {}
    (tmp_path / "python").write_text('#!/bin/sh\n[ -n "$LD_LIBRARY_PATH" ]\n')
    (tmp_path / "python").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    libraries_of_python.cache_clear()
    assert libraries_of_python() == {"LD_LIBRARY_PATH": "/opt/other-mpi/lib"}
    libraries_of_python.cache_clear()


TMOD = Path("/usr/share/modules/init/bash").exists()
FAMILIES = ("mpich", "openmpi")
#: What shells, module systems and the libraries' launchers need of /usr/bin.
TOOLS = (
    *("bash", "sh", "env", "cat", "sed", "grep", "tr", "head", "ls", "id", "ps", "expr", "tty"),
    *("hostname", "uname", "dirname", "basename", "readlink", "gcc", "sort", "which", "sbatch"),
)
needs_mpis = needs("gcc", *(f"mpirun.{family}" for family in FAMILIES))


@pytest.fixture
def site(profile, tmp_path):
    """A login node without an MPI in PATH; gives the folder for modules, and that of the MPIs."""
    (tmp_path / "usr").mkdir()
    for tool in filter(shutil.which, TOOLS):
        (tmp_path / "usr" / tool).symlink_to(shutil.which(tool))
    for family in FAMILIES:
        (tmp_path / "opt" / family).mkdir(parents=True)
        for name in ("mpicc", "mpirun", "mpiexec"):
            (tmp_path / "opt" / family / name).symlink_to(shutil.which(f"{name}.{family}"))
    profile(f"export PATH={tmp_path}/usr MODULEPATH={tmp_path}/modules\n")
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
@needs_mpis
def test_lmod_with_a_hierarchy_of_compilers(site):
    modules, opt = site
    for compiler, families in {"gcc/12": FAMILIES, "intel/2023": ("mpich",)}.items():
        below = modules.parent / "below" / compiler
        write(modules / f"{compiler}.lua", f'prepend_path("MODULEPATH", "{below}")\n')
        lua(below, opt, **{f"{family}_4_0": 'family("mpi")' for family in families})
    assert modules_system() == "lmod"
    ways, failed = ways_of("lmod")
    assert ways == {"mpich": ("gcc/12", "mpich/4.0"), "openmpi": ("gcc/12", "openmpi/4.0")}
    assert failed == {}


@pytest.mark.full
@needs_lmod
@needs_mpis
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
@needs_mpis
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
@needs_mpis
def test_a_module_that_excludes_what_it_needs_is_left_with_the_reason(site):
    lua(*site, gcc_12="", mpich_4_0="conflict('gcc')\nprereq('gcc/12')")
    ways, failed = ways_of("lmod")
    assert ways == {}
    assert failed["mpich/4.0"].startswith("gcc/12 mpich/4.0: ")
    assert "are loaded" in failed["mpich/4.0"]


@pytest.mark.skipif(INIT.exists() or not TMOD, reason="needs environment-modules, no lmod")
@needs_mpis
def test_environment_modules(site):
    modules, opt = site
    for family in FAMILIES:
        write(modules / family / "4.0", f"#%Module1.0\nprepend-path PATH {opt / family}\n")
    write(modules / "mpich" / "broken", "#%Module1.0\nerror nothing\n")
    assert modules_system() == "tmod4"
    assert ways_of("tmod4")[0] == {"mpich": ("mpich/4.0",), "openmpi": ("openmpi/4.0",)}
