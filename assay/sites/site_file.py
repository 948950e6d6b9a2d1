# SPDX-License-Identifier: Apache-2.0
"""From a site.yaml to a description, or one message with every fault.

No other file is read, no program looked for and no cluster asked; that happens when a site is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from assay import ROOT
from assay.schema.document import Block, Problem, place_of, read_text
from assay.schema.problems import checked, did_you_mean, listed, model_problems
from assay.sites.builds import with_spack
from assay.sites.description import SiteDescription, SiteFile, of_partition
from assay.sites.resolving import complete, like_problems
from assay.sites.rules import faults_between, unset_variables
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
    return as_site_file(
        checked(str(file), read_text(file), _NEEDS, lambda value: _problems(value, site))
    )


def as_site_file(value: Mapping[str, Any]) -> SiteFile:
    """A file's value as the model has it, `like` and the defaults of partitions resolved."""
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


def _problems(value: Block, site: str) -> Iterator[Problem]:
    """Every fault of a file's value, each once, where the file writes it."""
    environments, whole = value.get("environments"), complete(value)
    wrong_likes = list(like_problems(environments)) if isinstance(environments, dict) else []
    try:
        file = SiteFile.model_validate(whole)
        faults = [] if wrong_likes else [*faults_between(file, site)]
    except ValidationError as error:
        faults = [*model_problems(error, SiteFile, whole)]
    places = [(place_of(whole, p.location), p.message) for p in [*faults, *unset_variables(whole)]]
    # A fault of one environment is one of all that are like it, but reported once.
    yield from dict.fromkeys(
        [*wrong_likes, *(Problem(at, text, line) for (line, at), text in places)]
    )
