# SPDX-License-Identifier: Apache-2.0
"""Commands and jobs of a site begin with what its system gives a login shell, from any shell."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay import commands
from assay.commands import libraries_of_python, loaded_modules, login_environment
from assay.sites.loading import SlurmSite
from assay.sites.site_file import chosen, read_site_file

INIT = Path("/usr/share/lmod/lmod/init/bash")
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


@pytest.mark.skipif(not INIT.exists(), reason="needs lmod: make packages, as root")
def test_a_sticky_default_module_stays_and_the_callers_does_not(profile, tmp_path, monkeypatch):
    modules = tmp_path / "modules"
    for name, text in {"StdEnv": 'add_property("lmod", "sticky")', "mpich": "", "own": ""}.items():
        (modules / name).mkdir(parents=True)
        (modules / name / "1.lua").write_text(f'{text}\nsetenv("HAS_{name}", "yes")\n')
    profile(f"export MODULEPATH={modules}; . {INIT}; module load StdEnv\n")
    monkeypatch.setenv("LOADEDMODULES", "own/1")
    monkeypatch.setenv("HAS_own", "yes")
    assert loaded_modules(login_environment()) == ["StdEnv/1"]
    described = chosen(read_site_file("virtual"))
    name, one = next(iter(described.environments.items()))
    changed = one.model_copy(update={"modules": ["mpich"], "variables": {}})
    update = {"modules_system": "lmod", "environments": {name: changed}}
    site = SlurmSite(described.model_copy(update=update))
    shown = site.output_in(name, 'echo "$LOADEDMODULES ${!HAS_*}"')
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
    described = chosen(read_site_file("virtual"))
    name, one = next(iter(described.environments.items()))
    prepare = ["export LD_LIBRARY_PATH=$HOME/lib:$LD_LIBRARY_PATH", "echo $MINE $SLURM_CPU_BIND"]
    changed = one.model_copy(update={"prepare": prepare})
    update = {"work_dir": "${SCRATCH}/assay", "environments": {name: changed}}
    given = SlurmSite(described.model_copy(update=update)).variables()
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
