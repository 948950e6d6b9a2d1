# SPDX-License-Identifier: Apache-2.0
"""The text of Slurm's files."""

import pytest

from virtual_cluster.slurm_conf import sbatch_script, slurm_conf
from virtual_cluster.spec import ClusterSpec, address_plan
from virtual_cluster.state import State

SPEC = ClusterSpec("x", nodes=3, cpus_per_node=2)
ADDRESSES = address_plan(SPEC.node_names())
TEXT = slurm_conf(State(SPEC, "up", "", addresses=ADDRESSES, memory_bytes_per_node=3 << 30))


def test_each_node_has_its_line_and_low_numbers_come_first() -> None:
    lines = [line for line in TEXT.splitlines() if line.startswith("NodeName=")]
    assert [line.split()[0] for line in lines] == ["NodeName=n1", "NodeName=n2", "NodeName=n3"]
    for word in ("NodeAddr=10.77.0.11 ", "Weight=1 ", "CPUs=2 ", "RealMemory=3072 "):
        assert word in lines[0]
    assert "Weight=3 " in lines[2]


@pytest.mark.parametrize(
    ("line", "of"),
    [
        ("JobRequeue=0", TEXT),  # no launch is repeated by Slurm
        # A refused submission keeps its exit status.
        ('"$@" || exit\n', sbatch_script("/usr/bin/sbatch", "n4")),
    ],
)
def test_files_have_these_lines(line: str, of: str) -> None:
    assert line in of
