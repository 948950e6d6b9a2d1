# SPDX-License-Identifier: Apache-2.0
"""A plugin can be deleted or added: the core works without any, and finds one that is installed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from assay.cli import main
from assay.cli.main import RENAMED
from assay.tests.test_accept_every_campaign import stored_run
from records.plugins import plugins

ROOT = Path(__file__).parents[2]
NAMES = sorted(package.rpartition(".")[2] for package in plugins())
WITHOUT = [*NAMES, "all of them"]
#: Three uses of the core: choice, acceptance, nightly.
WALK = (
    "plan quick --site virtual",
    "plan acceptance --site virtual",
    "plan nightly --site virtual",
    "report RUN --format html --format md",
    "accept ACCEPTANCE --criteria rehearsal",
    "verify ACCEPTANCE",
    "nightly add RUN",
    "nightly check",
    "schema forms",
)


def python(tree: Path, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """A Python that imports Assay from a tree."""
    return subprocess.run(
        [sys.executable, *words],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        check=False,
    )


def assay(tree: Path, words: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    code = "import sys; from assay.entry import main; sys.exit(main())"
    return python(tree, "-P", "-c", code, *words, cwd=cwd)


def tree_without(folder: Path, without: str) -> Path:
    """A copy of the tracked files, without a plugin, or without all."""
    tree = folder / "tree"
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in listed.stdout.split("\n"):
        gone = name.split("/")[:2] == ["plugins", without] or without == WITHOUT[-1]
        if name and not (name.startswith("plugins/") and gone and name.count("/") > 1):
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name, follow_symlinks=False)
    return tree


@pytest.mark.parametrize(
    "without", [*(pytest.param(name, marks=pytest.mark.full) for name in NAMES), WITHOUT[-1]]
)
def test_choice_acceptance_and_nightly_work_without(tmp_path, without):
    tree = tree_without(tmp_path, without)
    runs = {"RUN": stored_run("quick", tmp_path), "ACCEPTANCE": stored_run("acceptance", tmp_path)}
    for line in WALK:
        done = assay(tree, [str(runs.get(word, word)) for word in line.split()], tmp_path)
        assert done.returncode in (0, 1, 3), f"{line}: {done.stderr}"
        assert "Traceback" not in done.stderr
    plan = assay(tree, ["plan", "quick", "--site", "virtual"], tmp_path).stdout
    assert ("mpi_profile: plugin profile is missing" in plan) == (
        without in ("profile", WITHOUT[-1])
    )
    page = next(runs["RUN"].glob("report/*.html")).read_text()
    assert ("MPI profile" in page) == (without not in ("profile", WITHOUT[-1]))


@pytest.mark.full
def test_the_core_s_fast_tests_pass_without_any(tmp_path):
    tree = tree_without(tmp_path, WITHOUT[-1])
    subprocess.run(["git", "init", "-q"], cwd=tree, check=True)
    subprocess.run(["git", "add", "-A"], cwd=tree, check=True)
    options = ("-q", "-x", "--tier=fast", "-n2", "--dist=loadscope", "-p", "no:cacheprovider")
    places = ("assay", "checks", "records", "reports", "virtual_cluster")
    done = python(tree, "-m", "pytest", *options, f"--basetemp={tmp_path}/t", *places, cwd=tree)
    assert done.returncode == 0, done.stdout[-4000:]


def test_a_plugin_that_is_installed_adds_a_command_a_verdict_and_a_section(tmp_path):
    source = tmp_path / "source"
    shutil.copytree(ROOT / "docs" / "examples" / "plugin", source)
    place = tmp_path / "site"
    install = ("-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--target")
    installed = python(place, *install, str(place), str(source), cwd=tmp_path)
    assert installed.returncode == 0, installed.stderr
    run = str(stored_run("quick", tmp_path))
    assert "the value that varies most" in assay(place, ["--help"], tmp_path).stdout
    told = assay(place, ["spread", run], tmp_path)
    assert told.returncode == 0, told.stderr
    assert "%." in told.stdout
    reported = assay(place, ["report", run, "--format", "md"], tmp_path)
    assert "What varies most" in "".join(p.read_text() for p in Path(run).glob("report/*.md")), (
        reported.stderr
    )


def test_a_plugin_that_cannot_be_imported_is_one_message(tmp_path):
    info = tmp_path / "broken-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[assay.plugins]\nbroken = broken_plugin:PLUGIN\n")
    told = assay(tmp_path, ["--help"], tmp_path)
    assert told.returncode == 2
    assert told.stderr.startswith(
        "assay: plugin broken_plugin:PLUGIN cannot be used: ModuleNotFound"
    )


@pytest.mark.parametrize("word", RENAMED)
def test_a_former_name_of_a_command_says_what_serves_now(capsys, word):
    assert main([word, "x"]) == 2
    assert RENAMED[word] in capsys.readouterr().err
