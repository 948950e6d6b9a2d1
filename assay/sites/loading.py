# SPDX-License-Identifier: Apache-2.0
"""From the --site of a command line to a site in use."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from assay.commands import login_environment
from assay.sites.description import NetworkDescription, SiteDescription, StorageDescription
from assay.sites.site import Site
from assay.sites.site_file import chosen, read_site_file, site_file
from assay.sites.values import expanded
from checks.common.registry import add_folder
from records.errors import AssayError, UnreachableError
from records.run.provenance import SiteAsRun
from records.site.topology import TopologyDescription
from reports.notation.units import count_text
from virtual_cluster.api import Cluster, load, planned
from virtual_cluster.namespaces import SEEN
from virtual_cluster.session_python import python_words

_OPTION_VALUE = re.compile(r"[\w.,@%+=:/-]+")
_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)")
#: Variables that a site's file does not take from the caller's shell.
_OF_A_SHELL = re.compile(r"HOME|USER|LOGNAME|SHELL|PWD|.*PATH|LD_.*|(SLURM|SBATCH|SRUN)_.*")
#: Variables by which a caller names account, QOS and reservation, with the option of each.
CALLERS_OPTIONS = {
    "SBATCH_ACCOUNT": "--account",
    "SBATCH_QOS": "--qos",
    "SBATCH_RESERVATION": "--reservation",
}
#: A segment of 1448 bytes takes a frame's room on the wire, preamble and gap included.
PAYLOAD_SHARE = 1448 / 1538


def load_site(name: str) -> Site:
    """The site called `name` in site-config/, with its first partition.

    `NAME:PARTITION` is another partition, `virtual:CLUSTER` a virtual cluster of that name. Raises
    AssayError for an unknown or faulty description, UnreachableError for a virtual cluster that is
    not up.
    """
    folder, _, part = name.partition(":")
    file = read_site_file(folder)
    if file.virtual_cluster:
        return VirtualSite(chosen(file), load(part or file.virtual_cluster))
    return SlurmSite.load(chosen(file, part))


def site_to_plan_for(name: str) -> tuple[Site, str]:
    """The site as `load_site` gives it, and ""; of a virtual cluster that cannot be asked the one
    that would be brought up here now, and a sentence that says so."""
    try:
        return load_site(name), ""
    except UnreachableError as error:
        folder, _, cluster = name.partition(":")
        file = read_site_file(folder)
        site = VirtualSite(chosen(file), planned(cluster or file.virtual_cluster or "default"))
        size = count_text(site.description.nodes, "node")
        cores = count_text(site.description.cores_per_node, "core")
        return site, f"{error}; the plan assumes {size} of {cores}"


def add_checks_of(name: str) -> None:
    """Add the site's own checks to those there are; no cluster is asked."""
    folder = name.partition(":")[0]
    for path in read_site_file(folder).checks:
        add_folder(expanded(path), f"site {folder}: checks")


def callers_access() -> list[str]:
    """Options of every sbatch that the caller's environment names; those of a site override them.

    Raises AssayError for a value that no option can have.
    """
    set_here = {name: os.environ[name] for name in CALLERS_OPTIONS if os.environ.get(name)}
    for name, value in set_here.items():
        if not _OPTION_VALUE.fullmatch(value):
            raise AssayError(
                f"environment variable {name}: found {value!r:.100}, allowed are letters, digits"
                " and ._,@%+=:/-; export another value or unset it"
            )
    return [f"{CALLERS_OPTIONS[name]}={value}" for name, value in set_here.items()]


def named_variables(description: SiteDescription) -> dict[str, str]:
    """Variables of the caller that a site's file names, such as $SCRATCH, but no list of folders
    and nothing that Slurm or a shell sets."""
    found = _VARIABLE.findall(description.model_dump_json())
    names = {name for name in found if not _OF_A_SHELL.fullmatch(name)}
    return {name: os.environ[name] for name in sorted(names & os.environ.keys())}


