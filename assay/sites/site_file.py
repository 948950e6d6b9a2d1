# SPDX-License-Identifier: Apache-2.0
"""From a site.yaml to a description, or one message with every fault.

No other file is read, no program looked for and no cluster asked; that happens when a site is used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from assay import ROOT
from assay.schema.document import Location, Problem, read_text
from assay.schema.problems import checked, did_you_mean, listed, model_problems, one_of
from assay.sites.builds import with_spack
from assay.sites.description import SiteDescription, SiteFile, of_partition
from assay.sites.like import like_problems, resolved, where_written
from assay.sites.partitions import partition_problems, where_in_partition, with_defaults
from assay.sites.values import unset_fault
from assay.sites.version1 import converted
from records.errors import AssayError

#: Folder with one folder a site.
SITES = ROOT / "site-config"
_NEEDS = "a site is a mapping with at least the keys schema, name, partitions and environments"


def site_names() -> list[str]:
    """Names of the sites in site-config/."""
    return sorted(path.parent.name for path in SITES.glob("*/site.yaml"))


def site_file(site: str) -> Path:
    """The site.yaml of a site. Raises AssayError for a site that is not in site-config/."""
    if site not in site_names():
        raise AssayError(
            f"--site {site!r}: no such site. Known are {', '.join(site_names())}; a new one is a"
            " folder site-config/<site>/ with a site.yaml."
        )
    return SITES / site / "site.yaml"


def read_site_file(site: str) -> SiteFile:
    """A site's file, complete.

    Raises AssayError with a line for each fault: file, line, key, what was found and is allowed.
    """
    file = site_file(site)
    document = checked(str(file), read_text(file), _NEEDS, lambda value: _problems(value, site))
    assert isinstance(document.value, dict)
    return SiteFile.model_validate(_resolved(converted(document.value)))


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


def _resolved(value: dict[str, Any]) -> dict[str, Any]:
    return with_defaults({**value, "environments": resolved(value["environments"])})


def _problems(as_written: dict[str, Any], site: str) -> Iterator[Problem]:
    """Every fault of a file's value, each once, where the file writes it."""
    value = converted(as_written)
    environments = value.get("environments")
    wrong_likes = list(like_problems(environments)) if isinstance(environments, dict) else []
    yield from wrong_likes
    whole = _resolved(value) if isinstance(environments, dict) else with_defaults(value)
    found = _model_faults(whole)
    if not found and not wrong_likes:
        found = [*_faults_between(SiteFile.model_validate(whole), site)]
    found += [
        Problem(place, f"found {text}: {fault}; set it where Assay is called, or write the path")
        for place, text in _paths(whole)
        if (fault := unset_fault(text))
    ]

    def written(place: Location) -> Location:
        return where_in_partition(where_written(place, environments or {}), as_written)

    # A fault of one environment is one of all that are like it, but told once; so for partitions.
    yield from dict.fromkeys(Problem(written(one.location), one.message) for one in found)


def _model_faults(whole: Mapping[str, Any]) -> list[Problem]:
    try:
        SiteFile.model_validate(whole)
    except ValidationError as error:
        return [*model_problems(error, SiteFile, whole)]
    return []


def _paths(whole: Mapping[str, Any]) -> Iterator[tuple[Location, str]]:
    """The paths in which variables stand for values that a run cannot do without."""
    places: list[tuple[Location, Any]] = [
        ((key,), whole.get(key)) for key in ("work_dir", "module_init", "hpl_source")
    ]
    checks, partitions = whole.get("checks"), whole.get("partitions")
    if isinstance(checks, list):
        places += [(("checks", index), path) for index, path in enumerate(checks)]
    for name, one in partitions.items() if isinstance(partitions, dict) else ():
        topology = one.get("topology") if isinstance(one, dict) else None
        if isinstance(topology, dict):
            places.append((("partitions", name, "topology", "slurm"), topology.get("slurm")))
    return ((place, path) for place, path in places if isinstance(path, str))


def _faults_between(file: SiteFile, site: str) -> Iterator[Problem]:
    """What is wrong between the parts of a file that are right by themselves."""
    if file.name != site:
        yield Problem(("name",), f"found {file.name}; allowed is its folder's name, {site}")
    for name, environment in file.environments.items():
        if environment.modules and file.modules_system == "nomod":
            yield Problem(
                ("environments", name, "modules"),
                f"found {listed(environment.modules)}; modules need modules_system at the top of"
                " the file, e.g. modules_system: lmod",
            )
    yield from partition_problems(file)
    yield from _spack_problems(file)


def _spack_problems(file: SiteFile) -> Iterator[Problem]:
    built = file.spack
    if built is None:
        return
    served = Counter(name for names in built.views.values() for name in names)
    for view, names in built.views.items():
        for index, name in enumerate(names):
            place = ("spack", "views", view, index)
            yield from one_of(name, file.environments, place)
            if served[name] > 1:
                yield Problem(place, f"{name} is served more than once; keep one")
            if not built.alone and built.name_of(name) in file.environments:
                taken = f"the name of its build, {built.name_of(name)}, is taken"
                yield Problem(place, f"{taken} by an environment of the site; rename that")
    for key in ("devices", "settings", "modules"):
        for view in getattr(built, key):
            yield from one_of(view, built.views, ("spack", key, view))
