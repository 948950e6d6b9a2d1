# SPDX-License-Identifier: Apache-2.0
"""`assay doctor` names what is missing and never crashes: no PATH, Slurm, modules or variables."""

import shutil
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest

from assay.cli.doctor import doctor_command, tell
from assay.onboarding.requirements import site_requirements
from assay.requirements import Requirement
from assay.sites import site_file
from assay.tests.published_forms import published
from setup.tests.needs import needs

ASSAY = str(Path(sys.executable).with_name("assay"))
SITE = """
schema: 2
name: plain
modules_system: lmod
module_init: /nowhere/init/bash
work_dir: {work_dir}
partitions:
  batch: {{nodes: 2, cores_per_node: 2, memory_bytes_per_node: 1000000000}}
environments:
  ours:
    description: an MPI
    compiler: cc
    launcher: assay-template
    launcher_command: env {{ranks}}
    library: "^x"
  lost:
    description: an MPI that is gone
    compiler: mpicc-of-nobody
    launcher: assay-srun
    modules: [{modules}]
    library: "^x"
"""


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A site of this name, its findings by what they are of."""
    monkeypatch.setattr(site_file, "SITES", tmp_path)
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("bash", "cc", "env", "hostname", "mkdir", "setpriv", "test"):
        (programs / name).symlink_to(str(shutil.which(name)))
    monkeypatch.setenv("PATH", str(programs))  # no Slurm there

    def findings(**told):
        (tmp_path / "plain").mkdir(exist_ok=True)
        text = SITE.format(**{"work_dir": str(tmp_path / "work"), "modules": "", **told})
        (tmp_path / "plain" / "site.yaml").write_text(text)
        return {finding.what: finding for finding in site_requirements("plain")}

    return findings


def test_without_path_and_variables_it_says_what_is_missing():
    command = [sys.executable, ASSAY, "doctor", "--json"]
    answer = subprocess.run(command, env={}, capture_output=True, check=False)
    assert answer.returncode == 4, answer.stderr
    found = {finding["what"]: finding for finding in published("doctor", answer.stdout)["findings"]}
    assert found["Python"]["found"]
    assert not found["mpicc.lam"]["needed"]


@pytest.mark.parametrize("use", ["needed by a virtual cluster only", "optional"])
def test_what_is_not_needed_fails_nothing_and_is_called_by_its_use(capsys, use):
    absent = Requirement("pvm", False, "", "apt-get install pvm", needed=False)
    assert tell([absent], optional=use) == 0
    assert " ".join(capsys.readouterr().out.split()) == (
        "absent pvm: apt-get install pvm"
        f" all there that a Slurm site needs; 1 absent, {use}: apt-get install pvm"
    )


def test_what_a_described_site_can_do_without_is_not_for_a_virtual_cluster(monkeypatch, capsys):
    optional = Requirement("HPL", False, "left out", "make hpl-source", needed=False)
    monkeypatch.setattr("assay.onboarding.requirements.site_requirements", lambda _: [optional])
    monkeypatch.setattr("assay.cli.doctor.site_machine", tuple)
    assert doctor_command(Namespace(site="plain", json=False)) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith("1 absent, optional: make hpl-source")


@pytest.mark.parametrize(
    ("remedies", "line"),
    [
        ([], "all there"),
        (["apt-get install a", "apt-get install b"], "2 missing: apt-get install a b"),
        (["make hpl-source"], "1 missing: make hpl-source"),
        (
            ["make hpl-source", "apt-get install a"],
            "2 missing: apt-get install a; then assay doctor again",
        ),
    ],
)
def test_the_last_line_says_what_it_comes_to_and_the_command(capsys, remedies, line):
    found = [Requirement(f"p{n}", False, "", one) for n, one in enumerate(remedies)]
    assert tell([Requirement("bash", True, "/bin/bash", ""), *found]) == (4 if remedies else 0)
    assert capsys.readouterr().out.splitlines()[-1] == line


def test_a_site_without_slurm_says_so(site):
    finding = site()["partition batch"]
    assert not finding.found
    assert "login node" in finding.remedy


@needs("cc")
def test_a_missing_compiler_is_named_with_its_environment(site):
    found = site()
    assert found["environment ours"].found
    assert not found["environment lost: compiler mpicc-of-nobody"].found


def test_modules_that_do_not_load_are_named(site):
    finding = site(modules="mpich/99")["environment lost: modules mpich/99"]
    assert not finding.found
    assert "module avail" in finding.remedy


def test_the_work_folder_is_made_or_named(site, tmp_path):
    assert site()["work folder"].found
    (tmp_path / "file").write_text("")
    finding = site(work_dir=str(tmp_path / "file" / "work"))["work folder"]
    assert not finding.found
    assert "work_dir" in finding.remedy


def test_a_faulty_file_is_a_finding(site):
    (finding,) = site(work_dir="$NO_SUCH_VARIABLE/x").values()
    assert not finding.found
    assert "NO_SUCH_VARIABLE" in finding.seen
