# SPDX-License-Identifier: Apache-2.0
"""From what Slurm and the login node say to a proposed site.yaml, as data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assay.onboarding.mpi_search import FoundMpi
from assay.onboarding.node_types import NodeType
from assay.onboarding.proof import EnvironmentProof, Proof
from assay.onboarding.slurm_view import Partition, SlurmLimits, SlurmView, said
from assay.sites.description import EnvironmentKeys
from assay.sites.slurm import callers_access
from records.errors import AssayError
from records.site.node_facts import NodeFacts

#: What Slurm says of a wrong account or QOS, and not of nodes that are busy or away.
_NOT_ALLOWED = re.compile(
    r"account|qos|quality|association|permission|not allowed|policy|group|access", re.IGNORECASE
)
#: Family → its title, and its types of PMI in the order of preference.
_FAMILIES = {
    "openmpi": ("Open MPI", ("pmix", "pmi2")),
    "mpich": ("MPICH", ("pmi2", "pmix", "cray_shasta")),
    "mvapich": ("MVAPICH", ("pmi2", "pmix")),
    "craympich": ("Cray MPICH", ("cray_shasta", "pmi2", "pmix")),
    "intelmpi": ("Intel MPI", ("pmi2", "pmix")),
}
_ANY_PMI = ("pmix", "pmi2", "cray_shasta")
_ETHERNET_FRAME_BYTES = 38
_TCP_HEADER_BYTES = 52


#: Options by which Slurm takes jobs: account and QOS.
Access = tuple[str, ...]


def find_access(view: SlurmView, partition: str, asked: Sequence[str] = ()) -> Access:
    """The first account and QOS with which Slurm would take a job in the partition.

    Asked by `sbatch --test-only`, which submits nothing. Raises AssayError where it takes none.
    """
    tried: list[str] = []
    for options in [tuple(asked)] if asked else _accesses(view, partition):
        words = ["sbatch", "--test-only", f"--partition={partition}", *callers_access(), *options]
        answer = said([*words, "--nodes=1", "--time=1", "--wrap=true"])
        if answer.status == 0 or not _NOT_ALLOWED.search(answer.stderr):
            return options
        tried.append(f"{' '.join(options) or 'no options'}: {answer.said}")
    raise AssayError(
        f"Slurm takes no job of yours in partition {partition}: {'; '.join(tried)}. Name account"
        " and QOS with --account and --qos, or another partition with --partition"
    )


def _accesses(view: SlurmView, partition: str) -> Iterator[tuple[str, ...]]:
    """Accounts, the user's default first, each without a QOS, then with those that it has."""
    allowed = view.partitions[partition]
    for one in view.associations:
        if allowed.accounts is None or one.account in allowed.accounts:
            account = f"--account={one.account}"
            yield (account,)
            names = [name for name in one.qos if allowed.qos is None or name in allowed.qos]
            yield from ((account, f"--qos={name}") for name in names)
    yield ()


def _limits(view: SlurmView, access: Access) -> Iterator[SlurmLimits]:
    """What account and QOS allow."""
    words = [*callers_access(), *access]
    options = dict(option.lstrip("-").split("=", 1) for option in words)
    mine = [one for one in view.associations if one.account == options.get("account", one.account)]
    if mine:
        yield mine[0].limits
    names = [options["qos"]] if "qos" in options else list(mine[0].qos[:1]) if mine else []
    yield from (view.qos[name] for name in names if name in view.qos)


def partition_data(view: SlurmView, kind: NodeType, access: Access) -> dict[str, Any]:
    """The keys of a partition: nodes in service and times within all limits, and what cases may
    ask for: GPUs, memory where Slurm gives it out, switches of a tree."""
    node = kind.nodes[0]
    limits: list[Partition | SlurmLimits] = [kind.partition, *_limits(view, access)]
    longest = min((one.longest_job_s for one in limits if one.longest_job_s), default=None)
    resources = {"gpu": [f"--gres={kind.gpus}:{{count}}"]} if kind.gpus else {}
    if "MEMORY" in view.settings.get("SelectTypeParameters", "").upper():
        resources["memory"] = ["--mem={megabytes}M"]
    if view.topology is not None:
        resources["switches"] = ["--switches={count}"]
    data = {
        "nodes": min([kind.in_service, *(one.most_nodes for one in limits if one.most_nodes)]),
        "cores_per_node": node.cores,
        "sockets_per_node": node.sockets,
        "memory_bytes_per_node": min(one.memory_bytes for one in kind.nodes),
        "slurm_partition": kind.partition.name if kind.key != kind.partition.name else None,
        "access": list(kind.options),
        "longest_job_s": longest,
        "resources": resources,
    }
    return {key: value for key, value in data.items() if value or isinstance(value, int)}


