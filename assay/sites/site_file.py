# SPDX-License-Identifier: Apache-2.0
"""From a site.yaml to a description, or one message with every fault.

No other file is read, no program looked for and no cluster asked; that happens when a site is used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from assay import ROOT
from assay.schema.document import Problem, read_text
from assay.schema.problems import checked, model_problems, one_of
from assay.sites.builds import with_spack
from assay.sites.description import SiteDescription
from assay.sites.like import like_problems, resolved, where_written
from records.errors import AssayError

#: Folder with one folder a site.
SITES = ROOT / "site-config"
_NEEDS = "a site is a mapping with at least the keys schema, name, partition and environments"


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


def read_description(site: str) -> SiteDescription:
    """A site as its file describes it, with the environments that Spack builds for it.

    Raises AssayError with a line for each fault: file, line, key, what was found and is allowed.
    """
    file = site_file(site)
    document = checked(str(file), read_text(file), _NEEDS, lambda value: _problems(value, site))
    description = SiteDescription.model_validate(_resolved(document.value))
    return with_spack(description) if description.spack else description


def _resolved(value: Any) -> dict[str, Any]:
    return {**value, "environments": resolved(value["environments"])}


def _problems(value: dict[str, Any], site: str) -> Iterator[Problem]:
    written, wrong_likes = value.get("environments"), []
    if isinstance(written, dict):
        wrong_likes = list(like_problems(written))
        yield from wrong_likes
        value = _resolved(value)
    try:
        described = SiteDescription.model_validate(value)
    except ValidationError as error:
        places = (
            (where_written(problem.location, written or {}), problem.message)
            for problem in model_problems(error, SiteDescription, value)
        )
        # A fault of one environment is a fault of all that are like it, but told once.
        for place, message in dict.fromkeys(places):
            yield Problem(place, message)
        return
    if wrong_likes:
        return
    if described.name != site:
        yield Problem(("name",), f"found {described.name}; allowed is its folder's name, {site}")
    if described.topology is not None:
        try:
            described.topology.topology()
        except AssayError as error:
            yield Problem(("topology",), str(error).removeprefix("topology: "))
    yield from _spack_problems(described)


def _spack_problems(described: SiteDescription) -> Iterator[Problem]:
    built = described.spack
    if built is None:
        return
    served = Counter(name for names in built.views.values() for name in names)
    for view, names in built.views.items():
        for index, name in enumerate(names):
            place = ("spack", "views", view, index)
            yield from one_of(name, described.environments, place)
            if served[name] > 1:
                yield Problem(place, f"{name} is served more than once; keep one")
            if not built.alone and built.name_of(name) in described.environments:
                taken = f"the name of its build, {built.name_of(name)}, is taken"
                yield Problem(place, f"{taken} by an environment of the site; rename that")
    for view in built.modules:
        yield from one_of(view, built.views, ("spack", "modules", view))
