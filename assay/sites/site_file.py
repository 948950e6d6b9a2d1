# SPDX-License-Identifier: Apache-2.0
"""From a site.yaml to a description, or one message with every fault; where Spack builds for it.

Made complete are `like: OTHER` of environments, what partitions share, and environments that Spack
serves. No other file is read, no program looked for and no cluster asked; that happens when a site
is used.
"""

import os
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from assay import BASE, IS_CLONE, ROOT, known_files, own_folder
from assay.schema import document
from assay.schema.document import Document, Location, Problem, did_you_mean, found, listed
from assay.sites.description import (
    VIEW,
    PartitionDescription,
    PartitionKeys,
    SiteDescription,
    SiteFile,
    of_partition,
)
from assay.sites.values import unset_fault
from checks.common.session.launch_commands import LAUNCHERS
from records.errors import AssayError

#: Folder with one folder for each site that comes with Assay.
SITES = ROOT / "site-config"
#: Where `make spack` puts Spack and its package repository.
CLONES = BASE / "build" / "spack"
#: Environment variable with another place for the Spack home; needs about 2 GB.
HOME = "ASSAY_SPACK_HOME"
#: Foreign programs of a view, by the name that checks ask for; `osu` only where its Spack
#: environment has the package.
_PROGRAMS = {
    "netpipe": "bin/NPmpi",
    "netpipe-tcp": "bin/NPtcp",
    "osu": "libexec/osu-micro-benchmarks",
}
_NEEDS = "a site is a mapping with at least the keys schema, name, partitions and environments"


def _site_files() -> dict[str, Path]:
    """The site.yaml of each site, by name; those of the working folder come first."""
    files = known_files(SITES, "site-config", "*/site.yaml")
    return {path.parent.name: path for path in files}


def site_names() -> list[str]:
    """Names of the sites in site-config/ of the working folder and of Assay."""
    return sorted(_site_files())


def folder_of_new_sites() -> Path:
    """Folder for new sites: site-config/ of the working folder, or of the clone."""
    return own_folder("site-config") or (SITES if IS_CLONE else BASE / "site-config")


def site_file(site: str) -> Path:
    """The site.yaml of a site. Raises AssayError for a site that is not in site-config/."""
    known = _site_files()
    if site not in known:
        raise AssayError(
            f"--site {site!r}: no such site. Known are {', '.join(sorted(known))}; a new one is a"
            " folder site-config/<site>/ with a site.yaml."
        )
    return known[site]


def read_site_file(site: str) -> SiteFile:
    """A site's file, complete.

    Raises AssayError with a line for each fault: file, line, key, what was found and is allowed.
    """
    file = site_file(site)
    problems_of = partial(_problems, site=site)
    return as_site_file(document.checked(str(file), document.read_text(file), _NEEDS, problems_of))


def as_site_file(value: Mapping[str, Any]) -> SiteFile:
    """A file's value as the model has it, complete."""
    return SiteFile.model_validate(complete(value))


def read_description(site: str, partition: str = "") -> SiteDescription:
    """A site as its file describes it, with one of its partitions chosen; "" is the first.

    Raises as `read_site_file` and `chosen`.
    """
    return chosen(read_site_file(site), partition)


def chosen(file: SiteFile, partition: str = "") -> SiteDescription:
    """The site with a partition chosen, and with the environments that Spack builds for it.

    Raises AssayError for a partition that it has not.
    """
    name = partition or next(iter(file.partitions))
    if name not in file.partitions:
        raise AssayError(
            f"--site {file.name}:{name}: site {file.name} has no partition"
            f" {name!r}{did_you_mean(name, file.partitions)}; it has {listed(file.partitions)}"
        )
    described = of_partition(file, name)
    return with_spack(described) if described.spack else described


def complete(value: Mapping[str, Any]) -> dict[str, Any]:
    """The file's value with every partition and environment complete: what partitions share may
    stand at the top, whose options of sbatch come first; maps of environments merge by key. One of
    a wrong `like` is left out."""
    shared = {key: value[key] for key in PartitionKeys.model_fields if key in value}
    whole = {key: inner for key, inner in value.items() if key not in shared}
    if isinstance(partitions := value.get("partitions"), dict):
        whole["partitions"] = dict(partitions)
        for name, own in partitions.items():
            if isinstance(own, dict):
                first, then = shared.get("access"), own.get("access")
                whole["partitions"][name] = {**shared, **own}
                if isinstance(first, list) and isinstance(then, list):
                    whole["partitions"][name]["access"] = [*first, *then]
    if isinstance(environments := value.get("environments"), dict):
        whole["environments"] = dict(_environments(environments))
    return whole


