# SPDX-License-Identifier: Apache-2.0
"""Traps for a stranger who lists a suite: four styles, each trap with its reason."""

from __future__ import annotations

import sysconfig
from pathlib import Path
from typing import Any

from plugins.reframe.listing import Surroundings, configuration_for
from plugins.reframe.suite_cases import SuiteForm, suite_form
from plugins.reframe.tests.test_listing import TEST

LONG: dict[str, Any] = {"name": "long", "features": ["cpu"], "extras": {"cores": 8, "share": 0.5}}
LONG |= {"processor": {"num_cpus": 8}}
LONG |= {"resources": [{"name": "gpu", "options": ["--gres=gpu:{count}"]}]}
SITE = configuration_for("island", LONG, {"mpich": ["mpi"], "openmpi": ["mpi", "openmp"]})
HEAD = "import reframe as rfm\nfrom reframe.core.builtins import *\n"
#: The four styles of reframe suites: a library class, a site's test, a mixin with modules, Spack.
LIBRARY = f"""{HEAD}
class fetch(rfm.RunOnlyRegressionTest):
    executable = 'true'
    @sanity_function
    def right(self): return True

class build(rfm.CompileOnlyRegressionTest):
    sources = fixture(fetch, scope='session')

@rfm.simple_test
class bench(rfm.RunOnlyRegressionTest):
    benchmark_info = parameter([('allreduce', 'latency'), ('bw', 'bandwidth')])
    binaries = fixture(build, scope='environment')
    num_tasks = required
"""
SITES_OWN = f"""
import os, sys, pathlib
sys.path.append(str(pathlib.Path(__file__).parent.parent / 'mixins'))
from extra import Extra
{HEAD}
@rfm.simple_test
class Own(Extra):
    valid_systems = ['daint:gpu', '+uenv']
    valid_prog_environs = ['PrgEnv-gnu']
    scratch = variable(str, value=os.environ['SCRATCH'])
    num_tasks = 0
"""
EXTRA = f"{HEAD}\nclass Extra(rfm.RunOnlyRegressionTest):\n    executable = 'hostname'\n"
MODULES = f"""
import subprocess
{HEAD}
found = subprocess.run(
    ['bash', '-c', 'module -t avail 2>&1'], capture_output=True, text=True
).stdout.split()
if not found or 'not' in found:
    raise ValueError('No available modules found on the system')

@rfm.simple_test
class WithModule(rfm.RunOnlyRegressionTest):
    module_name = parameter(found)
    valid_systems = ['*']
    valid_prog_environs = ['default']
    executable = 'lmp'
    @run_after('init')
    def load(self): self.modules = [self.module_name]
"""
MODULE_FUNCTION = {"BASH_FUNC_module%%": "() { echo lammps/2022; }"}
#: What Lmod prints: its version, or modules, on standard error, and Python.
LMOD = """#!/bin/sh
case "$*" in
    --version) echo "Version 8.6.1" >&2 ;;
    *avail*) echo "_mlstatus = True"; printf "/tree:\nlammps/2022\n" >&2 ;;
esac
"""
SPACK = f"""
import subprocess
{HEAD}
from suite_modules.utils import SpackTest
nodes = subprocess.run(['sinfo', '-o', '%c'], capture_output=True, text=True).stdout
cores = int(nodes.splitlines()[1])
@rfm.simple_test
class Hpl(SpackTest):
    spack_spec = 'hpl'
"""


def listed(folder: Path, file: str, text: str, **how: Any) -> SuiteForm:
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return suite_form(folder, Surroundings(**{"configuration": SITE, **how}), "island")


def test_a_library_class_leaves_systems_to_the_campaign(tmp_path: Path) -> None:
    form = listed(tmp_path, "bench.py", LIBRARY)
    (cls,) = form.files[0].classes
    assert [variant.refused for variant in cls.variants] == ["", ""]
    assert (cls.variants[0].valid_systems, cls.variants[0].valid_prog_environs) == (None, None)
    assert cls.variants[1].parameters == {"benchmark_info": ["bw", "bandwidth"]}
    assert [(one.name, one.test_class, one.kind) for one in cls.fixtures] == [
        ("binaries", "build", "compile"),
        ("binaries.sources", "fetch", "run"),
    ]
    assert [variable.name for variable in cls.variables if variable.required] == ["num_tasks"]
    assert (form.classes[0].environments, form.classes[0].reason) == (["mpich", "openmpi"], "")


def refused(form: SuiteForm) -> str:
    """The reason of the only file that is refused."""
    (reason,) = (one.refused for one in form.files if one.refused)
    return reason


