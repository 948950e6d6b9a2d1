# SPDX-License-Identifier: Apache-2.0
"""The keys of a `site-config/<site>/site.yaml`: meaning, unit and default; sizes in bytes."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from records.sections import Section, key
from records.topology import TopologyDescription

SCHEMA = 1
#: Ending of the names of environments that Spack builds.
SPACK_SUFFIX = "-spack"
#: What stands for the value in `options` and `variables` of a setting.
VALUE = "{value}"

_Text = Annotated[str, Field(min_length=1)]


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(
            f"found {text:.100}; allowed is a regular expression of Python, e.g. '^MPICH 4\\.':"
            f" {error}"
        ) from error
    return text


class SettingDescription(Section):
    """One setting of an environment: an integer that a campaign may choose in a variant."""

    description: str = key("What it sets.")
    unit: str = key("Unit of its values.")
    least: int = key("Least value allowed.", "unit")
    greatest: int = key("Greatest value allowed.", "unit")
    default: int | None = key("The library's own value, if it is known.", "unit", None)
    options: list[str] = key("Words for the launcher; {value} is replaced.", default=[])
    variables: dict[str, str] = key("Variables of the ranks; {value} is replaced.", default={})
    seen_as: str = key("Variable in which ranks see the value that is in effect.", default="")


class EnvironmentDescription(Section):
    """An MPI implementation in one mode: how to compile for it, start it and recognise it."""

    like: str | None = key(
        "Another environment of the file; this one then states only what differs. A scalar or list"
        " replaces the other's; maps (variables, settings, programs) merge by key, at every depth;"
        " null removes what the other has.",
        default=None,
        exclude=True,
    )
    description: str = key("The implementation and its mode, for readers.")
    compiler: str = key("C compiler wrapper of the library.")
    launcher: str = key("One of the launchers in checks/common/launchers.py.")
    launcher_options: list[str] = key("Words that the launcher gets first.", default=[])
    library: Annotated[str, AfterValidator(_pattern)] = key(
        "Regular expression that the library's own version matches."
    )
    features: list[str] = key("What checks may ask for.", default=["mpi"])
    preload: str = key("Library of checks/common/src/daemon that its ranks preload.", default="")
    programs: dict[str, _Text] = key(
        "Paths of foreign programs built for it, by the name that checks ask for: su3_rmd, osu,"
        " netpipe, netpipe-tcp. Variables such as $HOME are expanded. A case whose program is not"
        " there is skipped, with the reason in the plan; a word without a slash is looked for where"
        " launches run.",
        default={},
    )
    variables: dict[str, str] = key("Variables of its ranks.", default={})
    settings: dict[str, SettingDescription] = key("What variants may change.", default={})
    variant_of: str | None = key("Filled in: the environment that a variant changes.", default=None)
    chosen: dict[str, int] = key("Filled in: values of settings, in a variant.", default={})
    modules: list[str] = key("Modules to load.", default=[])
    modules_folder: str = key("Their folder, where the module path lacks it.", default="")
    prepare: list[str] = key("Shell commands of a job before its launch.", default=[])
    source: str = key("Who built it: distribution, spack or site.", default="site")
    mpirun: str = key("Path of its mpirun, where the launcher's own does not serve.", default="")
    ready_programs: str = key("Folder of our programs, built beforehand for it.", default="")
    spack_view: str | None = key("Filled in: the view that Spack built it in.", default=None)
    packages: list[str] = key("Packages of the distribution that it consists of.", default=[])


class NetworkDescription(Section):
    """The network that joins the nodes."""

    name: str = key("Its name, for readers.", default="unknown")
    bits_per_second: float | None = key("Rate of a node's link.", "bit/s", None, gt=0)
    payload_share: float = key(
        "Share of the link's rate that headers leave to the messages of programs, e.g. 0.941 for"
        " TCP in Ethernet frames of 1500 bytes. More than that is flagged beyond-limit.",
        "1",
        1.0,
        gt=0,
        le=1,
    )
    counted: bool = key("Whether interface counters see the traffic of MPI.", default=True)


class SpackDescription(Section):
    """What `assay build` builds with Spack for a site."""

    environment: str = key("A folder of spack-env/environments.")
    platform: str = key("A folder of spack-env/platforms: compilers and externals.")
    recipes: list[str] = key("Further folders of spack-env/spack_repo.", default=[])
    alone: bool = key(
        "Its environments have no other build: they keep their own names.", default=False
    )
    views: dict[str, list[str]] = key(
        "Each view of the Spack environment, with the site's environments that it serves. For each"
        " of these there is one more, e.g. lam-spack for lam, started in the same way."
    )
    modules: dict[str, list[str]] = key(
        "Module files to load for a view in place of its folder on PATH; assay build writes them"
        " below the Spack home, for the site's modules_system.",
        default={},
    )

    def name_of(self, environment: str) -> str:
        """Name of what Spack builds for `environment` of the site."""
        return environment if self.alone else f"{environment}{SPACK_SUFFIX}"


class SiteDescription(Section):
    """One site as its file states it."""

    schema_: int = key("Version of this format.", alias="schema", ge=SCHEMA, le=SCHEMA)
    name: str = key("Name of the site: its folder's.")
    description: str = key("What machine it is, for readers.", default="")
    virtual_cluster: str | None = key(
        "Name of the virtual cluster that `--site NAME` means; it fills in nodes, cores, memory,"
        " network, topology and work_dir.",
        default=None,
    )
    partition: str = key("Slurm partition that jobs go to.")
    access: list[str] = key("Options of every sbatch, e.g. --account=me.", default=[])
    modules_system: str = key("ReFrame's name of the module system.", default="nomod")
    nodes: int = key("Nodes that a launch may use.", "nodes", 0, ge=0)
    cores_per_node: int = key("Cores of a node.", "cores", 0, ge=0)
    memory_bytes_per_node: int = key("Memory of a node for programs.", "bytes", 0, ge=0)
    core_peak_flop_per_s: float | None = key(
        "Nominal peak of a core in double precision: flop a cycle × clock.", "flop/s", None, gt=0
    )
    memory_bytes_per_second: float | None = key(
        "Nominal rate of a node's memory: channels × transfers a second × bytes.",
        "bytes/s",
        None,
        gt=0,
    )
    network: NetworkDescription = key("What joins the nodes.", default=NetworkDescription())
    topology: TopologyDescription | None = key(
        "How the nodes are joined, from which hop counts follow.", default=None
    )
    shared_cores: dict[str, list[int]] = key(
        "Filled in by a virtual cluster: the cores of each node, as nodes share one machine.",
        default={},
    )
    work_dir: str | None = key(
        "Folder that all nodes see, for launches; default: the run directory.", default=None
    )
    concurrency: int = key("Launches that may run at a time.", "launches", 1, ge=1)
    environments: dict[str, EnvironmentDescription] = key("MPI implementations, by name.")
    checks: list[str] = key(
        "Folders of checks outside the tree, by absolute paths; variables such as $HOME stand for"
        " their values.",
        default=[],
    )
    spack: SpackDescription | None = key("What Spack builds for this site.", default=None)
