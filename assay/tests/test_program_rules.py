# SPDX-License-Identifier: Apache-2.0
"""The rules by which outputs of HPCC, LAMMPS, STREAM, HPCG, IOR, mdtest and IO500 are valid."""

from pathlib import Path

import pytest

from assay.schema.loading import load_campaign
from checks.common.command import read
from checks.common.json_lines import OutputError
from checks.common.registry import brought_by
from records.run.brought import CommandLine

OUTPUTS = Path(__file__).parent / "program_outputs"
#: Of the nodes of the launch together.
MEMORY_BYTES = 6e9

#: An output made invalid: the command, what is replaced by what, and words of the reason.
INVALID = {
    "hpcc residual": ("hpcc", "0.0044275 ...... PASSED", "44.275 ...... FAILED", "FAILED"),
    "hpcc no success": ("hpcc", "Success=1", "Success=0", "Success=0"),
    "hpcc missing section": ("hpcc", "End of PTRANS section.\n", "", "PTRANS"),
    "hpcc table": ("hpcc", "262144 locations (passed)", "262144 locations (failed)", "failed"),
    "hpcc cut off": ("hpcc", "End of HPC Challenge tests.", "", "End of HPC"),
    "hpcc fft": ("hpcc", "MPIFFT_maxErr=1.24931e-15", "MPIFFT_maxErr=0.01", "at most"),
    "lammps temperature": ("lammps", "100 steps: 0.7571644459", "100 steps: 0.7601", "at most"),
    "lammps energy": ("lammps", "100 steps: -4.622671345", "100 steps: -4.6221", "at least"),
    "lammps not ended": ("lammps", "Total wall time", "", "Total wall time"),
    "stream failed": ("stream", "Solution Validates", "Failed Validation on array a[]", "Failed"),
    "stream small": ("stream", "array = 610.4 MiB", "array = 7.6 MiB", "at least"),
    "stream ticks": ("stream", "(= 41250 clock", "(= 12 clock", "at least 20"),
    "hpcg invalid": ("hpcg", "is VALID with a GFLOP/s rating of=2.28117", "is INVALID.", "INVALID"),
    "hpcg short": ("hpcg", "Total=1862.31", "Total=60.1", "at least 1800"),
    "hpcg small": ("hpcg", "(Gbytes)=1.60781", "(Gbytes)=0.05", "memory"),
    "hpcg symmetry": ("hpcg", "epsilon::Result=PASSED", "epsilon::Result=FAILED", "FAILED"),
    "ior cached read": ("ior", "constant task offset", "no tasks offsets", "task"),
    "ior one node": ("ior", "nodes               : 2", "nodes               : 1", "nodes"),
    "ior not synchronised": ("ior", " -e ", " ", "-e"),
    "ior wrong data": ("ior", "\nResults", "\nWARNING: Incorrect data on read.", "ncorrect"),
    "ior no read": ("ior", "512.0 POSIX      0\nFin", "512.0\nFin", "ior_read is missing"),
    "mdtest own files": ("mdtest", "'-N' '1' ", "", "-N"),
    "mdtest no removal": ("mdtest", "2210.118", "0.000", "mdtest_remove"),
    "io500 invalid": ("io500", "367.500 seconds", "367.500 seconds [INVALID]", "INVALID"),
    "io500 short": ("io500", "time 312.400", "time 31.200", "at least 300"),
    "io500 missing phase": ("io500", "                find", "                fnd ", "find"),
    "io500 score": ("io500", "TOTAL 4", "TOTAL 7", "io500_score"),
    "io500 phase": ("io500", "3.701255", "9.701255", "io500_bandwidth"),
}


@pytest.fixture(scope="module")
def lines() -> dict[str, CommandLine]:
    """The commands of the campaigns, by name."""
    return {
        name: line
        for campaign in ("applications", "programs")
        for name, line in brought_by(load_campaign(campaign).checks).items()
        if isinstance(line, CommandLine)
    }


def test_a_valid_output_of_each_is_read(lines):
    for name, line in lines.items():
        reading = read(line, (OUTPUTS / f"{name}.txt").read_text(), MEMORY_BYTES)
        assert reading.wrong is None, name
        assert [one.name for one in reading.metrics] == [one.metric.name for one in line.metrics]
    assert len(lines) == 7


@pytest.mark.parametrize(("name", "valid", "instead", "reason"), INVALID.values(), ids=INVALID)
def test_an_invalid_output_is_wrong(lines, name, valid, instead, reason):
    text = (OUTPUTS / f"{name}.txt").read_text()
    assert valid in text
    try:
        wrong = read(lines[name], text.replace(valid, instead), MEMORY_BYTES).wrong
    except OutputError as error:
        wrong = str(error)
    assert wrong is not None
    assert reason in wrong


def test_the_score_of_io500_follows_from_its_phases(lines):
    found = read(lines["io500"], (OUTPUTS / "io500.txt").read_text()).metrics
    values = {one.name: one.value for one in found}
    score = (values["io500_bandwidth"] / 2**30 * values["io500_metadata"] / 1e3) ** 0.5
    assert values["io500_score"] == pytest.approx(score, rel=1e-5)
