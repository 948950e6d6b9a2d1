# SPDX-License-Identifier: Apache-2.0
"""What a `site-config/<site>/site.yaml` may say: the keys, their meaning and units."""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, field_validator

from assay.sites.builds import SpackDescription
from assay.sites.settings import SettingDescription
from records.topology import TopologyDescription


class _Described(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class EnvironmentDescription(_Described):
    """An MPI implementation in one mode: how to compile for it, start it and recognise it."""

    description: str
    compiler: str = Field(description="C compiler wrapper of the library")
    launcher: str = Field(description="one of the launchers in checks/launchers.py")
    launcher_options: list[str] = []
    library: str = Field(description="regular expression that the library's own version matches")
    features: list[str] = ["mpi"]
    preload: str = Field(
        "", description="remedy of checks/common/src/daemon preloaded into its ranks"
    )
    programs: dict[str, str] = Field(
        {},
        description="paths of foreign programs built for it, by name: su3_rmd, osu, netpipe; with"
        " variables such as $HOME; one that is not there, or names no set variable, is not offered",
    )
    variables: dict[str, str] = {}
    settings: dict[str, SettingDescription] = {}
    variant_of: str | None = None
    chosen: dict[str, int] = Field({}, description="values of settings, in a variant")
    modules: list[str] = []
    modules_folder: str = Field("", description="their folder, where modules are not found by it")
    prepare: list[str] = []
    source: str = Field("site", description="distribution, spack or site: where the build is from")
    mpirun: str = Field("", description="path of its mpirun, where the launcher's own will not do")
    ready_programs: str = Field("", description="folder of our programs, built beforehand for it")
    spack_view: str | None = Field(None, description="view that Spack built it in")
    packages: list[str] = []

    @field_validator("programs")
    @classmethod
    def _offered(cls, programs: dict[str, str]) -> dict[str, str]:
        """Those that are there; a word without a slash is looked for where launches run."""
        expanded = {name: os.path.expandvars(path) for name, path in programs.items()}
        return {
            name: path
            for name, path in expanded.items()
            if path and "$" not in path and ("/" not in path or Path(path).exists())
        }


class NetworkDescription(_Described):
    """What joins the nodes; `counted` says whether interface counters see MPI's traffic."""

    name: str = "unknown"
    bits_per_second: float | None = None
    counted: bool = True


class SiteDescription(_Described):
    """One site as its YAML file states it; sizes in bytes, times in seconds."""

    schema_version: int = Field(alias="schema")
    name: str
    description: str = ""
    virtual_cluster: str | None = None
    partition: str
    access: list[str] = []
    modules_system: str = "nomod"
    nodes: int = 0
    cores_per_node: int = 0
    memory_bytes_per_node: int = 0
    core_peak_flop_per_s: float | None = Field(
        None, gt=0, description="nominal peak of a core: flop a cycle × clock, double precision"
    )
    network: NetworkDescription = NetworkDescription()
    topology: TopologyDescription | None = Field(
        None, description="how the nodes are joined, from which hop counts follow"
    )
    shared_cores: dict[str, list[int]] = Field(
        {}, description="cores of each node, where nodes share one machine; filled in by a cluster"
    )
    work_dir: str | None = None
    concurrency: int = Field(1, ge=1, description="launches that may run at a time")
    environments: dict[str, EnvironmentDescription]
    spack: SpackDescription | None = Field(None, description="what Spack builds for this site")
