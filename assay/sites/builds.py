# SPDX-License-Identifier: Apache-2.0
"""Environments of a site with the libraries and programs that Spack built, and where these are."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from assay import BASE
from assay.sites.description import VIEW, SiteDescription
from checks.common.session.launch_commands import LAUNCHERS

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
