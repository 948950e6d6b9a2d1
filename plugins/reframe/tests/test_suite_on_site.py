# SPDX-License-Identifier: Apache-2.0
"""`assay reframe suite`: the classes of a suite, and which of them a site can run."""

from pathlib import Path
from typing import Any

import pytest

from assay.tests.published_forms import published
from plugins.reframe.listing import Surroundings, configuration_for
from plugins.reframe.suite_cases import SuiteForm, suite_form
from plugins.reframe.tests.test_listing import TEST
from plugins.reframe.tests.test_suites_on_cluster import TUTORIAL

LONG: dict[str, Any] = {"name": "long", "features": ["cpu"], "extras": {"cores": 8, "share": 0.5}}
LONG |= {"processor": {"num_cpus": 8}}
LONG |= {"resources": [{"name": "gpu", "options": ["--gres=gpu:{count}"]}]}
SITE = configuration_for("island", LONG, {"mpich": ["mpi"], "openmpi": ["mpi", "openmp"]})
#: What Lmod prints: its version, or modules, on standard error, and Python.
LMOD = """#!/bin/sh
case "$*" in
    --version) echo "Version 8.6.1" >&2 ;;
    *avail*) echo "_mlstatus = True"; printf "/tree:\nlammps/2022\n" >&2 ;;
esac
"""


def listed(folder: Path, file: str, text: str, **how: Any) -> SuiteForm:
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return suite_form(folder, Surroundings(**{"configuration": SITE, **how}), "island")


def refused(form: SuiteForm) -> str:
    """The reason of the only file that is refused."""
    (reason,) = (one.refused for one in form.files if one.refused)
    return reason


def test_reframe_s_module_system_is_asked_in_the_child(tmp_path: Path) -> None:
    text = """
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
    (tmp_path / "suite_modules/utils.py").touch()
    form = listed(tmp_path, "apps/hpl.py", f"import suite_modules.utils\n{TEST}")
    assert [one.path for one in form.files if one.classes] == [[str(tmp_path)]]
    said = refused(listed(tmp_path, "apps/hpl.py", f"import not_there.utils\n{TEST}"))
    assert "--env PYTHONPATH=DIR," in said


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
    (["daint:gpu", "+uenv"], ["*"], []),
]


def test_a_class_fits_as_reframe_matches(tmp_path: Path) -> None:
    tests = [
        f"@rfm.simple_test\nclass T{number}(rfm.RunOnlyRegressionTest):\n"
        f"    valid_systems, valid_prog_environs = {systems}, {environs}\n"
        for number, (systems, environs, _) in enumerate([*ASKED, (["*"], ["default"], [])])
    ]
    tests += ["@rfm.simple_test\nclass Open(rfm.RunOnlyRegressionTest):\n    pass\n"]
    text = f"import reframe as rfm\n{''.join(tests)}"
    *matched, mapped, left_open = listed(tmp_path, "many.py", text).classes
    assert [one.environments for one in matched] == [accepted for *_, accepted in ASKED]
    assert all(bool(one.reason) == (not one.environments) for one in matched)
    asked, has = matched[-1].reason.split("; ")
    assert asked == "asks for system daint:gpu or +uenv"
    assert has == "island:long has cores, cpu, gpu, remote, scontrol, share"
    assert (mapped.environments, mapped.mappable, mapped.reason) == ([], ["default"], "")
    assert (left_open.environments, left_open.reason) == (["mpich", "openmpi"], "")


def test_reframe_s_own_tutorial_is_listed() -> None:
    """It comes with ReFrame's package; many of its tests have one name."""
    form = suite_form(Path(TUTORIAL), Surroundings(configuration=SITE), None)
    assert len(form.classes) == 37
    assert [Path(one.file).name for one in form.files if one.refused] == ["stream_workflows.py"]


SUITE = """
import os
import reframe as rfm

@rfm.simple_test
class Island(rfm.RunOnlyRegressionTest):
    valid_systems = ['*']
    valid_prog_environs = ['+mpi']
    scratch = os.environ['SCRATCH']

@rfm.simple_test
class Remote(Island):
    valid_systems = ['daint:gpu']
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "island.py").write_text(SUITE)
    (tmp_path / "exits.py").write_text("import reframe, os; os._exit(3)")
    return tmp_path


def test_a_suite_is_listed_with_what_the_site_can_run(said, files):
    words = ("reframe", "suite", str(files), "--site", "virtual")
    text = said(1, *words)
    assert "exits.py refused: ends the process that loads it, with status 3" in text
    assert "give it with --env SCRATCH=VALUE" in text
    assert "2 files, 2 refused; 0 classes, 0 run here" in text
    text = said(0, *words, "--env", "SCRATCH=/scratch")
    assert "Island: run, 1 variant; runs here in mpich, mpich-hydra," in text
    assert "Remote: run, 1 variant; not here: asks for system daint:gpu; virtual:all has" in text
    assert "2 files, 1 refused; 2 classes, 1 run here" in text


def test_a_suite_is_listed_for_no_site(said, files):
    words = ("reframe", "suite", str(files / "island.py"), "--env", "SCRATCH=/scratch")
    told = "Remote: run, 1 variant; asks for systems daint:gpu; environments +mpi"
    assert told in said(0, *words)
    found = published("reframe-suite", said(0, *words, "--json"))
    assert [one["name"] for one in found["classes"]] == ["Island", "Remote"]
    assert found["files"][0]["classes"][1]["variants"][0]["valid_systems"] == ["daint:gpu"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("/nonexistent",), "/nonexistent: no such file"),
        (("/", "--env", "SCRATCH"), "allowed is NAME=VALUE"),
    ],
)
def test_a_wrong_suite_is_refused(said, words, told):
    assert told in said(2, "reframe", "suite", *words)
