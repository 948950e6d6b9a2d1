# SPDX-License-Identifier: Apache-2.0
"""Provenance: what ran where, with which software and settings, as `provenance.json` keeps it.

None is what a run does not have, or what nobody knew when it began. Members that this Assay does
not know are passed over.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from records.errors import AssayError

SCHEMA = 1

Scalar = bool | int | float | str | None


class Harness(msgspec.Struct, frozen=True, kw_only=True):
    """The Assay that ran it."""

    version: str | None = None
    reframe: str | None = None
    git_commit: str | None = None
    git_dirty: bool | None = None


class Network(msgspec.Struct, frozen=True, kw_only=True):
    """The network that joins the nodes; `counted`: interface counters see the traffic of MPI."""

    name: str | None = None
    bits_per_second: int | float | None = None
    counted: bool | None = None


class SiteAsRun(msgspec.Struct, frozen=True, kw_only=True):
    """The site as it was: `asked_as` on the command line, with the `builds` asked for there.

    `switches` is the tree of switches of a virtual cluster.
    """

    name: str | None = None
    virtual: bool | None = None
    description: str | None = None
    nodes: int | None = None
    cores_per_node: int | None = None
    memory_bytes_per_node: int | None = None
    core_peak_flop_per_s: int | float | None = None
    network: Network = Network()
    switches: str | None = None
    asked_as: str | None = None
    builds: str | None = None
    nodes_left_out: list[str] | None = None


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """The machine that Assay ran on."""

    cpu: str | None = None
    cores: int | None = None
    memory_bytes: int | None = None
    kernel: str | None = None
    nics: list[str] | None = None


class SlurmAsRun(msgspec.Struct, frozen=True, kw_only=True):
    """Slurm's version and those of its settings that matter for measurements."""

    version: str | None = None
    settings: dict[str, str] = {}


class SpackPackage(msgspec.Struct, frozen=True, kw_only=True):
    """A package that Spack built or found."""

    version: str | None = None
    variants: str | None = None
    compiler: str | None = None
    target: str | None = None
    os: str | None = None
    hash: str | None = None
    external: str | None = None
    namespace: str | None = None


class SpackBuild(msgspec.Struct, frozen=True, kw_only=True):
    """What Spack built an environment from; `sources` is the digest of our C sources."""

    environment: str | None = None
    view: str | None = None
    sources: str | None = None
    roots: list[str] | None = None
    packages: dict[str, SpackPackage] = {}


class EnvironmentAsRun(msgspec.Struct, frozen=True, kw_only=True):
    """An MPI implementation in one mode: how it was built and started."""

    description: str | None = None
    source: str | None = None
    compiler: str | None = None
    compiles_with: str | None = None
    compiler_version: str | None = None
    launcher: str | None = None
    launcher_options: list[str] | None = None
    variables: dict[str, str] = {}
    variant_of: str | None = None
    settings: dict[str, Scalar] = {}
    preload: str | None = None
    packages: dict[str, str | None] = {}
    spack: SpackBuild | None = None


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    """All that was known when a run began. `variables` are those of the caller that reach MPI."""

    schema: int = SCHEMA
    run_id: str | None = None
    started_at: str | None = None
    order_seed: int | None = None
    harness: Harness = Harness()
    site: SiteAsRun = SiteAsRun()
    host: Host = Host()
    slurm: SlurmAsRun = SlurmAsRun()
    environments: dict[str, EnvironmentAsRun] = {}
    variables: dict[str, str] = {}

    def to_json(self) -> bytes:
        """The text of provenance.json."""
        return msgspec.json.format(msgspec.json.encode(self), indent=1)


def read_provenance(path: Path) -> Provenance:
    """The provenance of the file. Raises AssayError for a damaged one, naming the member."""
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Provenance)
    except OSError as error:
        raise AssayError(
            f"{path}: cannot be read ({error.strerror}); `assay run` writes it when a run begins."
            " A run that ended before is started anew, with assay run"
        ) from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise AssayError(
            f"{path}: not a provenance: {error}; put back the file that `assay run` wrote"
        ) from error
    if found.schema != SCHEMA:
        raise AssayError(
            f"{path}: is a provenance of schema {found.schema}; this Assay reads schema {SCHEMA}"
        )
    return found
