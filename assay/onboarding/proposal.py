# SPDX-License-Identifier: Apache-2.0
"""A site.yaml proposed from the answers of Slurm and the login node, proven by jobs: its data, then
its text."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from assay.onboarding.mpi import FoundMpi
from assay.onboarding.slurm_view import NodeType, SlurmView, answer_of
from assay.probe.probe import Probes, spoken
from assay.probe.trials import ProbeResult, faults_of, trial_of
from assay.sites.description import EnvironmentKeys, SiteFile, of_partition
from assay.sites.loading import SlurmSite, callers_access
from assay.sites.values import expanded
from assay.terminal import Say
from checks.common.slurm.job import Allocation
from records.errors import AssayError, InfrastructureError
from records.site.node_facts import NodeFacts
from records.waiting import ATTEMPT_S, scaled

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
_ETHERNET_FRAME_BYTES, _TCP_HEADER_BYTES = 38, 52
#: Seconds of a job besides its attempts: a build, slow file systems.
_JOB_S = 240

#: Ways to start the ranks of each environment, the first right one is kept.
Ways = Mapping[str, Sequence[EnvironmentKeys]]


@dataclass(frozen=True)
class EnvironmentProof:
    """An environment on one kind of nodes. `faults`: why it is not proven; `nodes`: facts of those
    that its job met; `keys`: those that follow from the ranks' evidence (None: left out), with
    `started`: how, and the library; `counted`: whether interface counters saw its messages (None:
    not asked between nodes); `on_node`: its programs do not compile where Assay is called.
    """

    faults: Sequence[str]
    nodes: Mapping[str, NodeFacts]
    keys: Mapping[str, Any]
    started: str
    counted: bool | None
    on_node: bool


#: Proofs by partition and environment.
Proof = dict[str, dict[str, EnvironmentProof]]


def must_take_jobs(partition: str, access: Sequence[str]) -> None:
    """Raise AssayError where Slurm takes no job in the partition with these options.

    Asked by `sbatch --test-only`, which submits nothing.
    """
    words = [f"--partition={partition}", *callers_access(), *access, "--nodes=1", "--time=1"]
    answer = answer_of("sbatch", "--test-only", *words, "--wrap=true")
    if answer.status and _NOT_ALLOWED.search(answer.stderr):
        raise AssayError(
            f"Slurm takes no job of yours in partition {partition}"
            f" ({' '.join(access) or 'no options'}): {answer.said}. Name account and QOS with"
            " --account and --qos (sacctmgr show assoc user=$USER lists yours), or other"
            " partitions with --partition"
        )


def partition_data(view: SlurmView, kind: NodeType, access: Sequence[str]) -> dict[str, Any]:
    """The keys of a partition: nodes in service, the partition's limits, and what cases may ask
    for: GPUs, memory where Slurm gives it out, switches of a tree."""
    node, partition = kind.nodes[0], kind.partition
    resources = {"gpu": [f"--gres={kind.gpus}:{{count}}"]} if kind.gpus else {}
    if "MEMORY" in view.settings.get("SelectTypeParameters", "").upper():
        resources["memory"] = ["--mem={megabytes}M"]
    if view.topology:
        resources["switches"] = ["--switches={count}"]
    data = {
        "nodes": min(kind.in_service, partition.most_nodes or kind.in_service),
        "cores_per_node": node.cores,
        "sockets_per_node": node.sockets,
        "memory_bytes_per_node": min(one.memory_bytes for one in kind.nodes),
        "slurm_partition": partition.name if kind.key != partition.name else None,
        "access": [*access, *kind.options],
        "longest_job_s": partition.longest_job_s,
        "resources": resources,
        "topology": {"slurm": "topology.conf"} if view.topology else None,
    }
    return {key: value for key, value in data.items() if value or isinstance(value, int)}


def environment_data(mpi: FoundMpi) -> dict[str, Any]:
    """The keys of an environment before it is proven."""
    title, _ = _FAMILIES.get(mpi.family, (mpi.family, ()))
    data: dict[str, Any] = {
        "description": f"{title} {mpi.version}".strip(),
        "compiler": mpi.wrapper,
        "launcher": "assay-srun",
        "library": ".",
    }
    if mpi.modules:
        data["modules"] = list(mpi.modules)
    if mpi.family == "mpich" and mpi.version.startswith("4.0"):
        data["preload"] = "libassay_ucx.so"  # MPICH 4.0 over UCX may hang in MPI_Finalize
    return data


def ways_of(
    mpi: FoundMpi, environment: EnvironmentKeys, mpi_types: Sequence[str]
) -> list[EnvironmentKeys]:
    """Ways to start ranks: srun with each PMI that suits, srun alone, then mpirun, mpiexec."""
    _, wanted = _FAMILIES.get(mpi.family, ("", _ANY_PMI))
    options = [[f"--mpi={name}"] for name in wanted if name in mpi_types]
    kinds = {"openmpi": ["assay-openmpi"], "mpich": ["assay-hydra"]}
    ways: list[dict[str, Any]] = [
        *({"launcher": "assay-srun", "launcher_options": words} for words in [*options, []]),
        *(
            {"launcher": kind, "launcher_options": [], "mpirun": name}
            for name in mpi.launchers
            if Path(name).stem in ("mpirun", "mpiexec")
            for kind in kinds.get(mpi.family, ["assay-hydra", "assay-openmpi"])
        ),
    ]
    return [environment.model_copy(update=way) for way in ways]


def proven_data(data: dict[str, Any], proof: Proof) -> dict[str, Any]:
    """The site's data with what was proven: launchers, libraries, the link; without what failed.
    Raises InfrastructureError where that is all."""
    environments: dict[str, Any] = {}
    partitions: dict[str, Any] = {}
    served = {
        key: {name: environment for name, environment in tried.items() if not environment.faults}
        for key, tried in proof.items()
    }
    for proven in served.values():
        for name, environment in proven.items():
            keys = {**data["environments"][name], **environment.keys}
            environments.setdefault(name, {key: value for key, value in keys.items() if value})
    for key, proven in served.items():
        if not proven:
            continue
        own = dict(data["partitions"][key])
        network = network_data(next(iter(proven.values())).nodes)
        counted = [environment.counted for environment in proven.values()]
        if not any(counted) and False in counted:
            network["counted"] = False
        if network:
            own["network"] = network
        if proven.keys() != environments.keys():
            own["environments"] = list(proven)
        partitions[key] = own
    if not environments:
        raise InfrastructureError(
            "no environment could be proven, so nothing was written; see the reasons above"
        )
    on_job = any(proof.on_node for proven in served.values() for proof in proven.values())
    more = {"build_on": "job"} if on_job else {}
    return {**data, **more, "partitions": partitions, "environments": environments}


def library_pattern(library: str) -> str:
    """A regular expression of the name and the version, the patch level left open."""
    version = re.match(r".*?\d+\.\d+", library)
    head = version[0] if version else library[:60]
    return "^" + re.sub(r"([.()*+?\[\]{}^$|\\])", r"\\\1", head) + r"\b"


def network_data(nodes: Mapping[str, NodeFacts]) -> dict[str, Any]:
    """The fastest kind of link of the first node; nothing where no speed can be read."""
    rates = [
        (float(nic.bits_per_second), nic)
        for facts in [*nodes.values()][:1]
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


def site_text(data: Mapping[str, Any], cluster: str) -> str:
    """The file: `data` in the order of its keys, below a comment on its origin."""
    today = datetime.now(UTC).date().isoformat()
    head = f"""\
