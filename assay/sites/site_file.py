# SPDX-License-Identifier: Apache-2.0
"""From a site.yaml to a description, or one message with every fault.

Made complete are `like: OTHER` of environments, and keys at the top as defaults of partitions. No
other file is read, no program looked for and no cluster asked; that happens when a site is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from assay import BASE, IS_CLONE, ROOT, known_files, own_folder
from assay.schema.document import Document, Location, Problem, read_text
from assay.schema.problems import checked, did_you_mean, found, listed, model_problems, one_of
from assay.sites.builds import with_spack
from assay.sites.description import PartitionKeys, SiteDescription, SiteFile, of_partition
from assay.sites.rules import faults_between, unset_variables
from records.errors import AssayError

#: Folder with one folder for each site that comes with Assay.
SITES = ROOT / "site-config"
_NEEDS = "a site is a mapping with at least the keys schema, name, partitions and environments"

Environments = Mapping[str, Any]


def _site_files() -> dict[str, Path]:
    """The site.yaml of each site, by name; those of the working folder come first."""
    files = known_files(SITES, "site-config", "*/site.yaml")
    return {path.parent.name: path for path in files}


def site_names() -> list[str]:
    """Names of the sites in site-config/ of the working folder and of Assay."""
    return sorted(_site_files())


def folder_of_new_sites() -> Path:
    """Where `assay site init` writes: site-config/ of the working folder, or of the clone."""
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
    return as_site_file(checked(str(file), read_text(file), _NEEDS, problems_of))


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


def _problems(value: Document, site: str) -> Iterator[Problem]:
    """Every fault of a file's value, each once, where the file writes it."""
    environments, whole = value.get("environments"), complete(value)
    wrong_likes = list(_like_problems(environments)) if isinstance(environments, dict) else []
    try:
        file = SiteFile.model_validate(whole)
        faults = [] if wrong_likes else [*faults_between(file, site)]
    except ValidationError as error:
        faults = [*model_problems(error, SiteFile, whole)]
    # A fault of one environment is one of all that are like it, but reported once.
    written = [
        Problem(_written(value, problem.location), problem.message)
        for problem in [*faults, *unset_variables(whole)]
    ]
    yield from dict.fromkeys([*wrong_likes, *written])


def _written(value: Document, location: Location) -> Location:
    """The place in the file of what its completed value has, or lacks, at `location`."""
    match location:
        case ("environments", str(name), *inside) if name in value["environments"]:
            chain = _chain(name, value["environments"])
            places = [("environments", link, *inside) for link in chain]
            # What all of a chain lack, the first is to have.
            lacking = max(reversed(places), key=lambda place: len(value.nearest(place)))
        case ("partitions", _, "access", int(index)) if isinstance(value.get("access"), list):
            index -= len(value["access"])
            return location[2:] if index < 0 else (*location[:3], index)
        case ("partitions", _, _, *_):
            places, lacking = [location, location[2:]], location
        case _:
            return location
    return next((place for place in places if place in value.lines), lacking)


def complete(value: Mapping[str, Any]) -> dict[str, Any]:
    """The file's value with every environment and every partition complete.

    Maps merge by key; `access` of the top comes before that of a partition. An environment of a
    wrong `like` is left out.
    """
    whole, environments, partitions = (
        dict(value),
        value.get("environments"),
        value.get("partitions"),
    )
    if isinstance(environments, dict):
        whole["environments"] = dict(_environments(environments))
    if isinstance(partitions, dict):
        top = {key: value[key] for key in value if key in PartitionKeys.model_fields}
        # `batch:` with nothing below it is a partition of defaults.
        whole["partitions"] = {
            name: _partition(top, own or {}) if own is None or isinstance(own, dict) else own
            for name, own in partitions.items()
        }
    return whole


def _partition(top: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    whole, first, then = _merged(top, own), top.get("access"), own.get("access")
    if isinstance(first, list) and isinstance(then, list):
        whole["access"] = [*first, *then]
    return whole


def _environments(environments: Environments) -> Iterator[tuple[str, Any]]:
    for name, own in environments.items():
        chain = _chain(name, environments)
        if not isinstance(own, dict):
            yield name, own
        elif "like" not in environments[chain[-1]]:
            whole: dict[str, Any] = {}
            for link in reversed(chain):
                whole = _merged(whole, environments[link])
            yield name, {key: inner for key, inner in whole.items() if key != "like"}


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


def _chain(name: str, environments: Environments) -> list[str]:
    """`name`, the environment it is like, the one that is like, …; as far as these are right."""
    chain = [name]
    while isinstance(last := environments[chain[-1]], dict):
        other = last.get("like")
        if other in chain or not isinstance(other, str):
            break
        if not isinstance(environments.get(other), dict):
            break
        chain.append(other)
    return chain


def _like_problems(environments: Environments) -> Iterator[Problem]:
    """A problem for each `like` that names no other environment or closes a circle."""
    for name, entry in environments.items():
        if not isinstance(entry, dict) or "like" not in entry:
            continue
        other, place = entry["like"], ("environments", name, "like")
        others = [known for known in environments if known != name]
        chain = _chain(name, environments)
        if not isinstance(other, str):
            text = f"found {found(other)}; allowed is another environment: {listed(others)}"
        elif other == name:
            text = f"an environment is not like itself; allowed is another: {listed(others)}"
        elif environments[chain[-1]].get("like") == name:
            free = [known for known in others if name not in _chain(known, environments)]
            text = (
                f"goes in a circle: {', '.join([*chain, name])}; allowed is one outside it:"
                f" {listed(free) or 'none is'}"
            )
        else:
            yield from one_of(other, others, place)
            continue
        yield Problem(place, text)
