# SPDX-License-Identifier: Apache-2.0
"""Assay from a wheel, in a folder laid out for a site's own files."""

import json
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from assay import ROOT
from assay.tests.test_run_on_cluster import campaign
from assay.tests.test_run_on_cluster import pytestmark as needs
from records.errors import ExitStatus
from records.run.provenance import read_provenance
from setup.tests.needs import NEEDS_HPL
from virtual_cluster.api import Cluster

CASES = """\
  - {check: startup, fixed: {ranks: 2}}
  - {check: hpl, fixed: {p: 1, q: 2, n: 200, nb: 64}}
"""
CRITERIA = """\
schema: 1
name: mine
title: Mine
criteria:
  - {id: start, kind: limit, title: T, check: startup, metric: whole_start, at_most: 3600, unit: s}
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from what git knows of the clone, without the web."""
    folder = tmp_path_factory.mktemp("wheel")
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True).stdout
    copy = ["xargs", "-0", "cp", "--parents", f"--target-directory={folder}"]
    subprocess.run(copy, cwd=ROOT, check=True, input=names)
    offline = ["--quiet", "--no-index", "--no-deps", "--no-build-isolation"]
    build = [sys.executable, "-m", "pip", "wheel", *offline, f"--wheel-dir={folder}/out"]
    subprocess.run([*build, str(folder)], check=True)
    (found,) = folder.glob("out/*.whl")
    return found


@pytest.fixture(scope="module")
def packages(wheel: Path) -> Path:
    environment = wheel.parent / "environment"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    pip = [f"{environment}/bin/pip", "install", "--quiet", "--no-index", "--no-deps", str(wheel)]
    subprocess.run(pip, check=True)
    (found,) = environment.glob("lib/python*/site-packages")
    (found / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return found


@pytest.mark.full
def test_a_wheel_has_what_a_run_needs_and_no_tests(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {
        *("campaigns/quick.yaml", "plugins/papers/campaigns/ornl-1996.yaml"),
        *("campaigns/criteria/standard.yaml", "site-config/virtual/site.yaml"),
        *("spack-env/spack_repo/assay/repo.yaml", "assay/probe/probe.sh"),
        *("virtual_cluster/images/debian-13.lock", "virtual_cluster/images/finish.sh"),
        "spack-env/environments/distribution-sources/debian12.lock",
        *("checks/common/src/rules.mk", "checks/su3_rmd/src/lattice.c", "setup/hpl-source.sh"),
    } <= {*names}
    unneeded = {"tests", "samples", "bench", "docs"}
    assert [name for name in names if unneeded & {*Path(name).parts}] == []
    rooms = {path.parent.name for path in ROOT.glob("[a-z]*/README.md")} - unneeded
    assert {name.partition("/")[0] for name in names if ".dist-info" not in name} == rooms


def contents(packages: Path) -> dict[Path, tuple[int, int]]:
    found = {path: path.stat() for path in packages.rglob("*") if path.is_file()}
    return {path: (stat.st_size, stat.st_mtime_ns) for path, stat in found.items()}


@pytest.mark.full
@pytest.mark.usefixtures("vets_alone")
def test_an_installed_assay_vets_from_any_folder(packages: Path, tmp_path: Path) -> None:
    environment, words = packages.parents[2], ["vet", "--local", "--steps=latency"]
    for folder in (tmp_path, Path("/")):
        argv = [f"{environment}/bin/assay", *words, f"--folder={tmp_path}/vettings"]
        done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False)
        assert "memory latency" in done.stdout, done.stdout + done.stderr
    assert [*environment.glob("build/vet-*/vet")]
    assert not (tmp_path / "build").exists()


@pytest.mark.full
@needs[0]
@needs[1]
@needs[2]
@NEEDS_HPL
def test_an_installed_assay_runs(packages: Path, cluster: Cluster, tmp_path: Path) -> None:
    before, site = contents(packages), ("--site", f"virtual:{cluster.name}")

    def assay(*words: str, status: int = ExitStatus.PASS) -> str:
        command = [str(packages.parents[2] / "bin" / "assay"), *words]
        folder = tmp_path / "mine" if words[0] != "init" else tmp_path
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == status, done.stdout + done.stderr
        return str(done.stdout)

    assay("site", "folder", "mine")
    campaign(tmp_path / "mine/campaigns", "short", "mpich", 3, CASES)
    (tmp_path / "mine/campaigns/criteria/mine.yaml").write_text(CRITERIA)
    findings = {one["what"]: one for one in json.loads(assay("doctor", "--json"))["findings"]}
    assert Path(findings["HPL's source, for check hpl"]["remedy"]).is_file()
    assert "4 skipped" in assay("plan", "quick", *site)
    shutil.copytree(ROOT / "build/sources", tmp_path / "mine/build/sources")  # a private folder
    assert "6 launches" in assay("plan", "short", *site)
    assert "6 ok" in assay("run", "short", *site)
    (run,) = (tmp_path / "mine" / "results" / "short").iterdir()
    assert read_provenance(run / "provenance.json").harness.git_commit is None
    assert "Start-up" in assay("report")
    assert "PASS" in assay("accept", str(run), "--criteria", "mine")
    assert contents(packages) == before
