# SPDX-License-Identifier: Apache-2.0
"""From what Slurm and the login node say to a proposed site.yaml, as data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.onboarding.asking import SlurmView, said
from assay.onboarding.modules import FoundMpi
from assay.onboarding.node_types import NodeType
from assay.onboarding.proof import Proof
from assay.onboarding.slurm_text import Limits
from assay.sites.description import EnvironmentKeys, SiteFile
from assay.sites.resolving import complete
from assay.sites.slurm import callers_access
from records.errors import AssayError
from records.node_facts import Nic, NodeFacts

#: What Slurm says of a wrong account or QOS, and not of nodes that are busy or away.
_NOT_ALLOWED = re.compile(
    r"account|qos|quality|association|permission|not allowed|policy|group|access", re.IGNORECASE
)
#: Family → its types of PMI in the order of preference.
_PMI = {
    "openmpi": ("pmix", "pmi2"),
    "mpich": ("pmi2", "pmix", "cray_shasta"),
    "mvapich": ("pmi2", "pmix"),
    "craympich": ("cray_shasta", "pmi2", "pmix"),
    "intelmpi": ("pmi2", "pmix"),
}
_TITLES = {
    "openmpi": "Open MPI",
    "mpich": "MPICH",
    "mvapich": "MVAPICH",
    "craympich": "Cray MPICH",
    "intelmpi": "Intel MPI",
}
_ETHERNET_FRAME_BYTES = 38
_TCP_HEADER_BYTES = 52


@dataclass(frozen=True)
class Access:
    """The options by which Slurm takes jobs: account and QOS; `tried` says what it refused."""

    options: tuple[str, ...]
    tried: tuple[str, ...] = ()


def find_access(view: SlurmView, partition: str, asked: Sequence[str] = ()) -> Access:
    """The first account and QOS with which Slurm would take a job in the partition.

    Asked by `sbatch --test-only`, which submits nothing. Raises AssayError where it takes none.
    """
    tried: list[str] = []
    for options in [tuple(asked)] if asked else _accesses(view, partition):
        words = ["sbatch", "--test-only", f"--partition={partition}", *callers_access(), *options]
        answer = said([*words, "--nodes=1", "--time=1", "--wrap=true"])
        if answer.status == 0 or not _NOT_ALLOWED.search(answer.stderr):
            return Access(options, tuple(tried))
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


def longest_job_s(view: SlurmView, kind: NodeType, access: Access) -> int | None:
    """The least of what partition, account and QOS allow; None where nothing limits it."""
    known = [limits.longest_job_s for limits in _limits(view, access)]
    return min((one for one in [kind.partition.longest_job_s, *known] if one), default=None)


def most_nodes(view: SlurmView, kind: NodeType, access: Access) -> int:
    """Nodes in service, no more than partition, account and QOS allow for a job."""
    known = [limits.most_nodes for limits in _limits(view, access)]
    limits = [one for one in [kind.partition.most_nodes, *known] if one]
    return min([kind.in_service, *limits])


def _limits(view: SlurmView, access: Access) -> Iterator[Limits]:
    words = [*callers_access(), *access.options]
    options = dict(option.lstrip("-").split("=", 1) for option in words)
    mine = [one for one in view.associations if one.account == options.get("account", one.account)]
    if mine:
        yield mine[0].limits
    names = [options["qos"]] if "qos" in options else list(mine[0].qos[:1]) if mine else []
    yield from (view.qos[name] for name in names if name in view.qos)


def partition_data(view: SlurmView, kind: NodeType, access: Access) -> dict[str, Any]:
    """The keys of a partition."""
    node = kind.nodes[0]
    data: dict[str, Any] = {
        "nodes": most_nodes(view, kind, access),
        "cores_per_node": node.cores,
        "sockets_per_node": node.sockets,
        "memory_bytes_per_node": min(one.memory_bytes for one in kind.nodes),
    }
    if kind.key != kind.partition.name:
        data["slurm_partition"] = kind.partition.name
    if kind.options:
        data["access"] = list(kind.options)
    if longest := longest_job_s(view, kind, access):
        data["longest_job_s"] = longest
    if resources := _resources(view, kind):
        data["resources"] = resources
    return data


def _resources(view: SlurmView, kind: NodeType) -> dict[str, list[str]]:
    """What cases may ask for there: GPUs, memory where Slurm gives it out, switches of a tree."""
    found = {"gpu": [f"--gres={kind.gpus}:{{count}}"]} if kind.gpus else {}
    if "MEMORY" in view.settings.get("SelectTypeParameters", "").upper():
        found["memory"] = ["--mem={megabytes}M"]
    if view.topology is not None:
        found["switches"] = ["--switches={count}"]
    return found


def environment_data(found: FoundMpi) -> dict[str, Any]:
    """The keys of an environment before it is proven."""
    title = _TITLES.get(found.family, found.family)
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
    wanted = _PMI.get(found.family, ("pmix", "pmi2", "cray_shasta"))
    options = [[f"--mpi={name}"] for name in wanted if name in mpi_types]
    ways: list[dict[str, Any]] = [
        {"launcher": "assay-srun", "launcher_options": one} for one in [*options, []]
    ]
    kinds = {"openmpi": ["assay-openmpi"], "mpich": ["assay-hydra"]}.get(
        found.family, ["assay-hydra", "assay-openmpi"]
    )
    for name in found.launchers:
        for kind in kinds if name.partition(".")[0] in ("mpirun", "mpiexec") else ():
            ways.append({"launcher": kind, "launcher_options": [], "mpirun": name})
    return [environment.model_copy(update=way) for way in ways]


def proven_data(
    data: dict[str, Any], ways: Mapping[str, Sequence[EnvironmentKeys]], proof: Proof
) -> dict[str, Any]:
    """The site's data with what was proven: launchers, libraries, the link; without what failed."""
    environments: dict[str, Any] = {}
    served: dict[str, list[str]] = {}
    for key, partition in proof.partitions.items():
        served[key] = [name for name, one in partition.environments.items() if not one.faults]
        for name in served[key]:
            one = partition.environments[name]
            assert one.way is not None
            way = ways[name][one.way]
            told: dict[str, Any] = {
                "launcher": way.launcher,
                "library": library_pattern(one.library or ""),
            }
            if way.launcher_options:
                told["launcher_options"] = way.launcher_options
            if way.mpirun:
                told["mpirun"] = way.mpirun
            if (one.standard or "0") >= "3":
                told["features"] = ["mpi", "mpi-3"]
            if not re.search(r"ch4:ucx", one.library or ""):
                told["preload"] = None
            merged = {**data["environments"][name], **told}
            environments.setdefault(name, {k: v for k, v in merged.items() if v is not None})
    partitions = {}
    for key, partition in proof.partitions.items():
        own = dict(data["partitions"][key])
        network = network_data(list(partition.nodes.values()))
        counted = [one.counted for one in partition.environments.values()]
        if counted and not any(counted) and False in counted:
            network["counted"] = False
        if network:
            own["network"] = network
        if set(served[key]) != set(environments):
            own["environments"] = served[key]
        partitions[key] = own
    builds = {
        one.builds_on
        for partition in proof.partitions.values()
        for one in partition.environments.values()
        if not one.faults
    }
    more = {"build_on": "job"} if "job" in builds else {}
    kept = {key: own for key, own in partitions.items() if served[key]}
    return {**data, **more, "partitions": kept, "environments": environments}


