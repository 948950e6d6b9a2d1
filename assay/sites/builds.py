# SPDX-License-Identifier: Apache-2.0
"""What a site has from Spack: environments like its others, with the libraries that Spack built.

A site says which environments each of its views serves (`spack` in its site.yaml). For each of them
it gets one more environment, e.g. `lam-spack` for `lam`: started in the same way, with the view's
library and with our programs as Spack built them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, Field

from assay.build.paths import spack_home
from records.errors import InfrastructureError

#: Ending of the names of environments that Spack builds.
SUFFIX = "-spack"
#: Folder of what `assay build` notes of whole views.
_FACTS = "builds"


#: Foreign programs that every view has, by the name that checks ask for.
_FOREIGN = {"netpipe": "bin/NPmpi", "netpipe-tcp": "bin/NPtcp"}
#: Those that a view has where its environment names them.
_FURTHER = {"osu": "libexec/osu-micro-benchmarks"}


class SpackDescription(BaseModel):
    """The `spack` section of a site."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    environment: str = Field(description="a folder of spack-env/environments")
    platform: str = Field(description="a folder of spack-env/platforms: compilers and externals")
    recipes: list[str] = Field([], description="further folders of spack-env/spack_repo")
    alone: bool = Field(
        False, description="its environments have no other build: they keep their own names"
    )
    views: dict[str, list[str]] = Field(
        description="view of the environment, and the site's environments it is built for"
    )
    modules: dict[str, list[str]] = Field(
        {},
        description="module files to load for a view in place of its folder on PATH; assay build"
        " writes them below the Spack home, for the site's modules_system",
    )

    def name_of(self, environment: str) -> str:
        """Name of what Spack builds for `environment` of the site."""
        return environment if self.alone else f"{environment}{SUFFIX}"


class _Copyable(Protocol):
    def model_copy(self, *, update: Mapping[str, Any]) -> Any: ...


def environment_folder(site: str) -> Path:
    """The Spack environment of a site, below the Spack home; sites share what is installed."""
    return spack_home() / "environments" / site


def modules_folder(site: str) -> Path:
    """Where the module files of a site's builds are."""
    return environment_folder(site) / "modules"


def view_folder(site: str, view: str) -> Path:
    """Where a view's `bin` and `libexec` are."""
    return environment_folder(site) / "views" / view


def facts_file(site: str, view: str) -> Path:
    """What `assay build` notes of a view once it is whole."""
    return environment_folder(site) / _FACTS / f"{view}.json"


def with_spack(
    environments: Mapping[str, Any], built: SpackDescription, site: str
) -> dict[str, Any]:
    """`environments` of `site` and one more for each that a view serves."""
    more = {
        built.name_of(name): _served(environments[name], name, view, site, built.modules)
        for view, names in built.views.items()
        for name in names
        if name in environments
    }
    return {**environments, **more}


def _served(
    environment: _Copyable, name: str, view: str, site: str, loaded: Mapping[str, list[str]]
) -> Any:
    folder = view_folder(site, view)
    modules = loaded.get(view, [])
    # Not every wrapper writes the library's folder into what it links; the linker reads it here.
    path = {} if modules else {"PATH": f"{folder}/bin:$PATH", "LD_RUN_PATH": f"{folder}/lib"}
    return environment.model_copy(
        update={
            "description": f"as {name}, with library and programs as Spack built them ({view})",
            "compiler": str(folder / "bin" / "mpicc"),
            "mpirun": str(folder / "bin" / "mpirun"),
            "ready_programs": str(folder / "libexec" / "assay"),
            "programs": _programs(folder),
            "spack_view": view,
            "variables": {**getattr(environment, "variables", {}), **path},
            "modules": modules,
            "modules_folder": str(modules_folder(site)) if modules else "",
            "preload": "",
            "packages": [],
            "source": "spack",
        }
    )


def _programs(folder: Path) -> dict[str, str]:
    there = {name: place for name, place in _FURTHER.items() if (folder / place).is_dir()}
    return {name: str(folder / place) for name, place in (_FOREIGN | there).items()}


def replaced_by_spack(environments: Mapping[str, Any], built: SpackDescription) -> dict[str, Any]:
    """Only what Spack built, under the names of what it stands in for."""
    served = [name for names in built.views.values() for name in names]
    return {
        name: environments[built.name_of(name)]
        for name in environments
        if name in served and built.name_of(name) in environments
    }


def build_facts(site: str, view: str) -> dict[str, Any]:
    """What was built for `view`: see assay.build.facts.

    Raises InfrastructureError when it was not built whole.
    """
    path = facts_file(site, view)
    if not os.access(path, os.R_OK):
        raise InfrastructureError(
            f"site {site}: Spack has not built {view} (no {path}). Run: assay build --site {site}"
        )
    facts: dict[str, Any] = json.loads(path.read_bytes())
    return facts
