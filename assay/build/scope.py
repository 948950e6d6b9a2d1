# SPDX-License-Identifier: Apache-2.0
"""The configuration that every Spack command gets: places, recipes, mirrors, what a site has."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import yaml

from assay.build.paths import PACKAGES_RELEASE, SPACK_ENV, Spack
from assay.sites.builds import modules_folder
from assay.sites.description import SpackDescription
from assay.sites.site_file import SITES
from records.errors import AssayError

#: The source mirror inside the Spack home; Spack's own layout, named by checksums.
MIRROR = "mirror"
#: Recipes of ours that every environment has; an environment may name more in `recipes`.
_OUR_RECIPES = "assay"


def write_scope(spack: Spack, site: str, built: SpackDescription, offline: bool) -> Path:
    """Write the configuration folder below the Spack home, anew.

    `offline`: nothing but the source mirror is asked for sources. Raises AssayError for a platform
    that is not there.
    """
    scope = spack.home / "scope"
    shutil.rmtree(scope, ignore_errors=True)
    scope.mkdir(parents=True)
    _write(scope, "config", _places(spack.home))
    _write(scope, "repos", {"repos:": _repositories(spack, built)})
    _write(scope, "mirrors", {"mirrors:" if offline else "mirrors": _mirrors(spack.home)})
    _write(scope, "bootstrap", {"bootstrap": {"root": str(spack.home / "bootstrap")}})
    _write(scope, "modules", _modules(modules_folder(site), bool(built.modules)))
    _write(scope, "include", {"include": [str(path) for path in packages_files(site, built)]})
    return scope


def _write(scope: Path, name: str, content: dict[str, Any]) -> None:
    text = yaml.safe_dump(content, sort_keys=False)
    # Spack's word for "replaces what is said elsewhere" is a doubled colon.
    (scope / f"{name}.yaml").write_text(re.sub(r"^'(\w+):':", r"\1::", text))


def _places(home: Path) -> dict[str, Any]:
    return {
        "config": {
            "install_tree": {"root": str(home / "install")},
            "build_stage": [str(home / "stage")],
            "source_cache": str(home / "sources"),
            "misc_cache": str(home / "cache" / "misc"),
            "test_stage": str(home / "test"),
        }
    }


def _repositories(spack: Spack, built: SpackDescription) -> dict[str, Any]:
    own = {name: str(SPACK_ENV / "spack_repo" / name) for name in [_OUR_RECIPES, *built.recipes]}
    public: Any = str(spack.packages) if spack.packages else None
    return {**own, "builtin": public or {"git": _PUBLIC_PACKAGES, "tag": PACKAGES_RELEASE}}


_PUBLIC_PACKAGES = "https://github.com/spack/spack-packages.git"


def _mirrors(home: Path) -> dict[str, Any]:
    return {"assay": {"url": str(home / MIRROR), "source": True, "binary": False}}


def _modules(folder: Path, wanted: bool) -> dict[str, Any]:
    """Module files by name and version; what is built on an MPI library names that too."""
    names = {"^mpi": "{name}/{version}-{^mpi.name}-{^mpi.version}", "all": "{name}/{version}"}
    default = {
        "roots": {"tcl": str(folder)},
        "arch_folder": False,
        "enable": ["tcl"] if wanted else [],
        "tcl": {"hash_length": 0, "projections": names},
    }
    return {"modules": {"default": default}}


def packages_files(site: str, built: SpackDescription) -> list[Path]:
    """The site's own packages.yaml before the platform's: what is named first wins."""
    platform = SPACK_ENV / "platforms" / built.platform / "packages.yaml"
    if not platform.is_file():
        known = sorted(path.parent.name for path in SPACK_ENV.glob("platforms/*/packages.yaml"))
        raise AssayError(
            f"site {site}: spack.platform {built.platform!r}: allowed is {', '.join(known)}, or a"
            f" new folder spack-env/platforms/<name>/ with a packages.yaml"
        )
    own = SITES / site / "packages.yaml"
    return [path for path in (own, platform) if path.is_file()]
