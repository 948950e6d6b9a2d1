# SPDX-License-Identifier: Apache-2.0
"""What a foreign cluster is asked for, and the files that follow."""

from __future__ import annotations

from pathlib import Path

import pytest

from records.errors import AssayError
from setup.foreign_cluster import texts
from setup.foreign_cluster.spec import ForeignSpec, cores_of

TWO = ForeignSpec(
    "two",
    nodes=["thin[01-02] CPUs=1", "fat1 Sockets=2 CoresPerSocket=2 Gres=gpu:a100:2"],
    partitions=["small Nodes=thin[01-02] MaxTime=5", "all Default=YES"],
)


def test_nodes_of_two_types_have_their_cores_and_partitions():
    addresses = dict.fromkeys(["login", *TWO.cluster().node_names()], "10.77.0.1")
    conf = texts.slurm_conf(TWO, Path("/r"), addresses)
    assert TWO.cluster().node_names() == ["thin01", "thin02", "fat1"]
    assert [cores_of(line) for line in TWO.node_lines()] == [1, 4]
    assert "NodeName=thin[01-02] RealMemory=2000 CPUs=1\n" in conf
    assert "NodeName=fat1 RealMemory=2000 Sockets=2 CoresPerSocket=2 Gres=gpu:a100:2\n" in conf
    assert "PartitionName=small Nodes=thin[01-02] MaxTime=5\n" in conf
    assert "PartitionName=all Nodes=ALL Default=YES\n" in conf
    assert "GresTypes=gpu\n" in conf
    assert texts.gres_conf(TWO, Path("/d")) == "NodeName=fat1 Name=gpu Type=a100 File=/d/gpu[0-1]\n"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"nodes": ["c[001-003] CPUs"]}, "'CPUs' is not KEY=VALUE"),
        ({"nodes": ["c[001-"]}, "write e.g. c"),
        ({"users": ["root me"]}, "allowed are up to 16"),
        ({"modules": ["mpich=mpich"]}, "write NAME/VERSION=FAMILY"),
    ],
)
def test_what_cannot_be_made_is_refused(given, said):
    with pytest.raises(AssayError, match=said):
        ForeignSpec(**given)


def test_programs_of_mpi_and_debian_are_hidden_and_no_others():
    shown = ["gcc", "python3", "srun", "make", "git", "gfortran", "apptainer", "printf", "lastlog"]
    assert not any(map(texts.is_hidden, shown))
    assert all(map(texts.is_hidden, ["mpicc", "mpirun.lam", "orterun", "hydra_pmi_proxy", "dpkg"]))


def test_a_module_has_the_programs_of_its_library_alone():
    programs = ["mpicc.mpich", "mpicc.openmpi", "mpirun.mpich", "hydra_pmi_proxy", "orted", "gcc"]
    found = texts.module_programs("mpich", programs)
    assert found == {
        "mpicc": "mpicc.mpich",
        "mpirun": "mpirun.mpich",
        "hydra_pmi_proxy": "hydra_pmi_proxy",
    }
    assert set(texts.module_programs("openmpi", programs)) == {"mpicc", "orted"}
