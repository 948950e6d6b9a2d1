# SPDX-License-Identifier: Apache-2.0
"""What Slurm and module systems print becomes a proposal; texts as several versions print them, of
Slurm every one from 20.11 to 24.11."""

from pathlib import Path

import pytest
import yaml

from assay.onboarding import slurm_view
from assay.onboarding.mpi import named_modules, names_of, needed_modules
from assay.onboarding.proposal import library_pattern, network_data, site_text
from assay.sites.description import SiteFile
from assay.sites.site_file import complete
from checks.common.slurm.commands import fields, is_down, slurm_seconds
from checks.common.slurm.job import waits_in_vain
from records.site.node_facts import Nic, NodeFacts

#: One line of `scontrol show node -o`, Slurm 20.11 on CentOS 7: CPUs are threads.
NODE_20_11 = (
    "NodeName=nid0001 Arch=x86_64 CoresPerSocket=64 CPUAlloc=0 CPUTot=256 CPULoad=0.01"
    " AvailableFeatures=rome,ib ActiveFeatures=rome,ib Gres=(null) NodeAddr=nid0001"
    " NodeHostName=nid0001 Version=20.11.9 OS=Linux 3.10.0-1160.el7.x86_64 #1 SMP Mon Oct 19"
    " RealMemory=257400 AllocMem=0 FreeMem=240000 Sockets=2 Boards=1 State=IDLE"
    " ThreadsPerCore=2 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A Partitions=compute,debug"
    " BootTime=2022-01-01T00:00:00 CfgTRES=cpu=256,mem=257400M,billing=256 AllocTRES= CapWatts=n/a"
)
#: Slurm 23.11: cores kept for the system, GPUs, a reason with blanks.
NODE_23_11 = (
    "NodeName=gpu01 Arch=x86_64 CoresPerSocket=32 CPUAlloc=0 CPUEfctv=60 CPUTot=64 CPULoad=0.00"
    " AvailableFeatures=milan,a100,ib ActiveFeatures=milan,a100,ib"
    " Gres=gpu:a100:4(S:0-1),tmp:100 NodeAddr=gpu01 NodeHostName=gpu01 Version=23.11.4"
    " RealMemory=512000 AllocMem=0 FreeMem=1 Sockets=2 Boards=1 CoreSpecCount=4 MemSpecLimit=4096"
    " State=IDLE+DRAIN ThreadsPerCore=1 Partitions=gpu,compute"
    " Reason=replace fan 3 [root@2024-03-01T10:00:00]"
)
PARTITIONS = """\
PartitionName=debug AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL Default=YES Hidden=NO \
MaxNodes=4 MaxTime=00:30:00 RootOnly=NO ReqResv=NO PreemptMode=OFF State=UP DefMemPerNode=UNLIMITED
PartitionName=compute AllowGroups=ALL DenyAccounts=x AllowQos=normal,long Default=NO \
MaxNodes=UNLIMITED MaxTime=2-00:00:00 RootOnly=NO ReqResv=NO PreemptMode=OFF State=UP \
DefMemPerCPU=2000
PartitionName=scavenge AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL MaxTime=UNLIMITED \
PreemptMode=REQUEUE State=UP RootOnly=NO
PartitionName=gpu AllowGroups=gpuusers AllowAccounts=ALL AllowQos=ALL MaxTime=1-00:00:00 State=UP
PartitionName=old AllowGroups=ALL MaxTime=1:00:00 State=INACTIVE
"""


def nodes(line, count, **changes):
    found = []
    for number in range(1, count + 1):
        text = line.replace("nid0001", f"nid{number:04}").replace("gpu01", f"gpu{number:02}")
        for key, value in changes.items():
            text = text.replace(f"{key}={slurm_view.fields_of(line)[key]}", f"{key}={value}")
        found.append(text)
    return slurm_view.nodes_of("\n".join(found))


def kinds_of(*found):
    return slurm_view.node_types(found, slurm_view.partitions_of(PARTITIONS, frozenset()).values())


