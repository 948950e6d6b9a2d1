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

from campaigns.build.places import spack_home
from campaigns.errors import InfrastructureError

#: Ending of the names of environments that Spack builds.
SUFFIX = "-spack"
#: Folder of what `assay build` notes of whole views.
_FACTS = "builds"


#: Foreign programs that every view has in its `bin`, by the name that checks ask for.
_FOREIGN = {"netpipe": "NPmpi", "netpipe-tcp": "NPtcp"}


class SpackDescription(BaseModel):
    """The `spack` section of a site."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    environment: str = Field(description="a folder of spack-env/environments")
    platform: str = Field(description="a folder of spack-env/platforms: compilers and externals")
    recipes: list[str] = Field([], description="further folders of spack-env/spack_repo")
    views: dict[str, list[str]] = Field(
        description="view of the environment, and the site's environments it is built for"
    )
    modules: dict[str, list[str]] = Field(
        {},
        description="module files to load for a view in place of its folder on PATH; assay build"
        " writes them below modules/ of the Spack home",
    )


class _Copyable(Protocol):
    def model_copy(self, *, update: Mapping[str, Any]) -> Any: ...


def environment_folder(built: SpackDescription) -> Path:
    """The Spack environment of a site, below the Spack home."""
    return spack_home() / "environments" / built.environment


def view_folder(built: SpackDescription, view: str) -> Path:
    """Where a view's `bin` and `libexec` are."""
    return environment_folder(built) / "views" / view


def facts_file(built: SpackDescription, view: str) -> Path:
    """What `assay build` notes of a view once it is whole."""
    return environment_folder(built) / _FACTS / f"{view}.json"


def with_spack(environments: Mapping[str, Any], built: SpackDescription) -> dict[str, Any]:
    """`environments` and one more for each that a view serves."""
    more = {
        f"{name}{SUFFIX}": _served(environments[name], name, built, view)
        for view, names in built.views.items()
        for name in names
        if name in environments
    }
    return {**environments, **more}


def _served(environment: _Copyable, name: str, built: SpackDescription, view: str) -> Any:
    folder = view_folder(built, view)
    modules = built.modules.get(view, [])
    # Not every wrapper writes the library's folder into what it links; the linker reads it here.
    path = {} if modules else {"PATH": f"{folder}/bin:$PATH", "LD_RUN_PATH": f"{folder}/lib"}
    return environment.model_copy(
        update={
            "description": f"as {name}, with library and programs as Spack built them ({view})",
            "compiler": str(folder / "bin" / "mpicc"),
            "mpirun": str(folder / "bin" / "mpirun"),
            "ready_programs": str(folder / "libexec" / "assay"),
            "programs": {name: str(folder / "bin" / program) for name, program in _FOREIGN.items()},
            "spack_view": view,
            "variables": {**getattr(environment, "variables", {}), **path},
            "modules": modules,
            "preload": "",
            "packages": [],
            "source": "spack",
        }
    )


def replaced_by_spack(environments: Mapping[str, Any]) -> dict[str, Any]:
    """Only what Spack built, under the names of what it stands in for."""
    return {
        name: environments[f"{name}{SUFFIX}"]
        for name in environments
        if f"{name}{SUFFIX}" in environments
    }


def build_facts(built: SpackDescription, view: str, site: str) -> dict[str, Any]:
    """What was built for `view`: see campaigns.build.facts.

    Raises InfrastructureError when it was not built whole.
    """
    path = facts_file(built, view)
    if not os.access(path, os.R_OK):
        raise InfrastructureError(
            f"site {site}: Spack has not built {view} (no {path}). Run: assay build --site {site}"
        )
    facts: dict[str, Any] = json.loads(path.read_bytes())
    return facts
