# SPDX-License-Identifier: Apache-2.0
"""Provenance: what ran where, with which software and settings, as `provenance.json` keeps it.

None is what a run does not have, or what nobody knew when it began. Members that this Assay does
not know are passed over.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import msgspec

from records.errors import AssayError
from records.input_files import decoded, read_whole
from records.site.limits import Nominal, payload_rate
from records.site.node_facts import NodeFacts
from records.text.plain_text import WITHHELD, looks_secret, masked, plain_data
from records.values import Count, Integer, PathWord, Scalar, SiteWord, Word

SCHEMA = 1
#: Members that map names to values which people and sites chose.
_BY_NAME = frozenset({"variables", "job_variables", "settings"})


class Harness(msgspec.Struct, frozen=True, kw_only=True):
    """The Assay that ran it."""

    version: str | None = None
    reframe: str | None = None
    git_commit: str | None = None
    git_dirty: bool | None = None


class Network(msgspec.Struct, frozen=True, kw_only=True):
    """The network that joins the nodes; `counted`: interface counters see the traffic of MPI;
    `ranks_per_nic` fill one of a node's `nics`."""

    name: str | None = None
    bits_per_second: Count | float | None = None
    payload_share: float | None = None
    burst_bytes: Count | None = None
    counted: bool | None = None
    nics: Count | None = None
    ranks_per_nic: Count | None = None


class SiteAsRun(msgspec.Struct, frozen=True, kw_only=True):
    """The site as it was: `asked_as` on the command line, with the `builds` asked for there.

    `in_one_job`: launches were steps of an allocation; `scheduler`: slurm, local or a plugin's.

    `access` are the options of every sbatch; `switches` is the tree of switches of a virtual
    cluster, `cores_awake` how it keeps cores awake while a job runs: latency, spinner or nothing,
    `image` what its hosts boot, "/" for the programs of the machine, with its digest; `glibc`, the
    version of the C library; `partition_nodes`, all of the partition and kind, in service or not.
    """

    name: str | None = None
    partition: str | None = None
    access: list[str] | None = None
    virtual: bool | None = None
    description: str | None = None
    nodes: Count | None = None
    cores_per_node: Count | None = None
    memory_bytes_per_node: Count | None = None
    core_peak_flop_per_s: Count | float | None = None
    memory_bytes_per_second: Count | float | None = None
    network: Network = Network()
    switches: str | None = None
    cores_awake: str | None = None
    image: str | None = None
    image_digest: str | None = None
    glibc: str | None = None
    asked_as: SiteWord | None = None
    builds: Literal["spack", "distribution"] | None = None
    nodes_left_out: list[Word] | None = None
    partition_nodes: list[Word] | None = None
    in_one_job: bool | None = None
    scheduler: str | None = None

    @property
    def is_local(self) -> bool:
        """True for one machine without a scheduler, which has no network between nodes."""
        return self.scheduler == "local"

    @property
    def rates(self) -> Nominal:
        """The nominal rates, as its launches were held against them."""
        network = self.network
        return Nominal(
            link_bytes_per_s=payload_rate(network.bits_per_second, network.payload_share),
            burst_bytes=network.burst_bytes or 0,
            core_flop_per_s=self.core_peak_flop_per_s,
            node_memory_bytes_per_s=self.memory_bytes_per_second,
        )


class AsAsked(msgspec.Struct, frozen=True, kw_only=True):
    """Words of the command line: the campaign, by path or name, and folders of checks."""

    campaign: PathWord | None = None
    checks: list[PathWord] = []


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """The machine that Assay ran on."""

    cpu: str | None = None
    cores: Count | None = None
    memory_bytes: Count | None = None
    kernel: str | None = None
    nics: list[str] | None = None


class SlurmAsRun(msgspec.Struct, frozen=True, kw_only=True):
    """Slurm's version and those of its settings that matter for measurements."""

    version: str | None = None
    settings: dict[str, str] = {}


class SpackPackage(msgspec.Struct, frozen=True, kw_only=True):
    """A package that Spack built or found; `sources` is the digest of the local folder it is of."""

    version: str | None = None
    variants: str | None = None
    compiler: str | None = None
    target: str | None = None
    os: str | None = None
    hash: str | None = None
    external: str | None = None
    namespace: str | None = None
    sources: str | None = None