def test_nodes_of_several_versions():
    (old,), (new,) = nodes(NODE_20_11, 1), nodes(NODE_23_11, 1)
    assert (old.sockets, old.cores, old.threads_per_core) == (2, 128, 2)
    assert (old.memory_bytes, old.in_service, old.gres) == (257400 << 20, True, ())
    assert (new.cores, new.memory_bytes) == (60, (512000 - 4096) << 20)
    assert (new.gres, new.in_service) == (("gpu:a100:4", "tmp:100"), False)
    (one,) = slurm_view.nodes_of(NODE_23_11.replace("Partitions=gpu,compute", "Partitions=all"))
    assert one.partitions == ("all",)
    # What people write of a node is none of its facts.
    reason = "Reason=lost Gres=none, was CPUTot=2 State=IDLE [root@2024-03-01T10:00:00]"
    (node,) = slurm_view.nodes_of(NODE_23_11[: NODE_23_11.index("Reason=")] + reason)
    assert (node.cores, node.gres, node.in_service) == (60, ("gpu:a100:4", "tmp:100"), False)


def test_partitions_that_a_user_may_use():
    found = slurm_view.partitions_of(PARTITIONS, frozenset({"users"}))
    assert {name for name, one in found.items() if one.usable} == {"debug", "compute", "scavenge"}
    assert found["compute"].limits_memory
    assert found["scavenge"].preemptible
    assert found["debug"].most_nodes == 4
    assert slurm_view.partitions_of(PARTITIONS, frozenset({"gpuusers"}))["gpu"].usable


def test_a_kind_of_nodes_goes_to_the_partition_for_long_jobs_whatever_little_memory_differs():
    other = NODE_20_11.replace("nid0001", "nid0004")
    (kind,) = kinds_of(*nodes(NODE_20_11, 3), *nodes(other, 1, RealMemory="257300"))
    assert (kind.key, kind.partition.name) == ("compute", "compute")
    assert kind.options == ["--mem=0"]


def test_two_kinds_of_nodes_in_one_partition_are_told_apart():
    thin = nodes(NODE_20_11, 3)
    first, second = kinds_of(*thin, *nodes(NODE_23_11, 2, State="IDLE"))
    assert (first.key, first.in_service) == ("compute-rome", 3)
    assert first.options[0] == "--constraint=rome"
    assert (second.key, second.in_service, second.gpus) == ("compute-a100", 2, "gpu")
    same = nodes(NODE_23_11, 2, AvailableFeatures="rome,ib", State="IDLE")
    first, second = kinds_of(*thin, *same)
    assert first.options[0] == "--exclude=gpu[01-02]"
    assert (second.key, second.options[0]) == ("compute-gpu-a100-4", "--exclude=nid[0001-0003]")


def test_a_tree_of_switches_is_lines_of_a_topology_conf():
    leaf = "SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=t[01-02]"
    top = "SwitchName=top Level=1 LinkSpeed=1 {}Switches=leaf1"
    assert slurm_view.switches_of(f"{leaf}\n{top.format('Nodes=t[01-02] ')}\n") == [
        leaf,
        top.format(""),
    ]
    assert slurm_view.switches_of(f"{leaf}\n") == []


SPIDER = """
  openmpi: openmpi/4.1.5
----------------------------------------------------------------------------

    You will need to load all module(s) on any one of the lines below before the \
"openmpi/4.1.5" module is available to load.

      gcc/12.3.0
      intel/2023.1  slurm/1

    Help:
      gcc/1 is not one of them
"""


def test_ways_through_a_hierarchy():
    assert needed_modules(SPIDER) == [("gcc/12.3.0",), ("intel/2023.1", "slurm/1")]
    assert needed_modules("This module can be loaded directly: module load x/1\n") == []


@pytest.mark.parametrize(
    ("why", "named"),
    [
        (  # Environment Modules 4
            "WARNING: mpich/4.0 cannot be loaded due to missing prereq. HINT: the following module"
            " must be loaded first: gcc",
            ["mpich/4.0", "gcc/13.1"],
        ),
        (  # 5
            "ERROR: Module cannot be loaded due to missing prereq. HINT: at least one of the"
            " following modules must be loaded first: gcc@12: stage/2",
            ["gcc/13.1"],
        ),
        (  # Lmod
            'Cannot load "mpich/4.0" without these module(s) loaded: between("gcc","9","13")',
            ["mpich/4.0", "gcc/13.1"],
        ),
        ('(file "/opt/modules/gcc/12.3" line 2)', []),
    ],
)
def test_modules_that_a_failure_names(why, named):
    known = ["mpich/4.0", "gcc/12.3", "gcc/13.1", "compiler/gcc-12", "compiler/intel"]
    assert named_modules(why, known) == named


