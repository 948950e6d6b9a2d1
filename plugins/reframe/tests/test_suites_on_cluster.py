# SPDX-License-Identifier: Apache-2.0
"""Tests of a ReFrame suite as cases, on a virtual cluster: what each trap of it comes to."""

import re
import subprocess
import sysconfig
from pathlib import Path

import pytest

from assay.tests.test_run_on_cluster import ASSAY, SITE
from assay.tests.test_run_on_cluster import of_full as on_cluster
from records.flags import EXPECTED_FAILURE, REFERENCE_MISSED, UNEXPECTED_PASS, UNPROVEN
from records.run.record import Record, read_records
from records.run.run_directory import RunDirectory

pytestmark = [*on_cluster, pytest.mark.usefixtures("cluster")]

SUITE = Path(__file__).parent / "suites" / "traps.py"
#: Of ReFrame's package.
TUTORIAL = f"{sysconfig.get_path('data')}/share/doc/reframe-hpc/examples/tutorial"
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
SPEED = "metrics: {speed: {better: higher, unit: MB/s}}"
#: Class → status, flags and words of its launches, and what its entry says further.
TRAPS: dict[str, tuple[str, list[str], str, str]] = {
    "AsksForFeatures": ("ok", [UNPROVEN], "", "extras: {omp_flag: -fopenmp}"),
    "BothUnits": ("ok", [UNPROVEN], "", ""),
    "ByParameter": ("ok", [UNPROVEN], "", ""),
    "Raises": ("wrong", [UNPROVEN], "no value of absent", ""),
    "NotANumber": ("wrong", [UNPROVEN], "nan", ""),
    "OldStyle": ("ok", [UNPROVEN, REFERENCE_MISSED], "speed=1234.125", SPEED),
    "Lenient": ("ok", [UNPROVEN, REFERENCE_MISSED], "", SPEED),
    "NoFigures": ("ok", [UNPROVEN], "", ""),
    "Unright": ("wrong", [], "never", ""),
    "OddParameters": ("ok", [UNPROVEN], "", ""),
    "BrokenAsKnown": ("ok", [UNPROVEN, EXPECTED_FAILURE], "known bug", ""),
    "BetterThanKnown": ("ok", [UNPROVEN, UNEXPECTED_PASS], "known bug", ""),
    "SlowAsKnown": ("ok", [UNPROVEN, EXPECTED_FAILURE], "", ""),
    "Skips": ("skipped", [], "no GPU here", ""),
    "Insists": ("ok", [UNPROVEN], "", ""),
    "LacksKey": ("failed", [], "KeyError: 'virtual'", ""),
    "DoesNotCompile": ("failed", [], "exit code: 3: error: no such flag", ""),
    "Fatal": ("failed", [], "not started: ReframeFatalError: no such thing here", ""),
    "OwnSrun": ("ok", [UNPROVEN], "", ""),
    "Compiles": ("ok", [], "", ""),
    "Fixture": ("ok", [], "", ""),
    "ByFixture": ("ok", [UNPROVEN], "", "params: {stored.element.kind: double}"),
}
#: Variants that differ by a parameter of their fixture.
OF_TUTORIAL = f"""\
  - reframe:
      file: {TUTORIAL}/stream/stream_parameters_fixtures.py
      class: stream_test
      params: {{num_threads: 1, thread_placement: close}}
      environments: {{+openmp: [openmpi, mpich]}}
      extras: {{omp_flag: -fopenmp}}
"""


@pytest.fixture(scope="module")
def run(cluster: object, tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """The run of all classes."""
    folder = tmp_path_factory.mktemp("suites")
    traps = [
        ENTRY.format(file=SUITE, cls=cls, further=more, asks=ASKS.get(cls, "PrgEnv-gnu"))
        for cls, (*_, more) in TRAPS.items()
    ]
    (folder / "traps.yaml").write_text("".join([HEAD, *traps, OF_TUTORIAL]))
    command = [ASSAY, "run", "traps.yaml", "--site", SITE]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    (path,) = folder.glob("results/*/*/")
    return RunDirectory(path)


def of(run: RunDirectory, check: str) -> list[Record]:
    return [one for one in read_records(run.records_file) if one.check == check]


@pytest.mark.parametrize("cls", TRAPS)
def test_each_trap_has_its_outcome_in_every_launch(run: RunDirectory, cls: str) -> None:
    status, flags, words, _ = TRAPS[cls]
    found = of(run, re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls).lower())
    assert len(found) == (8 if cls in ("BothUnits", "ByParameter") else 4)
    for one in found:
        assert (one.status, one.attempt) == (status, 1), one.reason
        assert one.flags == flags
        assert words in (one.reason or "")


def test_variants_that_differ_by_a_fixture_s_parameter_are_run(run: RunDirectory) -> None:
    found = of(run, "stream_test")
    assert [(one.status, one.reason) for one in found] == [("ok", None)] * 8
    kinds = [one.params["stream_binary.elem_type"] for one in found]
    assert sorted(kinds) == ["double"] * 4 + ["float"] * 4


def test_figures_are_those_that_were_printed_in_si_units(run: RunDirectory) -> None:
    for one in of(run, "both_units"):
        assert {m.name.rpartition(".")[2]: (m.value, m.unit, m.better) for m in one.metrics} == {
            "rate": (1234.125 * 1e6, "bytes/s", "higher"),
            "time": (7.25e-3 * 1e-3, "s", "lower"),
        }
