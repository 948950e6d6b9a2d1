# SPDX-License-Identifier: Apache-2.0
"""The text of Slurm's files."""

from pathlib import Path

import pytest

from virtual_cluster.slurm_conf import hosts_file, sbatch_script, slurm_conf
from virtual_cluster.spec import ClusterSpec, address_plan


def text(nodes: int) -> str:
    spec = ClusterSpec("x", nodes=nodes)
    addresses = address_plan(spec.node_names())
    return slurm_conf(spec, Path("/state/x"), addresses, 2, 3 << 30)


def test_each_node_has_its_line_and_low_numbers_come_first() -> None:
    lines = [line for line in text(3).splitlines() if line.startswith("NodeName=")]
    assert [line.split()[0] for line in lines] == ["NodeName=n1", "NodeName=n2", "NodeName=n3"]
    for word in ("Weight=1 ", "CPUs=2 ", "RealMemory=3072 "):
        assert word in lines[0]
    assert "Weight=3 " in lines[2]


def test_everything_lies_in_the_state_folder() -> None:
    paths = [word for word in text(2).replace("=", " ").split() if word.startswith("/")]
    assert all(path.startswith("/state/x/") or path in ("/bin/true",) for path in paths)


def test_hosts_know_each_other() -> None:
    hosts = hosts_file(address_plan(["n1", "n2"]))
    assert hosts.splitlines()[1:] == ["10.77.0.1 login", "10.77.0.11 n1", "10.77.0.12 n2"]


@pytest.mark.parametrize(
    ("line", "of"),
    [
        ("PartitionName=all Nodes=n1 Default=YES", text(1)),
        ("PartitionName=all Nodes=n[1-3] Default=YES", text(3)),
        ("JobRequeue=0", text(1)),  # no launch is repeated by Slurm
        # A refused submission keeps its exit status.
        ('"$@" || exit\n', sbatch_script("/usr/bin/sbatch", "n4")),
    ],
)
def test_files_have_these_lines(line: str, of: str) -> None:
    assert line in of
