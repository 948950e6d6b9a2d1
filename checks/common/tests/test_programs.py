# SPDX-License-Identifier: Apache-2.0
"""The proofs of the C sources, built and run with each MPI library."""

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from checks.common.sources import CHECKS, LIBRARY, program_folders
from checks.common.tests.program_runs import COMPILERS, build_folder, built_programs, ran, require

pytestmark = pytest.mark.full
SU3 = CHECKS / "su3_rmd" / "src"
RANKS = (1, 2, 3, 4)
PROPERTY = re.compile(r"right +\S.* deviation \S+ tolerance \S+")
#: What each set of vector kernels needs of the processor, in the words of /proc/cpuinfo.
KERNEL_FLAGS = {"avx2": {"avx2", "fma"}, "avx512": {"avx512f", "avx512dq", "avx512bw", "avx512vl"}}


def proofs(folder, library, out):
    """Run `make prove` of a folder: the judgements by section, none of them wrong, none empty."""
    words = ["make", "-j2", "-C", folder, "prove", f"CC={COMPILERS[library]}", f"OUT={out}"]
    answer = ran(words, check=False)
    assert answer.returncode == 0, answer.stdout[-3000:] + answer.stderr[-3000:]
    sections = {}
    for line in answer.stdout.splitlines():
        if line.startswith("== "):
            judgements = sections.setdefault(line[3:], [])
        elif line.startswith(("right", "WRONG")):
            judgements.append(line)
    for section, lines in sections.items():
        assert lines, f"{section} judges nothing"
        assert not [line for line in lines if line.startswith("WRONG")], section
    return sections


def proof_programs(folder):
    return sorted(path.stem for path in (folder / "proof").glob("prove_*.c"))


def vector_kernels():
    """The sets of kernels that are built and that this processor has."""
    text = Path("/proc/cpuinfo").read_text()
    flags = set(next((line for line in text.splitlines() if line.startswith("flags")), "").split())
    default = " ".join(KERNEL_FLAGS) if platform.machine() == "x86_64" else ""
    built = os.environ.get("SU3_VECTOR_SETS", default).split()
    return ["baseline", *(name for name in built if KERNEL_FLAGS[name] <= flags)]


@pytest.mark.parametrize("library", ["mpich", "openmpi", "lam"])
def test_proof_programs_pass(library):
    found = proofs(LIBRARY, library, build_folder(library))
    # prove_short runs with LAM's modes, in test_lam_modes.
    alone = set(proof_programs(LIBRARY)) - {"prove_hosts", "prove_short", "prove_timing"}
    timing = [f"{library}: prove_timing, {ranks} ranks" for ranks in RANKS]
    for section in (*alone, f"{library}: prove_hosts", *timing):
        assert all(PROPERTY.fullmatch(line) for line in found[section])
    for ranks in RANKS:
        assert f"{library}: start-up, {ranks} ranks" in found
        assert f"{library}: node, {ranks} ranks" in found
    assert f"{library}: other host refused" in found  # the last one


@pytest.mark.numerical
def test_proof_programs_of_the_application_pass():
    # Open MPI's ranks yield where they are more than the cores; MPICH's spin.
    found = proofs(SU3, "openmpi", build_folder("openmpi") / "su3_rmd")
    sets = vector_kernels()
    for ranks in RANKS:
        for program in proof_programs(SU3):
            lines = found[f"openmpi: {program} double, {ranks} ranks"]
            assert all(PROPERTY.fullmatch(line) for line in lines)
        lines = found[f"openmpi: prove_kernels double, {ranks} ranks"]
        assert {line.split()[1] for line in lines if "against plain" in line} == set(sets)
    originals = [line for line in found["openmpi: su3_rmd double"] if "the original's" in line]
    assert [line.split()[-1] for line in originals] == ["auto", "plain", *sets]


@pytest.mark.parametrize("library", ["mpich", "openmpi"])
def test_a_rank_that_fails_stays_until_its_error_has_been_read(library):
    """Else a slow launcher loses it: MPICH's mpiexec exits at once when a rank aborts."""
    folder = built_programs(library, ["echo"])
    words = [str(folder / "echo"), "--sizes=7", "--iterations=1", "--inject-fault"]
    quiet = {"stdin": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(words, stdout=subprocess.PIPE, **quiet)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(2)
    text, _ = process.communicate()
    assert b'"wrong":true' in text
    assert process.returncode != 0


HELLO = """
#include "assay/program.h"
#include "greeting.h"

static void measure(void *run) { (void)run; greet(); }
static void nothing(void *run) { int unused; (void)run; }

int main(int argc, char **argv) {
    static const struct program hello = {"hello", "greets", 0, 0, nothing, measure, 0};
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
    return ran(command, check=False)


@pytest.fixture
def hello(tmp_path):
    folder = tmp_path / "further" / "hello"
    folder.mkdir(parents=True)
    (folder / "hello.c").write_text(HELLO)
    (folder / "greeting.c").write_text(GREETING)
    (folder / "greeting.h").write_text("void greet(void);\n")
    return folder


def test_a_folder_outside_the_tree_is_a_program(hello, tmp_path):
    require("mpicc.mpich")
    built = make(tmp_path / "out", f"FOLDERS={hello}", "all")
    assert built.returncode == 0, built.stderr
    said = ran([tmp_path / "out" / "hello"]).stdout
    assert '{"assay":"note","key":"answer","value":42}' in said
    assert '{"assay":"evidence"' in said


@pytest.mark.parametrize("folder", [".", "../../su3_rmd/src"])
def test_warnings_are_errors_only_where_werror_says_so(folder, tmp_path):
    def commands(*words):
        dry = ["make", "-nB", "-C", str(LIBRARY / folder), "CC=cc", f"OUT={tmp_path}", *words]
        return [line for line in ran(dry).stdout.splitlines() if " -Wall " in line]

    assert commands()
    assert not any("-Werror" in line for line in commands())
    assert all("-Werror" in line for line in commands("WERROR=-Werror"))


def test_a_folder_outside_the_tree_joins_programs_that_were_built_beforehand(hello, tmp_path):
    require("mpicc.mpich")
    ready = tmp_path / "ready"
    ready.mkdir()
    for name in ("stepkeeper", "libassay_evidence.so", "pt2pt"):
        (ready / name).write_text("built beforehand")
    words = ["-f", "ready.mk", f"READY={ready}", "programs"]
    joined = make(tmp_path / "out", f"OUTSIDE={hello}", *words)
    assert joined.returncode == 0, joined.stderr
    assert (tmp_path / "out" / "pt2pt").read_text() == "built beforehand"
    ran([tmp_path / "out" / "hello"])
    alone = make(tmp_path / "alone", "OUTSIDE=", *words)
    assert alone.returncode == 0, alone.stderr
    assert len(list((tmp_path / "alone").iterdir())) == 3


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
    assert f"no folder {tmp_path}/none" in make(tmp_path / "out", f"FOLDERS={tmp_path}/none").stderr
