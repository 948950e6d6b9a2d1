# SPDX-License-Identifier: Apache-2.0
"""The proofs of the C sources, built and run with each MPI library."""

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from checks.common.sources import CHECKS, LIBRARY, program_folders


def proofs(folder, compiler, out, *settings):
    """Run `make prove` of a folder and count its judgements."""
    answer = subprocess.run(
        ["make", "-j2", "-C", str(folder), "prove", f"CC={compiler}", f"OUT={out}", *settings],
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stdout[-3000:] + answer.stderr[-3000:]
    lines = answer.stdout.splitlines()
    assert not [line for line in lines if line.startswith("wrong")]
    return sum(line.startswith("right") for line in lines)


@pytest.fixture
def out():
    # LAM refuses root, so its programs run as nobody, who must be able to read them.
    with tempfile.TemporaryDirectory(prefix="assay-proof-", dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        yield folder


@pytest.mark.parametrize("compiler", ["mpicc.mpich", "mpicc.openmpi", "mpicc.lam"])
def test_proofs_of_the_library_pass(compiler, out):
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}: run make setup")
    assert proofs(LIBRARY, compiler, out) > 100


@pytest.mark.parametrize(
    ("folder", "least"), [(CHECKS / "su3_rmd" / "src", 500), (LIBRARY / "mpiprofile", 50)]
)
def test_proofs_of_the_application_and_the_profile_pass(folder, least, out):
    if shutil.which("mpicc.mpich") is None:
        pytest.skip("needs mpicc.mpich: run make setup")
    try:
        assert proofs(folder, "mpicc.mpich", out) > least
    except AssertionError:
        # MPICH's launcher now and then drops the last line of a rank that aborts, which the
        # refusals are judged by: what fails by that chance passes the second time.
        assert proofs(folder, "mpicc.mpich", out) > least


HELLO = """
#include "assay/program.h"
#include "greeting.h"

static void measure(void *run) { (void)run; greet(); }
static void nothing(void *run) { (void)run; }
static void report(const void *run) { (void)run; }

int main(int argc, char **argv) {
    static const struct program hello = {"hello",  "greets", 0,      0,
                                         nothing, measure, report, nothing};
    return program_main(&hello, 0, argc, argv);
}
"""
GREETING = """
#include "greeting.h"
#include "assay/report.h"

void greet(void) { report_note_integer("answer", 42); }
"""


def make(out, *words):
    command = ["make", "-s", "-j2", "-C", str(LIBRARY), "CC=mpicc.mpich", f"OUT={out}", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def hello(tmp_path):
    folder = tmp_path / "further" / "hello"
    folder.mkdir(parents=True)
    (folder / "hello.c").write_text(HELLO)
    (folder / "greeting.c").write_text(GREETING)
    (folder / "greeting.h").write_text("void greet(void);\n")
    return folder


@pytest.mark.skipif(shutil.which("mpicc.mpich") is None, reason="needs mpicc.mpich: run make setup")
def test_a_folder_outside_the_tree_is_a_program(hello, tmp_path):
    built = make(tmp_path / "out", f"FOLDERS={hello}", "all")
    assert built.returncode == 0, built.stderr
    run = subprocess.run([tmp_path / "out" / "hello"], capture_output=True, text=True, check=True)
    assert '{"assay":"note","key":"answer","value":42}' in run.stdout
    assert '{"assay":"evidence"' in run.stdout


def test_two_folders_of_one_name_are_refused(hello, tmp_path, monkeypatch):
    other = tmp_path / "other" / "hello"
    shutil.copytree(hello, other)
    refused = make(tmp_path / "out", f"FOLDERS={hello} {other}", "all")
    assert refused.returncode == 2
    assert f"two folders of one name: {hello} {other}" in refused.stderr
    monkeypatch.setenv("ASSAY_CHECKS", str(hello.parent))
    assert program_folders()[-1] == hello
    monkeypatch.setenv("ASSAY_CHECKS", f"{hello.parent}:{other.parent}")
    with pytest.raises(ValueError, match=f"{hello} and {other}"):
        program_folders()


def test_a_folder_that_is_missing_is_named(tmp_path):
    refused = make(tmp_path / "out", f"FOLDERS={tmp_path}/none")
    assert f"no folder {tmp_path}/none" in refused.stderr