# SPDX-License-Identifier: Apache-2.0
# {cluster}: written by `assay site init`, proven by jobs on {today}.
# Every key is explained in docs/sites.md.
# For roofs in reports add to a partition: core_peak_flop_per_s, memory_bytes_per_second (nominal
# rates of a core and of a node's memory), network: {{bits_per_second: ...}} where it is missing.
"""
    text = yaml.safe_dump(
        dict(data),
        default_flow_style=None,
        sort_keys=False,
        width=10**6,
        allow_unicode=True,
    )
    return f"{head}{text}"


def prove(
    file: SiteFile, ways: Ways, work_dir: str, say: Say, allocation: Allocation | None = None
) -> Proof:
    """Prove every partition of a site, by jobs or by steps of an allocation.

    Raises AssayError where the work folder is not shared or Slurm refuses the jobs for good.
    """
    proof = {}
    for partition in file.partitions:
        site = SlurmSite(of_partition(file, partition))
        with Probes(site, expanded(work_dir), spoken(say), allocation=allocation) as probes:
            proof[partition] = _environments(site, probes, ways, say)
    return proof


def _environments(
    site: SlurmSite, probes: Probes, ways: Ways, say: Say
) -> dict[str, EnvironmentProof]:
    """Proofs by a job for each environment, on two nodes where there are two."""
    described, partition = site.description, site.description.partition
    nodes, per_node = min(2, described.nodes), min(2, described.cores_per_node)
    names = [name for name in described.environments if name in ways]
    trials = {name: trial_of(site, name, nodes * per_node, per_node, ways[name]) for name in names}
    on_nodes = probes.build_on_login([*trials.values()])
    for name in on_nodes:
        say(f"{name} does not compile on this machine; its job tries it on a node")
    say(f"{partition}: probe jobs of {', '.join(names)} on {nodes} node{'s' * (nodes > 1)}")
    jobs = {
        name: probes.submit(
            f"assay-{partition}-{name}",
            nodes,
            per_node,
            [trial],
            limit_s=int(_JOB_S + len(ways[name]) * (scaled(ATTEMPT_S) + 5)),
        )
        for name, trial in trials.items()
    }
    proofs = {}
    for name, result in jobs.items():
        proof = _judged(site, ways[name], name, result(), per_node, on_node=name in on_nodes)
        faults = f"is not proven: {'; '.join(proof.faults)}"
        proven = f"is proven, started by {proof.started}"
        say(f"{partition}: {name} {faults if proof.faults else proven}")
        if proof.counted is False:
            say(f"{name}: no interface counter saw its messages between nodes")
        proofs[name] = proof
    return proofs


def _judged(
    site: SlurmSite,
    ways: Sequence[EnvironmentKeys],
    name: str,
    result: ProbeResult,
    per_node: int,
    *,
    on_node: bool,
) -> EnvironmentProof:
    """Proof of an environment by its job; `on_node`: its programs are built there."""
    trial, attempt = result.trials[name], result.trials[name].right
    counted, started, keys = None, "", dict[str, Any]()
    if attempt and (evidence := attempt.evidence):
        if len(result.allocated) > 1:  # receivers' interfaces are to have seen it
            links = evidence.links
            counted = bool(links) and all(link.arrived_bytes >= link.sent_bytes for link in links)
        way, library = ways[trial.attempts.index(attempt)], evidence.library
        started = f"`{attempt.label}`: {library.partition(';')[0]}"
        keys = {
            "launcher": way.launcher,
            "library": library_pattern(library),
            "launcher_options": way.launcher_options,
            "mpirun": way.mpirun,
            "features": ["mpi", "mpi-3"] if (evidence.standard or "0") >= "3" else None,
            "preload": way.preload if "ch4:ucx" in library else None,
        }
    faults = faults_of(site, name, result, per_node, counted=bool(counted))
    return EnvironmentProof(faults, result.nodes, keys, started, counted, on_node)
