# SPDX-License-Identifier: Apache-2.0
"""HPL's source in netlib's layout is built as it is, with its own main program."""

import pytest

from checks.common.json_lines import Output
from checks.common.sources import CHECKS, LIBRARY
from checks.common.tests.program_runs import ran, require
from checks.hpl import HplParameters
from checks.hpl.run import hpl_dat, read_other_build
from setup.tests.needs import ARCHIVE, NEEDS_HPL

#: What netlib's HPL has and that of HPCC, which is called by HPCC's main program, has not.
MAIN = """
int HPCC_Defaults(void) { return 1; }
int main(int argc, char **argv) {
    HPL_RuntimeData fastest;
    int failed = 0;
    MPI_Init(&argc, &argv);
    HPL_main(argc, argv, &fastest, &failed);
    MPI_Finalize();
    return failed;
}
"""
HPCCS_OWN = ('"hpccinf.txt"', "fid = 8; ", 'strcpy( file, "hpccoutf.txt" );')

pytestmark = NEEDS_HPL


@pytest.fixture
def source(tmp_path):
    """HPL 2.0 in the layout of netlib's archive, which HPCC keeps in its folder `hpl`."""
    ran(["tar", "-xf", ARCHIVE, "-C", tmp_path])
    top = tmp_path / "hpcc-1.5.0" / "hpl"
    tests = top / "testing" / "ptest"
    driver, info = tests / "HPL_pddriver.c", tests / "HPL_pdinfo.c"
    driver.write_text(driver.read_text() + MAIN)
    text = info.read_text()
    for own, netlibs in zip(HPCCS_OWN, ('"HPL.dat"', "", ""), strict=True):
        assert own in text
        text = text.replace(own, netlibs)
    info.write_text(text)
    return top


def make(tmp_path, source):
    words = ["make", "-s", "-j2", "-C", str(LIBRARY), "hpl", "CC=mpicc.mpich", "OPTIMISE=-O0"]
    words += [f"FOLDERS={CHECKS / 'hpl'}", f"OUT={tmp_path / 'out'}", f"HPL_SOURCE={source}"]
    require("mpicc.mpich")
    return ran(words, check=False)


@pytest.mark.full
def test_an_archive_of_netlib_is_built_and_its_result_is_read(tmp_path, source):
    built = make(tmp_path, source)
    assert built.returncode == 0, built.stderr
    assert [path.name for path in (tmp_path / "out").glob("xhpl*")] == ["xhpl-netlib"]
    asked = HplParameters(n=300, nb=32, p=1, q=1)
    (tmp_path / "HPL.dat").write_text(hpl_dat(asked))
    done = ran([tmp_path / "out" / "xhpl-netlib"], cwd=tmp_path)
    reading = read_other_build(asked, Output(), done.stdout)
    assert reading.wrong is None
    assert [metric.name for metric in reading.metrics] == ["rate", "time"]


def test_what_is_no_source_of_hpl_is_refused(tmp_path):
    (tmp_path / "other").mkdir()
    refused = make(tmp_path, tmp_path / "other")
    assert refused.returncode != 0
    assert "neither testing/ptest/HPL_pddriver.c is there, as in netlib's" in refused.stderr
