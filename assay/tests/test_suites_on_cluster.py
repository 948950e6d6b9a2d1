# SPDX-License-Identifier: Apache-2.0
"""Tests of a ReFrame suite as cases, on a virtual cluster: what each trap of it comes to."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from assay.tests.test_run_on_cluster import ASSAY, SITE
from assay.tests.test_run_on_cluster import pytestmark as on_cluster
from records.flags import EXPECTED_FAILURE, REFERENCE_MISSED, UNEXPECTED_PASS, UNPROVEN
from records.run.record import Record, read_records
from records.run.run_directory import RunDirectory

pytestmark = [*on_cluster, pytest.mark.usefixtures("cluster")]

SUITE = Path(__file__).parent / "suites" / "traps.py"
HEAD = """\
schema: 1
name: traps
question: What becomes of each trap?
environments: [openmpi, mpich]
blocks: 2
cases:
"""
ENTRY = """\
  - reframe:
      file: {file}
      class: {cls}
      environments: {{{asks}: [openmpi, mpich]}}
{further}
"""
#: What those ask for that do not ask for PrgEnv-gnu.
ASKS = {"AsksForFeatures": "+mpi +prgenv -cpe"}
CLASSES = {
    "AsksForFeatures": "      extras: {omp_flag: -fopenmp}",
    "BothUnits": "",
    "ByParameter": "",
    "Raises": "",
    "NotANumber": "",
    "Rounded": "",
    "OldStyle": "      metrics: {speed: {better: higher, unit: MB/s}}",
    "Lenient": "      metrics: {speed: {better: higher, unit: MB/s}}",
    "NoFigures": "",
    "Unright": "",
    "OddParameters": "",
    "BrokenAsKnown": "",
    "BetterThanKnown": "",
    "SlowAsKnown": "",
    "Skips": "",
    "Insists": "",
    "Asserts": "",
    "DoesNotCompile": "",
    "Fatal": "",
    "OwnSrun": "",
    "Compiles": "",
    "Fixture": "",
}
#: Status, flags and words of the launches of each.
EXPECTED = {
    "asks_for_features": ("ok", [UNPROVEN], ""),
    "both_units": ("ok", [UNPROVEN], ""),
    "by_parameter": ("ok", [UNPROVEN], ""),
    "raises": ("wrong", [UNPROVEN], "no value of absent"),
    "not_anumber": ("wrong", [UNPROVEN], "nan"),
    "rounded": ("wrong", [UNPROVEN], "short: 0.0 s is not a possible"),
    "old_style": ("ok", [UNPROVEN, REFERENCE_MISSED], "speed=1234.125"),
    "lenient": ("ok", [UNPROVEN, REFERENCE_MISSED], ""),
    "no_figures": ("ok", [UNPROVEN], ""),
    "unright": ("wrong", [], "never"),
    "odd_parameters": ("ok", [UNPROVEN], ""),
    "broken_as_known": ("ok", [UNPROVEN, EXPECTED_FAILURE], "known bug"),
    "better_than_known": ("ok", [UNPROVEN, UNEXPECTED_PASS], "known bug"),
    "slow_as_known": ("ok", [UNPROVEN, EXPECTED_FAILURE], ""),
    "skips": ("skipped", [], "no GPU here"),
    "insists": ("ok", [UNPROVEN], ""),
    "asserts": ("wrong", [], "as Python has it"),
    "does_not_compile": ("failed", [], "exit code: 3: error: no such flag"),
    "fatal": ("failed", [], "not started: ReframeFatalError: no such thing here"),
    "own_srun": ("ok", [UNPROVEN], ""),
    "compiles": ("ok", [], ""),
    "fixture": ("ok", [], ""),
}


def campaign(file: Path = SUITE) -> str:
    """The campaign of all classes of the suite."""
    return HEAD + "".join(
        ENTRY.format(file=file, cls=cls, further=more, asks=ASKS.get(cls, "PrgEnv-gnu"))
        for cls, more in CLASSES.items()
    )


@pytest.fixture(scope="module")
def run(cluster: object, tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """The run of all classes."""
    folder = tmp_path_factory.mktemp("suites")
    (folder / "traps.yaml").write_text(campaign())
    command = [ASSAY, "run", "traps.yaml", "--site", SITE]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    (path,) = folder.glob("results/*/*/")
    return RunDirectory(path)


def of(run: RunDirectory, check: str) -> list[Record]:
    return [one for one in read_records(run.records_file) if one.check == check]


@pytest.mark.parametrize("check", EXPECTED)
def test_each_trap_has_its_outcome_in_every_launch(run: RunDirectory, check: str) -> None:
    status, flags, words = EXPECTED[check]
    found = of(run, check)
    assert len(found) == (8 if check in ("both_units", "by_parameter") else 4)
    for one in found:
        assert (one.status, one.attempt) == (status, 1), one.reason
        assert one.flags == flags
        assert words in (one.reason or "")


def test_figures_are_those_that_were_printed_in_si_units(run: RunDirectory) -> None:
    for one in of(run, "both_units"):
        assert {m.name.rpartition(".")[2]: (m.value, m.unit, m.better) for m in one.metrics} == {
            "rate": (1234.125 * 1e6, "bytes/s", "higher"),
            "time": (7.25e-3 * 1e-3, "s", "lower"),
        }


def test_the_plan_names_foreign_code_compilation_and_nodes(run: RunDirectory) -> None:
    told = "\n".join(run.plan().brings())
    assert f"foreign code, class BothUnits of {SUITE}" in told
    assert "each launch compiles" in told
    assert "num_tasks = 0: 4 ranks on the site's 4 nodes" in told
    assert "fixture Build (compile, once a environment)" in told
