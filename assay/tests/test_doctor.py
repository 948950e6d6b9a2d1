# SPDX-License-Identifier: Apache-2.0
"""`assay doctor` names what is missing and never crashes: no PATH, Slurm, modules or variables."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from assay.cli import doctor
from assay.cli.doctor import Requirement, site_requirements, tell
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
    monkeypatch.setattr(site_file, "SITES", tmp_path)
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("bash", "cc", "env", "hostname", "setpriv"):
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
    assert not found["image debian-13"]["needed"]


def test_programs_of_a_machine_that_hosts_a_cluster_are_named_with_their_packages(monkeypatch):
    monkeypatch.setattr(doctor, "_path_of", lambda _: None)
    found = {one.what: (one.needed, one.remedy) for one in doctor.cluster_machine()}
    assert found["nsenter"] == (True, "apt-get install util-linux")
    assert found["image debian-13"][0] is False


def test_a_kernel_that_refuses_namespaces_is_named_with_what_helps(monkeypatch):
    why = "the kernel gives no further namespaces; run, as root: sysctl -w x=1 (unshare failed)"
    monkeypatch.setattr(doctor.namespaces, "refusal", lambda _: why)
    (found,) = (one for one in doctor.cluster_machine() if "namespaces" in one.what)
    assert (found.found, found.remedy, found.needed) == (False, why, True)


def test_what_is_not_needed_fails_nothing_and_is_called_by_its_use(capsys):
    absent = Requirement("pvm", False, "", remedy := "apt-get install pvm", needed=False)
    assert tell([absent], optional="for PVM") == 0
    told = f"absent pvm: {remedy} all there that a Slurm site needs; 1 absent, for PVM: {remedy}"
    assert " ".join(capsys.readouterr().out.split()) == told


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


@needs("cc")
def test_what_a_site_has_is_found(site):
    assert site()["environment ours"].found


@pytest.mark.parametrize(
    ("site_file", "what", "told"),
    [
        ({}, "jobs with --partition=batch --nodes=2 --time=1", "login node"),
        ({}, "environment lost: compiler mpicc-of-nobody", ""),
        ({"modules": "mpich/99"}, "environment lost: modules mpich/99", "module avail"),
        ({"work_dir": "$NO_SUCH_VARIABLE/x"}, None, "NO_SUCH_VARIABLE"),
    ],
)
def test_what_a_site_lacks_is_named(site, site_file, what, told):
    found = site(**site_file)
    finding = found[what or next(iter(found))]
    assert not finding.found
    assert told in (finding.remedy if what else finding.seen)
    assert what or len(found) == 1