def test_terse_listings():
    listing = (
        "/opt/modulefiles:\nmpich/\nmpich/4.0\nOpenMPI/4.1.5-GCC-12.3.0\ngcc/12(default)\n"
        "git\nLmod has detected the following error: none\n"
    )
    assert names_of(listing) == ["mpich/4.0", "OpenMPI/4.1.5-GCC-12.3.0", "gcc/12", "git"]


@pytest.mark.parametrize(
    ("library", "pattern"),
    [
        ("MPICH 4.0.2; MPICH Device: ch4:ucx", r"^MPICH 4\.0\b"),
        ("Open MPI v4.1.4, package: x", r"^Open MPI v4\.1\b"),
        ("Intel(R) MPI Library 2021.9 for Linux* OS", r"^Intel\(R\) MPI Library 2021\.9\b"),
    ],
)
def test_a_library_is_known_by_name_and_version(library, pattern):
    assert library_pattern(library) == pattern


def test_the_fastest_link_is_the_network():
    ethernet = Nic(kind="ethernet", state="up", bits_per_second=25e9, mtu_bytes=1500, driver="mlx5")
    port = Nic(kind="infiniband", state="active", bits_per_second=100e9)
    down = Nic(kind="infiniband", state="down", bits_per_second=400e9)
    assert network_data({"n1": NodeFacts(nics={"a": ethernet, "b": port, "c": down})}) == {
        "name": "InfiniBand 100 Gbit/s",
        "bits_per_second": 100e9,
    }
    assert network_data({"n1": NodeFacts(nics={"a": ethernet})})["payload_share"] == 0.941
    assert network_data({"n1": NodeFacts()}) == {}


def test_the_written_file_says_what_was_found():
    network = {"name": "x", "bits_per_second": 1e11, "counted": False}
    size = {"nodes": 3, "cores_per_node": 128, "memory_bytes_per_node": 2**38}
    access = {"slurm_partition": "compute", "access": ["--constraint=rome"]}
    more = {"resources": {"gpu": ["--gres=gpu:{count}"]}, "network": network}
    mpi = {"description": "Open MPI 4.1.4: yes", "compiler": "mpicc", "launcher": "assay-srun"}
    mpi |= {"launcher_options": ["--mpi=pmix"], "library": r"^Open MPI v4\.1\b"}
    data = {"schema": 2, "name": "held-out", "description": "cluster x, Slurm 23.11.4"}
    data |= {"modules_system": "lmod", "work_dir": "$SCRATCH/assay"}
    data["partitions"] = {"compute-rome": {**size, **access, **more}}
    data["environments"] = {"openmpi": {**mpi, "modules": ["gcc/12", "openmpi/4.1"]}}
    text = site_text(data, "x")
    assert yaml.safe_load(text) == data
    SiteFile.model_validate(complete(yaml.safe_load(text)))
    assert len(text.splitlines()) <= 45


OUTPUTS = yaml.safe_load(Path(__file__).with_name("slurm_outputs.yaml").read_text())


def of(kind):
    """The recorded outputs of a kind, a version a case."""
    return pytest.mark.parametrize("told", OUTPUTS[kind].values(), ids=OUTPUTS[kind].keys())


@of("jobs")
def test_a_job_is_read(told):
    found = fields(told["text"])
    assert {name: found.get(name) for name in told["fields"]} == {
        name: str(value) for name, value in told["fields"].items()
    }
    started = found["StartTime"]
    assert (slurm_seconds(started) is None) == (started == "Unknown")
    if told["verdict"]:
        assert not waits_in_vain(found["Reason"])


@of("nodes")
def test_a_node_is_read(told):
    (node,) = slurm_view.nodes_of(told["text"])
    assert (node.cores, node.in_service) == (told["cores"], told["in_service"])


@of("partitions")
def test_a_partition_is_read(told):
    (partition,) = slurm_view.partitions_of(told["text"], frozenset({"phys"})).values()
    assert partition.longest_job_s == told["longest_job_s"]
    assert partition.usable == told["usable"]


@of("mpi")
def test_the_ways_to_start_ranks_are_read(told):
    assert sorted(slurm_view.mpi_types_of(told["text"])) == told["types"]


@pytest.mark.parametrize(("kind", "gone"), [("gone", True), ("others", False)])
def test_a_node_is_gone_and_one_that_is_busy_drained_or_saves_power_is_not(kind, gone):
    assert [state for state in OUTPUTS["states"][kind] if is_down(state) != gone] == []