class SlurmSite(Site):
    """Commands run as the caller, to Slurm or another scheduler; capacity is as described."""

    def __init__(self, description: SiteDescription) -> None:
        access = [*callers_access(), *description.access]
        super().__init__(description.model_copy(update={"access": access}))

    @classmethod
    def load(cls, description: SiteDescription) -> SlurmSite:
        """The site with the topology.conf read that its description names."""
        name, topology = description.name, description.topology
        if topology is not None:
            file = site_file(name)
            try:
                topology = topology.read(file.parent)
                topology.topology()
            except AssayError as error:
                raise AssayError(f"{file}: {error}") from error
        return cls(description.model_copy(update={"topology": topology}))

    def command(
        self, argv: list[str], variables: dict[str, str], folder: Path | None = None
    ) -> tuple[list[str], dict[str, str]]:
        """`argv`, killed when its starter ends, with the site's variables and these."""
        del folder  # where it is started
        return ["setpriv", "--pdeathsig", "KILL", *argv], {**self.variables(), **variables}

    def variables(self) -> dict[str, str]:
        """Variables of a login shell of the system, and those of the caller that the file names."""
        return {**login_environment(), **named_variables(self.description)}


class VirtualSite(Site):
    """A cluster that is up; it fills in its capacity, network, topology and work folder."""

    down_nodes_return = False  # one without power stays so until somebody restores it

    def __init__(self, description: SiteDescription, cluster: Cluster) -> None:
        facts = cluster.site_facts()
        switches = facts["switches"]
        network = {
            "name": facts["network"],
            "bits_per_second": facts["network_bits_per_s"],
            "payload_share": PAYLOAD_SHARE,
            "burst_bytes": facts["network_burst_bytes"],
        }
        filled = {
            "nodes": len(facts["nodes"]),
            "cores_per_node": facts["cores_per_node"],
            "memory_bytes_per_node": facts["memory_bytes_per_node"],
            "network": NetworkDescription(**network),
            # One switch alone makes no topology: all nodes are alike.
            "topology": TopologyDescription(switches=switches) if len(switches) > 1 else None,
            "shared_cores": facts["cores"],
            "work_dir": facts["work_dir"],
            "storage": {
                "disk": _storage(facts["work_dir"]),
                "memory": _storage("/dev/shm", shared=not facts["isolated"]),  # noqa: S108
            },
        }
        super().__init__(description.model_copy(update=filled))
        self._cluster, self._facts = cluster, facts

    def command(
        self, argv: list[str], variables: dict[str, str], folder: Path | None = None
    ) -> tuple[list[str], dict[str, str]]:
        """`argv` on the login host of the cluster."""
        return self._cluster.user_command(argv, variables, folder), dict(os.environ)

    def variables(self) -> dict[str, str]:
        """None: the cluster's hosts have an environment of their own."""
        return {}

    def python_words(self, module: str) -> list[str]:
        """Of an image its own Python, in which packages of another version are of no use."""
        return python_words(self._facts["python_packages"], module)

    def here(self, path: str) -> Path:
        """Of an image its own, which may be a link to another place in it."""
        seen = any(Path(path).is_relative_to(folder) for folder in SEEN)
        return Path(self._facts["tree"], path.lstrip("/")) if seen else Path(path)

    def hpl_source(self) -> str:
        """Where this machine has none, the image's."""
        brought = Path(self._facts["tree"], "usr/src/hpcc_1.5.0.orig.tar.gz")
        own = super().hpl_source()
        return str(brought) if brought.is_file() and not Path(own).is_file() else own

    def show_to_jobs(self, folders: Sequence[Path]) -> None:
        """Of the machine, the cluster's hosts have its programs alone, or those of their image."""
        self._cluster.show(folders)

    def identity(self) -> str:
        """Clusters of one image are alike; of this machine's programs, which may have changed, one
        that is brought up anew is another one."""
        return str(self._facts["image_digest"] or self._facts["identity"])

    def provenance(self) -> SiteAsRun:
        """As of every site, with the tree of switches, how cores are kept awake, and the image."""
        facts = self._facts
        own = {"switches": facts["switch_count"], "cores_awake": facts["awake"]}
        own |= {name: facts[name] for name in ("image", "image_digest")}
        return replace(super().provenance(), virtual=True, **own)


def _storage(folder: str, *, shared: bool = True) -> StorageDescription:
    """A folder of this machine, with the type of its file system."""
    words = (line.split() for line in Path("/proc/mounts").read_text().splitlines())
    leading = ((len(at), of) for _, at, of, *_ in words if Path(folder).is_relative_to(at))
    file_system = max(leading, key=lambda one: one[0], default=(0, "unknown"))[1]
    return StorageDescription(folder=folder, file_system=file_system, shared=shared)
