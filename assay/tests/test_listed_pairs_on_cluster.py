# SPDX-License-Identifier: Apache-2.0
"""Listed pairs of hosts on a virtual cluster of more nodes than a launch has: it gets theirs."""

from assay.tests.test_run_on_cluster import campaign, pytestmark, records_of, run, the_run

__all__ = ["pytestmark"]
PAIRS = (
    "  - check: alltoall_pairs\n"
    "    fixed: {ranks: 3, turns: false, latency_iterations: 5, bandwidth_iterations: 3,"
    " only: ['n4:n3', 'n3:n9']}\n"
)


def test_a_launch_gets_the_hosts_of_its_pairs_and_leaves_out_absent_ones(
    cluster, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    path = campaign(tmp_path, "listed", "mpich", 3, PAIRS)
    status, output = run(path, "--site", f"virtual:{cluster.name}")
    assert status == 0, output
    for record in records_of(the_run(tmp_path, "listed")):
        assert record.status == "ok" and len(record.nodes) == 3
        assert {"n3", "n4"} <= set(record.nodes)
        measured = [m for m in record.metrics if m.name.startswith("pair_")]
        assert [m.at for m in measured] == [{"node": "n3", "peer": "n4"}] * 2
