# SPDX-License-Identifier: Apache-2.0
"""Command lines of the page *Your benchmark in ten lines* on a virtual cluster."""

import re
from pathlib import Path

import pytest

from assay.cli import main
from assay.tests.test_run_on_cluster import SITE, records_of, run, the_run
from assay.tests.test_run_on_cluster import pytestmark as on_cluster
from records.flags import UNPROVEN
from records.run.record import Record
from virtual_cluster.tests.clusters import lacking

pytestmark = [*on_cluster, pytest.mark.usefixtures("cluster")]

PAGE = Path(__file__).parents[2] / "docs/your-benchmark.md"
STATIC = """
cases:
  - name: static
    command: ./static
    build: printf 'int puts(const char*); int main(void) { return puts("t 2 us") < 0; }' > static.c;
      cc -static -o static static.c
    metrics: {t: {find: '^t (.) us$', unit: us}}
"""


def measured(folder: Path, name: str) -> list[Record]:
    for file, text in re.findall(r"^```\w+ file=(\S+)\n(.*?)^```$", PAGE.read_text(), re.M | re.S):
        several = text.replace("[mpich]", "[mpich, openmpi]") if file == "triad.yaml" else text
        (folder / file).write_text(several)
    if name == "static":
        head = (folder / "loop.yaml").read_text().split("cases:")[0]
        (folder / "static.yaml").write_text(head + STATIC)
    status, output = run(f"{name}.yaml", "--site", SITE, "--blocks", "1")
    assert status == 0, output
    (path,) = folder.glob("results/*/*/")
    assert main(["verify", str(path)]) == 0
    return [*records_of(path)]


@pytest.mark.full
def test_a_program_without_mpi_is_built_and_measured_in_two_environments(folder: Path) -> None:
    records = measured(folder, "triad")
    assert [one.status for one in records] == ["ok"] * 4
    assert all(one.metrics[0].unit == "bytes/s" and not one.flags for one in records)


def test_a_shell_script_is_measured_and_goes_on_without_its_files(folder: Path) -> None:
    assert [(one.status, one.flags) for one in measured(folder, "loop")] == [("ok", [])] * 2
    path = the_run(folder, "loop")
    for file in folder.glob("loop.*"):
        file.unlink()
    status, output = run("--resume", str(path), "--blocks", "1")
    assert status == 0, output
    found = records_of(path)
    assert [(one.status, one.block) for one in found] == [("ok", n) for n in (1, 1, 2, 2)]


@pytest.mark.full
def test_a_program_that_cannot_give_evidence_is_unproven(folder: Path) -> None:
    assert [(one.status, one.flags) for one in measured(folder, "static")] == [("ok", [UNPROVEN])]


@pytest.mark.skipif(bool(lacking("lmp")), reason="needs LAMMPS: apt-get install lammps")
def test_lammps_is_measured_with_its_mpi_library(folder: Path) -> None:
    records = measured(folder, "lammps")
    assert [one.status for one in records] == ["ok"] * 2
    assert not any(UNPROVEN in one.flags for one in records)