class SpackBuild(msgspec.Struct, frozen=True, kw_only=True):
    """Packages that Spack built an environment from; `sources` is the digest of our C sources."""

    environment: str | None = None
    view: str | None = None
    sources: str | None = None
    roots: list[str] | None = None
    packages: dict[str, SpackPackage] = {}


class EnvironmentAsRun(msgspec.Struct, frozen=True, kw_only=True):
    """An MPI implementation in one mode: how it was built and started. A job found on a node:
    `modules_loaded`, all of them; `job_variables`, those that reach MPI, compiler and loader once
    they are loaded; `library`, what the library calls itself, in full, its file, and
    the `device` that carries messages; `started_by`, the launch command."""

    description: str | None = None
    source: str | None = None
    compiler: str | None = None
    compiles_with: str | None = None
    compiler_version: str | None = None
    launcher: str | None = None
    launcher_options: list[str] | None = None
    launcher_command: str | None = None
    mpirun: str | None = None
    modules: list[str] | None = None
    modules_loaded: list[str] | None = None
    job_variables: dict[str, str] = {}
    library: str | None = None
    library_file: str | None = None
    device: str | None = None
    started_by: str | None = None
    prepare: list[str] | None = None
    blas: str | None = None
    variables: dict[str, str] = {}
    variant_of: str | None = None
    settings: dict[str, Scalar] = {}
    preload: str | None = None
    packages: dict[str, str | None] = {}
    spack: SpackBuild | None = None


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    """All that was known when a run began. `variables`: those with which jobs begin and that affect
    MPI; `nodes`: what a job found of nodes before the first launch. What looks like a secret is
    named without its value, also where a former Assay kept that."""

    schema: int = SCHEMA
    run_id: Word | None = None
    started_at: str | None = None
    order_seed: Integer | None = None
    harness: Harness = Harness()
    asked: AsAsked = AsAsked()
    site: SiteAsRun = SiteAsRun()
    host: Host = Host()
    slurm: SlurmAsRun = SlurmAsRun()
    environments: dict[Word, EnvironmentAsRun] = {}
    nodes: dict[Word, NodeFacts] = {}
    variables: dict[str, str] = {}

    @property
    def devices(self) -> dict[str, str]:
        """Devices that carry the messages of environments, as their libraries named them."""
        return {name: one.device for name, one in self.environments.items() if one.device}

    def to_json(self) -> bytes:
        """The text of provenance.json."""
        return msgspec.json.format(msgspec.json.encode(self), indent=1)

    def without_secrets(self) -> Provenance:
        """Provenance with what looks like a token, a password or a key withheld, and without the
        folders above a checkout."""
        return msgspec.convert(_withheld(plain_data(msgspec.to_builtins(self))), Provenance)


def _withheld(data: Any, member: str = "") -> Any:
    """Plain data with its secrets withheld: of members BY_NAME by the names of their values, of
    lists by the option before, of any text by its words."""
    if isinstance(data, dict):
        return {
            name: WITHHELD
            if member in _BY_NAME and isinstance(value, str) and looks_secret(name, value)
            else _withheld(value, name)
            for name, value in data.items()
        }
    if isinstance(data, list):
        options = (before if str(before).startswith("-") else "" for before in ("", *data))
        return [
            WITHHELD if option and looks_secret(option, str(value)) else _withheld(value)
            for option, value in zip(options, data, strict=False)
        ]
    return masked(data) if isinstance(data, str) else data


def read_provenance(path: Path) -> Provenance:
    """The provenance of the file. Raises AssayError for a damaged one, naming line and member."""
    try:
        decode = msgspec.json.Decoder(Provenance).decode
        found = decoded(decode, read_whole(path), str(path), "a provenance")
    except AssayError as error:
        raise AssayError(f"{error}; put back the file that `assay run` wrote") from error
    if found.schema != SCHEMA:
        raise AssayError(
            f"{path}:1: is a provenance of schema {found.schema}; this Assay reads schema {SCHEMA}"
        )
    return found.without_secrets()