def _environments(environments: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    roots = _roots(environments)
    for name, own in environments.items():
        if not isinstance(own, dict) or "like" not in own:
            yield name, own
        elif own["like"] in roots:
            whole = _merged(environments[own["like"]], own)
            yield name, {key: inner for key, inner in whole.items() if key != "like"}


def _roots(environments: Mapping[str, Any]) -> list[str]:
    """Environments that others may be like: those that are like no other."""
    return [
        name for name, own in environments.items() if isinstance(own, dict) and "like" not in own
    ]


def _merged(other: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """`other` changed by `own`; a null that removes nothing is kept, for the model to refuse."""
    result = dict(other)
    for key, value in own.items():
        if value is None and key in other:
            del result[key]
        elif isinstance(value, dict) and isinstance(other.get(key), dict):
            result[key] = _merged(other[key], value)
        else:
            result[key] = value
    return result


def _problems(value: Document, site: str) -> Iterator[Problem]:
    """Every fault of a file's value, each once, where the file writes it."""
    environments, whole, faults = value.get("environments"), complete(value), list[Problem]()
    if isinstance(environments, dict):
        roots = _roots(environments)
        for name, own in environments.items():
            if isinstance(own, dict) and "like" in own and own["like"] not in roots:
                text = f"found {found(own['like'])}{did_you_mean(str(own['like']), roots)}"
                text += f"; allowed is an environment without `like`: {listed(roots) or 'none is'}"
                faults.append(Problem(("environments", name, "like"), text))
    try:
        file = SiteFile.model_validate(whole)
        faults += [] if faults else [*_faults_between(file, site), *_unset_variables(file)]
    except ValidationError as error:
        faults += document.model_problems(error, SiteFile, whole)
    # A fault of one environment is one of all that are like it, but reported once.
    yield from dict.fromkeys(_as_written(value, fault) for fault in faults)


def _as_written(value: Document, problem: Problem) -> Problem:
    """The problem at the place in the file of what its completed value has, or lacks."""
    location = problem.location
    match location:
        case ("partitions", _, str(key), *inside) if location not in value.lines and key in value:
            location = (key, *inside)
        case ("environments", str(name), *inside) if name in value["environments"]:
            own = value["environments"][name]
            other = own.get("like") if isinstance(own, dict) else None
            links = (name, other) if isinstance(other, str) else (name,)
            places = [("environments", link, *inside) for link in links]
            # What both lack, the other is to have.
            lacking = max(reversed(places), key=lambda place: len(value.nearest(place)))
            location = next((place for place in places if place in value.lines), lacking)
    return Problem(location, problem.message)


def _faults_between(file: SiteFile, site: str) -> Iterator[Problem]:
    """Every fault between the parts of the file of `site`, which are right by themselves."""
    if file.name != site:
        yield Problem(("name",), f"found {file.name}; allowed is its folder's name, {site}")
    for name, environment in file.environments.items():
        if environment.modules and file.modules_system == "nomod":
            yield Problem(
                ("environments", name, "modules"),
                f"found {listed(environment.modules)}; modules need modules_system at the top of"
                " the file, e.g. modules_system: lmod",
            )
    for name, partition in file.partitions.items():
        yield from _partition_faults(partition, file, ("partitions", name))
    if (built := file.spack) is None:
        return
    served = Counter(name for names in built.views.values() for name in names)
    for view, names in built.views.items():
        for index, name in enumerate(names):
            place = ("spack", "views", view, index)
            yield from document.one_of(name, file.environments, place)
            if served[name] > 1:
                yield Problem(place, f"{name} is served more than once; keep one")
            if not built.alone and built.name_of(name) in file.environments:
                taken = f"the name of its build, {built.name_of(name)}, is taken"
                yield Problem(place, f"{taken} by an environment of the site; rename that")
    for key in ("devices", "settings"):
        for view in getattr(built, key):
            yield from document.one_of(view, built.views, ("spack", key, view))


def _partition_faults(
    partition: PartitionDescription, file: SiteFile, place: Location
) -> Iterator[Problem]:
    for index, environment in enumerate(partition.environments or ()):
        yield from document.one_of(environment, file.environments, (*place, "environments", index))
    for index, option in enumerate(partition.access):
        if any(re.match(r"-p|--partition(=|$)", word) for word in shlex.split(option)):
            text = (
                f"found {option}; jobs go to the partition that `partitions` names: call the"
                " entry so, or give it slurm_partition"
            )
            yield Problem((*place, "access", index), text)
    for key in ("nodes", "cores_per_node", "memory_bytes_per_node"):
        if file.virtual_cluster is None and getattr(partition, key) == 0:
            meaning = PartitionKeys.model_fields[key].description
            text = f"is missing; allowed is an integer of at least 1. {meaning}"
            yield Problem((*place, key), text)
    if partition.topology is not None:
        try:
            partition.topology.topology()
        except AssayError as error:
            yield Problem((*place, "topology"), str(error).removeprefix("topology: "))


def _unset_variables(file: SiteFile) -> Iterator[Problem]:
    """Variables that are not set in paths that a run cannot do without."""
    keys = ("work_dir", "module_init", "hpl_source")
    paths: dict[Location, str | None] = {(key,): getattr(file, key) for key in keys}
    paths |= {("checks", index): path for index, path in enumerate(file.checks)}
    for name, partition in file.partitions.items():
        topology = partition.topology
        paths["partitions", name, "topology", "slurm"] = topology.slurm if topology else None
    for place, text in paths.items():
        if text and (fault := unset_fault(text)):
            remedy = "set it where Assay is called, or write the path"
            yield Problem(place, f"found {text}: {fault}; {remedy}")


def spack_home() -> Path:
    """The folder below which Spack builds and installs."""
    return Path(os.environ.get(HOME) or CLONES / "home").resolve()


def environment_folder(site: str) -> Path:
    """The Spack environment of a site, below the Spack home; sites share what is installed."""
    return spack_home() / "environments" / site


def view_folder(site: str, view: str) -> Path:
    """Folder with a view's `bin` and `libexec`."""
    return environment_folder(site) / "views" / view


def spack_folders(described: SiteDescription, environments: Iterable[str]) -> list[Path]:
    """Folders of the Spack home that builds and launches in these environments read."""
    used = described.environments.keys() & set(environments)
    if not any(described.environments[name].spack_view for name in used):
        return []
    return [spack_home() / "install", environment_folder(described.name)]


def facts_file(site: str, view: str) -> Path:
    """File that `assay build` writes about a view once it is complete."""
    return environment_folder(site) / "builds" / f"{view}.json"


def with_spack(described: SiteDescription) -> SiteDescription:
    """The description with one more environment for each that a view serves."""
    assert described.spack is not None
    environments = dict(described.environments)
    for view, names in described.spack.views.items():
        folder = view_folder(described.name, view)
        # LD_RUN_PATH: not every wrapper writes the library's folder into what it links.
        variables = {"PATH": f"{folder}/bin:$PATH", "LD_RUN_PATH": f"{folder}/lib"}
        for name in (name for name in names if name in described.environments):
            like = described.environments[name]
            starter = LAUNCHERS[like.launcher].mpirun
            served: dict[str, Any] = {
                "description": f"as {name}, with library and programs as Spack built them ({view})",
                "compiler": str(folder / "bin" / "mpicc"),
                # srun is Slurm's.
                "mpirun": like.mpirun if starter in ("", "srun") else str(folder / "bin" / starter),
                "ready_programs": str(folder / "libexec" / "assay"),
                "programs": {
                    **{program: str(folder / path) for program, path in _PROGRAMS.items()},
                    **{
                        program: path.replace(VIEW, str(folder))
                        for program, path in like.programs.items()
                        if path.startswith(f"{VIEW}/")
                    },
                },
                "spack_view": view,
                "variables": {**like.variables, **variables},
                "device": described.spack.devices.get(view, ""),
                "settings": described.spack.settings.get(view, like.settings),
                "modules": [],
                "preload": "",
                "packages": [],
                "source": "spack",
            }
            environments[described.spack.name_of(name)] = like.model_copy(update=served)
    return described.model_copy(update={"environments": environments})
