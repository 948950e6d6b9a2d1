# SPDX-License-Identifier: Apache-2.0
"""LAM's modes and its short-message limit are in effect: shown by what it does, not its speed."""

import pytest

from checks.common.tests.program_runs import built_programs, run_each

pytestmark = pytest.mark.full


def launched(*sizes):
    out = built_programs("lam", ["prove_short"])  # where it is built, make finds nothing to do
    command = f"2 prove_short --sizes={','.join(map(str, sizes))}"
    run = run_each("lam", out, [command])[command]
    assert run.output.ended, run.text
    return run.output.notes


@pytest.mark.parametrize("limit", [16384, 65536, 131072, None])
def test_the_short_message_limit_of_64_kib_moves_the_protocol_switch(monkeypatch, limit):
    monkeypatch.setenv("LAM_MPI_SSI_rpi", "tcp")
    if limit:
        monkeypatch.setenv("LAM_MPI_SSI_rpi_tcp_short", str(limit))
    limit = limit or 65536
    notes = launched(limit, limit + 1)
    assert notes[f"sent_at_once_{limit}"] == 1
    assert notes[f"sent_at_once_{limit + 1}"] == 0


@pytest.mark.parametrize("module", ["lamd", "sysv", "tcp", "usysv"])
def test_each_mode_is_the_module_that_was_asked_for(monkeypatch, module):
    monkeypatch.setenv("LAM_MPI_SSI_rpi", module)
    assert launched(8)["library"] == f"LAM/MPI 7.1.4 (rpi {module})"