def library_pattern(library: str) -> str:
    """A regular expression of the name and the version, the patch level left open."""
    found = re.match(r".*?\d+\.\d+", library)
    head = found[0] if found else library[:60]
    return "^" + re.sub(r"([.()*+?\[\]{}^$|\\])", r"\\\1", head) + r"\b"


def network_data(nodes: Sequence[NodeFacts]) -> dict[str, Any]:
    """The fastest kind of link that every node has; nothing where no speed can be read."""
    best: tuple[float, Nic] | None = None
    for facts in nodes[:1]:
        for nic in facts.nics.values():
            rate = float(nic.bits_per_second or 0)
            active = (nic.state or "up") in ("up", "active", "linkup")
            if active and rate and (best is None or rate > best[0]):
                best = rate, nic
    if best is None:
        return {}
    rate, nic = best
    title = {"infiniband": "InfiniBand", "cxi": "Slingshot"}.get(nic.kind or "", "Ethernet")
    if (nic.driver or "").startswith("hfi1"):
        title = "Omni-Path"
    data: dict[str, Any] = {"name": f"{title} {rate / 1e9:g} Gbit/s", "bits_per_second": rate}
    if nic.kind == "ethernet" and nic.mtu_bytes:
        payload = (nic.mtu_bytes - _TCP_HEADER_BYTES) / (nic.mtu_bytes + _ETHERNET_FRAME_BYTES)
        data["payload_share"] = round(payload, 3)
    return data


def as_site_file(data: Mapping[str, Any]) -> SiteFile:
    """The data as the model has it, defaults of partitions resolved."""
    return SiteFile.model_validate(complete(data))
