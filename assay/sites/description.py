# SPDX-License-Identifier: Apache-2.0
"""The keys of a `site-config/<site>/site.yaml`: meaning, unit and default; sizes in bytes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from assay.sites import values
from assay.sites.values import DeviceName, Line, Module, VariableName
from checks.common.parameters import ResourceName
from records.sections import Section, key
from records.site.topology import TopologyDescription

SCHEMA = 2
#: Ending of the names of environments that Spack builds.
SPACK_SUFFIX = "-spack"
#: Replaced by the folder of the Spack view in `programs`.
VIEW = "{view}"
#: Keys of a partition that are passed on to ReFrame.
ReframeKey = Literal[
    "devices", "features", "extras", "container_platforms", "processor", "sched_options"
]
#: Replaced by the value in `options` and `variables` of a setting.
VALUE = "{value}"


class SettingDescription(Section):
    """Setting of an environment: an integer that a campaign may choose in a variant."""

    description: str = key("Meaning of the setting.")
    unit: str = key("Unit of its values.")
    least: int = key("Least value allowed.", "unit")
    greatest: int = key("Greatest value allowed.", "unit")
    default: int | None = key("The library's own value, if it is known.", "unit", None)
    options: list[str] = key("Words for the launcher; {value} is replaced.", default=[])
    variables: dict[str, str] = key("Variables of the ranks; {value} is replaced.", default={})
    seen_as: str = key("Variable in which ranks see the value that is in effect.", default="")


class BlasDescription(Section):
    """BLAS of HPL and check node, for compiling and linking; it has the CBLAS and LAPACK calls."""

    libraries: list[Module] = key("Names of libraries, e.g. [openblas]: -lopenblas.", default=[])
    cflags: list[Line] = key("Words for the compiler, e.g. [-I/opt/mkl/include].", default=[])
    ldflags: list[Line] = key(
        "Words for the linker, before the libraries, e.g. [-L/opt/blis/lib, -lblis-mt].", default=[]
    )

    def link_words(self) -> list[str]:
        """Words that the linker gets: `ldflags`, then `-l` with each library."""
        return [*self.ldflags, *(f"-l{name}" for name in self.libraries)]


class EnvironmentKeys(Section):
    """An MPI implementation in one mode: how to compile for it, start it and recognise it."""

    like: str | None = key(
        "Another environment of the file, without `like`; this one then states only what differs. A"
        " scalar or list replaces the other's; maps (variables, settings, programs) merge by key,"
        " at every depth; null removes what the other has.",
        default=None,
        exclude=True,
    )
    description: str = key("The implementation and its mode, for readers.")
    compiler: values.Command = key("C compiler wrapper of the library; a path where PATH lacks it.")
    launcher: values.LauncherName = key(
        "Launcher that starts its ranks; with launcher_command it is assay-template.",
        default="assay-template",
    )
    launcher_options: list[Line] = key("Words that the launcher gets first.", default=[])
    launcher_command: values.LauncherCommand | None = key(
        'The command of a launcher that is not in the list, e.g. "mpiexec -n {ranks} -ppn'
        ' {ranks_per_node}". Replaced are {ranks}, {ranks_per_node}, {nodes}, {cpus_per_task} and'
        " {variables}, the names of variables that ranks must get, with commas. The program and its"
        " arguments follow. No shell reads it.",
        default=None,
    )
    mpirun: values.Command | None = key(
        "Path or name of the launcher's own program, e.g. /opt/openmpi/bin/mpiexec; default: srun,"
        " mpirun, mpiexec.hydra or prun on the PATH that the modules make.",
        default=None,
    )
    library: values.Pattern = key("Regular expression that the library's own version matches.")
    device: DeviceName = key(
        "Device that must carry its messages, as the evidence of a launch names it: ch4:ofi,"
        " ch4:ucx, ch3:sock or ch3:nemesis:tcp of MPICH, ob1:tcp of Open MPI (its layer, and a"
        " transport that must be open), sysv of LAM. Parts may be left out from behind. A launch on"
        " another device is refused with the reason; default: any.",
        default="",
    )
    features: list[str] = key("Features that checks may ask for.", default=["mpi"])
    modules: list[Module] = key("Modules to load, in this order.", default=[])
    prepare: list[str] = key(
        "Shell commands before the modules are loaded, in every job, build and probe.", default=[]
    )
    variables: dict[VariableName, values.Value] = key(
        "Variables of its ranks and builds. $NAME in a value is replaced there.", default={}
    )
    blas: BlasDescription | None = key(
        "The BLAS of HPL and of check node in this environment; default: the site's.", default=None
    )
    programs: dict[str, values.Text] = key(
        "Paths of foreign programs built for it, by the name that checks ask for: hpl, su3_rmd,"
        " osu, netpipe, netpipe-tcp. Variables such as $HOME are expanded, and {view} at the"
        " beginning is the folder of the Spack view that serves the environment, e.g."
        " {view}/bin/xhpl. A case whose program is not there is skipped, with the reason in the"
        " plan; a word without a slash is looked for where launches run.",
        default={},
    )
    settings: dict[str, SettingDescription] = key("Settings that variants may change.", default={})
    preload: str = key("Library of checks/common/src/daemon that its ranks preload.", default="")
    source: str = key("Who built it: distribution, spack or site.", default="site")
    packages: list[str] = key(
        "Packages of the distribution that it consists of, besides that of its library.", default=[]
    )

    @model_validator(mode="after")
    def _one_launcher(self) -> EnvironmentKeys:
        if (self.launcher == "assay-template") != (self.launcher_command is not None):
            raise ValueError(
                "needs either launcher, e.g. assay-srun, or launcher_command (null removes what"
                " `like` brings)"
            )
        return self


class EnvironmentDescription(EnvironmentKeys):
    """An environment in use."""

    variant_of: str | None = key("The environment that a variant changes.", default=None)
    chosen: dict[str, int] = key("Values of settings, in a variant.", default={})
    ready_programs: str = key("Folder of our programs, built beforehand by Spack.", default="")
    spack_view: str | None = key("The view that Spack built it in.", default=None)


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
    burst_bytes: int = key(
        "Bytes that a shaped link passes at once after a pause: messages are held to its rate"
        " without that.",
        "bytes",
        0,
        ge=0,
    )
    counted: bool = key("True if interface counters see the traffic of MPI.", default=True)
    nics: int = key("Network interfaces of a node that MPI uses.", "interfaces", 1, ge=1, le=64)
    ranks_per_nic: int = key(
        "Ranks that together fill an interface, as one often cannot: with `ranks_per_node: link` a"
        " scan of pairs runs nics × ranks_per_nic ranks on each node and adds their rates.",
        "ranks",
        1,
        ge=1,
        le=1024,
    )

    @property
    def ranks_per_link(self) -> int:
        """Ranks on a node that fill its link."""
        return self.nics * self.ranks_per_nic


class SpackDescription(Section):
    """Spack environment and views that `assay build` builds for a site."""

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
    devices: dict[str, DeviceName] = key(
        "Device that must carry the messages of a view's library, as `device` of an environment;"
        " that of the environment which the view serves is not its own.",
        default={},
    )
    settings: dict[str, dict[str, SettingDescription]] = key(
        "Settings that variants may change of a view's library, in place of the `settings` of the"
        " environment that it serves: another device has other variables.",
        default={},
    )

    def name_of(self, environment: str) -> str:
        """Name of what Spack builds for `environment` of the site."""
        return environment if self.alone else f"{environment}{SPACK_SUFFIX}"


class StorageDescription(Section):
    """A folder that check storage may fill, as far as a plan says."""

    folder: Line = key(
        "An absolute path; variables such as $SCRATCH are expanded. Launches make a folder"
        " assay-storage-… in it and remove it."
    )
    file_system: str = key(
        "Type of its file system, as in /proc/mounts: lustre, nfs4, gpfs, xfs, tmpfs. A launch"
        " that finds another one writes nothing.",
        pattern="^[A-Za-z0-9_.-]+$",
    )
    shared: bool = key("True if all nodes see the same; else each has its own.", default=True)


class VettingDescription(Section):
    """Permissions and settings of `assay vet` at a site."""

    folder: Line | None = key(
        "Folder of records and of the reference, seen by all nodes, e.g. /shared/vettings; default:"
        " results/vettings where Assay is called.",
        default=None,
    )
    drain: bool = key("True if --drain may drain unfit nodes.", default=False)
    drains_per_hour: int = key("Most nodes drained in an hour.", "nodes", 1, ge=0, le=1000)


class PartitionKeys(Section):
    """Keys of a partition; one at the top of the file is the default of all partitions."""

    access: list[values.SlurmOption] = key(
        "Options of every sbatch, e.g. [--account=me, --qos=normal]; those at the top of the file"
        " come first.",
        default=[],
    )
    nodes: int = key("Nodes that a launch may use.", "nodes", 0, ge=0)
    cores_per_node: int = key("Cores of a node.", "cores", 0, ge=0)
    sockets_per_node: int | None = key("Sockets of a node.", "sockets", None, ge=1)
    memory_bytes_per_node: int = key("Memory of a node for programs.", "bytes", 0, ge=0)
    longest_job_s: int | None = key(
        "Longest time of a job: Slurm's MaxTime of the partition.", "s", None, ge=60
    )
    core_peak_flop_per_s: float | None = key(
        "Nominal peak of a core in double precision: flop a cycle × clock.", "flop/s", None, gt=0
    )
    memory_bytes_per_second: float | None = key(
        "Nominal rate of a node's memory: channels × transfers a second × bytes.",
        "bytes/s",
        None,
        gt=0,
    )
    network: NetworkDescription = key("Network that joins the nodes.", default=NetworkDescription())
    topology: TopologyDescription | None = key(
        "Layout of the network that joins the nodes, from which hop counts follow.", default=None
    )
    concurrency: int = key(
        "Launches that may run at a time, side by side in one allocation.", "launches", 1, ge=1
    )
    resources: dict[ResourceName, list[values.ResourceOption]] = key(
        "Resources that cases may ask for, as options of sbatch with a place for each value, e.g."
        ' gpu: ["--gres=gpu:{count}"], memory: ["--mem={megabytes}M"], switches:'
        ' ["--switches={count}"].',
        default={},
    )
    reframe: dict[ReframeKey, Any] = key(
        "Keys that ReFrame's own site configuration knows of a partition and this file does not,"
        " passed on as they are: devices, features, extras, container_platforms, processor,"
        " sched_options.",
        default={},
    )


class PartitionDescription(PartitionKeys):
    """Nodes of one kind, with the options that lead a job there."""

    slurm_partition: values.SlurmPartition | None = key(
        "Slurm's name of the partition, where it is not the key: two kinds of nodes in one"
        " partition, distinguished by access: [--constraint=…].",
        default=None,
    )
    environments: Annotated[list[str], Field(min_length=1)] | None = key(
        "Environments of the file that serve there; default: all.", default=None
    )


class SiteKeys(Section):
    """Keys that all partitions of a site share."""

    name: str = key("Name of the site: its folder's.")
    description: str = key("Description of the machine, for readers.", default="")
    virtual_cluster: str | None = key(
        "Name of the virtual cluster that `--site NAME` means; it fills in nodes, cores, memory,"
        " network, topology and work_dir.",
        default=None,
    )
    modules_system: Literal[
        "nomod", "lmod", "tmod4", "envmod", "tmod32", "tmod31", "tmod", "spack"
    ] = key("The module system, by ReFrame's name.", default="nomod")
    module_init: Line | None = key(
        "File that a job sources where its shell lacks `module`, as in jobs that cron submits;"
        " default: looked for in $LMOD_PKG, /etc/profile.d, /usr/share/lmod and $MODULESHOME.",
        default=None,
    )
    work_dir: Line | None = key(
        "Folder that all nodes see, for launches, e.g. $SCRATCH/assay; default: the run directory.",
        default=None,
    )
    scheduler: str = key(
        "The scheduler: slurm; local, this machine alone, on which mpirun starts the ranks of one"
        " launch at a time; or one of a plugin.",
        default="slurm",
    )
    build_on: Literal["login", "job"] = key(
        "Where programs are compiled: where Assay is called, or in a job of the partition.",
        default="login",
    )
    blas: BlasDescription | None = key(
        "The BLAS of HPL and of check node; default: -lopenblas.", default=None
    )
    hpl_source: Line | None = key(
        "Archive with HPL's source: hpcc-1.5.0.tar.gz, or netlib's hpl-2.3.tar.gz; default: the one"
        " that `make demo` brings. Not needed where environments name a ready-made HPL in"
        " `programs`.",
        default=None,
    )
    checks: list[Line] = key(
        "Folders of checks outside the tree, by absolute paths; variables such as $HOME are"
        " expanded.",
        default=[],
    )
    spack: SpackDescription | None = key(
        "Spack environment that is built for this site.", default=None
    )
    storage: dict[ResourceName, StorageDescription] = key(
        "Folders that check storage measures, by the name that its `target` gives.", default={}
    )
    vetting: VettingDescription = key(
        "Permissions and settings of `assay vet`.", default=VettingDescription()
    )


class SiteFile(SiteKeys):
    """A site.yaml as written, `like` resolved."""

    schema_: int = key("Version of this format.", alias="schema", ge=SCHEMA, le=SCHEMA)
    partitions: dict[values.PartitionName, PartitionDescription] = key(
        "Kinds of nodes by their partition; a run uses one of them, --site NAME:PARTITION, and"
        " --site NAME is the first.",
        min_length=1,
    )
    environments: dict[str, EnvironmentKeys] = key("MPI implementations, by name.", min_length=1)


class SiteDescription(SiteKeys, PartitionKeys):
    """A site with one partition chosen: what a run uses.

    `access` begins with --partition; `environments` are those of the partition.
    """

    partition: str = key("The chosen one of `partitions`.")
    slurm_partition: str = key("Slurm's name of it.")
    environments: dict[str, EnvironmentDescription] = key("MPI implementations, by name.")
    shared_cores: dict[str, list[int]] = key(
        "The cores of each node of a virtual cluster, whose nodes share one machine.",
        default={},
    )


def of_partition(file: SiteFile, name: str) -> SiteDescription:
    """The site with the partition `name` chosen."""
    chosen = file.partitions[name]
    slurm_partition = chosen.slurm_partition or name
    serving = file.environments if chosen.environments is None else chosen.environments
    keys = {
        **{key: getattr(file, key) for key in SiteKeys.model_fields},
        **{key: getattr(chosen, key) for key in PartitionKeys.model_fields},
        "access": [f"--partition={slurm_partition}", *chosen.access],
        "environments": {
            name: EnvironmentDescription(**dict(file.environments[name])) for name in serving
        },
    }
    return SiteDescription(**keys, partition=name, slurm_partition=slurm_partition)


def site_schema() -> dict[str, Any]:
    """The JSON Schema of a site.yaml, `like` resolved."""
    return SiteFile.model_json_schema(by_alias=True)