def environment_data(found: FoundMpi) -> dict[str, Any]:
    """The keys of an environment before it is proven."""
    title, _ = _FAMILIES.get(found.family, (found.family, ()))
    data: dict[str, Any] = {
        "description": f"{title} {found.version}".strip(),
        "compiler": found.wrapper,
        "launcher": "assay-srun",
        "library": ".",
    }
    if found.modules:
        data["modules"] = list(found.modules)
    if found.family == "mpich" and found.version.startswith("4.0"):
        data["preload"] = "libassay_ucx.so"  # MPICH 4.0 over UCX may hang in MPI_Finalize
    return data


def ways_of(
    found: FoundMpi, environment: EnvironmentKeys, mpi_types: Sequence[str]
) -> list[EnvironmentKeys]:
    """Ways to start ranks: srun with each PMI that suits, srun alone, then mpirun, mpiexec."""
    _, wanted = _FAMILIES.get(found.family, ("", _ANY_PMI))
    options = [[f"--mpi={name}"] for name in wanted if name in mpi_types]
    kinds = {"openmpi": ["assay-openmpi"], "mpich": ["assay-hydra"]}
    ways: list[dict[str, Any]] = [
        *({"launcher": "assay-srun", "launcher_options": one} for one in [*options, []]),
        *(
            {"launcher": kind, "launcher_options": [], "mpirun": name}
            for name in found.launchers
            if name.partition(".")[0] in ("mpirun", "mpiexec")
            for kind in kinds.get(found.family, ["assay-hydra", "assay-openmpi"])
        ),
    ]
    return [environment.model_copy(update=way) for way in ways]


def proven_data(
    data: dict[str, Any], ways: Mapping[str, Sequence[EnvironmentKeys]], proof: Proof
) -> dict[str, Any]:
    """The site's data with what was proven: launchers, libraries, the link; without what failed."""
    environments: dict[str, Any] = {}
    partitions: dict[str, Any] = {}
    served: dict[str, list[str]] = {}
    on_job = False
    for key, partition in proof.partitions.items():
        served[key] = [name for name, one in partition.environments.items() if not one.faults]
        for name in served[key]:
            one = partition.environments[name]
            on_job |= one.builds_on == "job"
            assert one.way is not None
            proven = _proven_keys(data["environments"][name], ways[name][one.way], one)
            environments.setdefault(name, proven)
    for key in (key for key, names in served.items() if names):
        partition, own = proof.partitions[key], dict(data["partitions"][key])
        network = network_data(list(partition.nodes.values()))
        counted = [one.counted for one in partition.environments.values()]
        if not any(counted) and False in counted:
            network["counted"] = False
        if network:
            own["network"] = network
        if set(served[key]) != set(environments):
            own["environments"] = served[key]
        partitions[key] = own
    more = {"build_on": "job"} if on_job else {}
    return {**data, **more, "partitions": partitions, "environments": environments}


def _proven_keys(
    proposed: Mapping[str, Any], way: EnvironmentKeys, one: EnvironmentProof
) -> dict[str, Any]:
    """The keys of an environment, with those that follow from its proof."""
    library = one.library or ""
    keys = {
        **proposed,
        "launcher": way.launcher,
        "library": library_pattern(library),
        "launcher_options": way.launcher_options,
        "mpirun": way.mpirun,
        "features": ["mpi", "mpi-3"] if (one.standard or "0") >= "3" else None,
        "preload": proposed.get("preload") if "ch4:ucx" in library else None,
    }
    return {key: value for key, value in keys.items() if value}


def library_pattern(library: str) -> str:
    """A regular expression of the name and the version, the patch level left open."""
    found = re.match(r".*?\d+\.\d+", library)
    head = found[0] if found else library[:60]
    return "^" + re.sub(r"([.()*+?\[\]{}^$|\\])", r"\\\1", head) + r"\b"


def network_data(nodes: Sequence[NodeFacts]) -> dict[str, Any]:
    """The fastest kind of link that every node has; nothing where no speed can be read."""
    rates = [
        (float(nic.bits_per_second), nic)
        for facts in nodes[:1]
        for nic in facts.nics.values()
        if nic.bits_per_second and (nic.state or "up") in ("up", "active", "linkup")
    ]
    if not rates:
        return {}
    rate, nic = max(rates, key=lambda pair: pair[0])
    title = {"infiniband": "InfiniBand", "cxi": "Slingshot"}.get(nic.kind or "", "Ethernet")
    if (nic.driver or "").startswith("hfi1"):
        title = "Omni-Path"
    data: dict[str, Any] = {"name": f"{title} {rate / 1e9:g} Gbit/s", "bits_per_second": rate}
    if nic.kind == "ethernet" and nic.mtu_bytes:
        payload = (nic.mtu_bytes - _TCP_HEADER_BYTES) / (nic.mtu_bytes + _ETHERNET_FRAME_BYTES)
        data["payload_share"] = round(payload, 3)
    return data