def test_a_missing_variable_is_named_and_can_be_given(tmp_path: Path) -> None:
    (tmp_path / "mixins").mkdir()
    (tmp_path / "mixins" / "extra.py").write_text(EXTRA)
    said = refused(listed(tmp_path, "checks/own.py", SITES_OWN))
    assert "needs the environment variable SCRATCH" in said
    assert "own.py:12" in said
    assert "--env SCRATCH=VALUE" in said
    form = listed(tmp_path, "checks/own.py", SITES_OWN, environment={"SCRATCH": "/scratch"})
    (own,) = [one for one in form.files if one.classes]
    assert own.classes[0].variants[0].num_tasks == 0
    assert [v.value for v in own.classes[0].variables if v.name == "scratch"] == ["/scratch"]
    asked, has = form.classes[0].reason.split("; ")
    assert asked == "asks for system daint:gpu or +uenv"
    assert has == "island:long has cores, cpu, gpu, remote, scontrol, share"


def test_a_variant_that_would_end_reframe_is_refused_alone(tmp_path: Path) -> None:
    text = f"""{TEST}
from reframe.core.exceptions import ReframeFatalError
@rfm.simple_test
class Fatal(Plain):
    @run_after('init')
    def ends_reframe(self):
        raise ReframeFatalError('unfit')
"""
    plain, fatal = listed(tmp_path, "fatal.py", text).files[0].classes
    assert plain.variants[0].refused == ""
    assert fatal.variants[0].refused.startswith("ReframeFatalError: unfit")


def test_a_missing_module_tree_is_the_file_s_own_reason(tmp_path: Path) -> None:
    said = refused(listed(tmp_path, "lammps.py", MODULES))
    assert "No available modules found on the system" in said
    form = listed(tmp_path, "lammps.py", MODULES, environment=MODULE_FUNCTION)
    assert form.files[0].classes[0].variants[0].modules == ["lammps/2022"]
    assert form.classes[0].mappable == ["default"]
    assert (form.classes[0].environments, form.classes[0].reason) == ([], "")


def test_reframe_s_module_system_is_asked_in_the_child(tmp_path: Path) -> None:
    text = f"""{HEAD}
import reframe.core.runtime as rt
found = [str(one) for one in rt.runtime().modules_system.available_modules('')]
""" + TEST.replace("valid_systems", "modules = found\n    valid_systems", 1)
    lmod = tmp_path / "lmod"
    lmod.write_text(LMOD)
    lmod.chmod(0o755)
    site = configuration_for("island", {"name": "long"}, {"mpich": []}, modules_system="lmod")
    there = {"LMOD_CMD": str(lmod)}
    form = listed(tmp_path, "file.py", text, configuration=site, environment=there)
    assert form.files[0].classes[0].variants[0].modules == ["lammps/2022"]
    assert "LMOD_CMD" in refused(listed(tmp_path, "file.py", text, configuration=site))


def test_a_package_of_the_suite_is_found(tmp_path: Path) -> None:
    (tmp_path / "suite_modules").mkdir()
    text = f"{HEAD}\nclass SpackTest(rfm.RegressionTest):\n    spack_spec = variable(str)\n"
    (tmp_path / "suite_modules/utils.py").write_text(text)
    form = listed(tmp_path, "apps/hpl.py", SPACK)
    assert "sinfo" in refused(form) or "IndexError" in refused(form)
    assert [one.path for one in form.files if one.refused] == [[str(tmp_path)]]
    further = SPACK.replace("suite_modules", "not_there")
    assert "--env PYTHONPATH=DIR," in refused(listed(tmp_path, "apps/hpl.py", further))


#: Systems and environments that are asked for, and environments that fit.
ASKED: list[tuple[list[str], list[str], list[str]]] = [
    (["*"], ["*"], ["mpich", "openmpi"]),
    (["island"], ["+mpi"], ["mpich", "openmpi"]),
    (["*:long"], ["+mpi -openmp"], ["mpich"]),
    (["+remote +cpu"], ["openmpi"], ["openmpi"]),
    (["%cores=8"], ["+openmp", "mpich"], ["mpich", "openmpi"]),
    *((systems, ["mpich"], ["mpich"]) for systems in (["%share=.5"], ["+gpu"])),
    *((systems, ["*"], []) for systems in (["%cores=9"], ["-cpu"], [], ["island:short"])),
    (["*"], [], []),
]


def test_a_class_fits_as_reframe_matches(tmp_path: Path) -> None:
    tests = [
        f"@rfm.simple_test\nclass T{number}(rfm.RunOnlyRegressionTest):\n"
        f"    valid_systems, valid_prog_environs = {systems}, {environs}\n"
        for number, (systems, environs, _) in enumerate(ASKED)
    ]
    form = listed(tmp_path, "many.py", f"{HEAD}{''.join(tests)}")
    assert [one.environments for one in form.classes] == [accepted for *_, accepted in ASKED]
    assert all(bool(one.reason) == (not one.environments) for one in form.classes)


def test_reframe_s_own_tutorial_is_listed() -> None:
    """It comes with ReFrame's package; many of its tests have one name."""
    tutorial = Path(sysconfig.get_path("data")) / "share/doc/reframe-hpc/examples/tutorial"
    form = suite_form(tutorial, Surroundings(configuration=SITE), None)
    assert len(form.classes) == 37
    assert [Path(one.file).name for one in form.files if one.refused] == ["stream_workflows.py"]
