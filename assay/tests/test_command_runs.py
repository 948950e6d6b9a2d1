# SPDX-License-Identifier: Apache-2.0
"""Command lines of the page *Your benchmark in ten lines* on a virtual cluster."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from assay.tests.test_run_on_cluster import ASSAY, SITE
from assay.tests.test_run_on_cluster import pytestmark as on_cluster
from records.flags import UNPROVEN
from records.run.record import Record, read_records

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


def records_of(folder: Path, name: str, *options: str) -> list[Record]:
    for file, text in re.findall(r"^```\w+ file=(\S+)\n(.*?)^```$", PAGE.read_text(), re.M | re.S):
        (folder / file).write_text(text)
    if name == "static":
        head = (folder / "loop.yaml").read_text().split("cases:")[0]
        (folder / "static.yaml").write_text(head + STATIC)
    command = [ASSAY, "run", f"{name}.yaml", "--site", SITE, "--blocks", "1", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (run,) = folder.glob("results/*/*/")
    verified = subprocess.run(
        [ASSAY, "verify", run], cwd=folder, capture_output=True, text=True, check=False
    )
    assert verified.returncode == 0, verified.stdout + verified.stderr
    return [*read_records(run / "records.jsonl")]


@pytest.mark.full
def test_a_program_without_mpi_is_built_and_measured_in_two_environments(tmp_path: Path) -> None:
    records = records_of(tmp_path, "triad")
    assert [one.status for one in records] == ["ok"] * 4
    assert all(one.metrics[0].unit == "bytes/s" and not one.flags for one in records)


def test_a_shell_script_is_measured_and_goes_on_without_the_campaign_and_its_files(
    tmp_path: Path,
) -> None:
    records = records_of(tmp_path, "loop")
    assert [(one.status, one.flags) for one in records] == [("ok", [])] * 2
    (run,) = tmp_path.glob("results/*/*/")
    for file in tmp_path.glob("loop.*"):
        file.unlink()
    command = [ASSAY, "run", "--resume", str(run), "--blocks", "1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = [*read_records(run / "records.jsonl")]
    assert [(one.status, one.block) for one in found] == [("ok", n) for n in (1, 1, 2, 2)]


@pytest.mark.full
def test_a_program_that_cannot_give_evidence_is_unproven(tmp_path: Path) -> None:
    records = records_of(tmp_path, "static")
    assert [(one.status, one.flags) for one in records] == [("ok", [UNPROVEN])]


@pytest.mark.skipif(shutil.which("lmp") is None, reason="needs LAMMPS: apt-get install lammps")
def test_lammps_is_measured_with_its_mpi_library(tmp_path: Path) -> None:
    records = records_of(tmp_path, "lammps")
    assert [one.status for one in records] == ["ok"] * 2
    assert not any(UNPROVEN in one.flags for one in records)
