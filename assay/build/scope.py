# SPDX-License-Identifier: Apache-2.0
"""The configuration of every Spack command: places, recipes, mirrors, a site's packages."""

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
_PUBLIC_PACKAGES = "https://github.com/spack/spack-packages.git"


def write_scope(spack: Spack, site: str, built: SpackDescription, offline: bool) -> Path:
    """Write the configuration folder below the Spack home, anew.

    `offline`: sources come from the mirror only. Raises AssayError for a platform
    that is not there.
    """
    scope = spack.home / "scope"
    shutil.rmtree(scope, ignore_errors=True)
    scope.mkdir(parents=True)
    home = spack.home
    ours = {name: str(SPACK_ENV / "spack_repo" / name) for name in [_OUR_RECIPES, *built.recipes]}
    public: Any = {"git": _PUBLIC_PACKAGES, "tag": PACKAGES_RELEASE}
    places = {
        "install_tree": {"root": str(home / "install")},
        "build_stage": [str(home / "stage")],
        "source_cache": str(home / "sources"),
        "misc_cache": str(home / "cache" / "misc"),
        "test_stage": str(home / "test"),
    }
    # Module files by name and version; what is built on an MPI library names that too.
    names = {"^mpi": "{name}/{version}-{^mpi.name}-{^mpi.version}", "all": "{name}/{version}"}
    modules = {
        "roots": {"tcl": str(modules_folder(site))},
        "arch_folder": False,
        "enable": ["tcl"] if built.modules else [],
        "tcl": {"hash_length": 0, "projections": names},
    }
    mirror = {"url": str(home / MIRROR), "source": True, "binary": False}
    # Spack's sign for "replaces what is said elsewhere" is a doubled colon.
    content: dict[str, Any] = {
        "config": places,
        "repos:": {**ours, "builtin": str(spack.packages) if spack.packages else public},
        "mirrors:" if offline else "mirrors": {"assay": mirror},
        "bootstrap": {"root": str(home / "bootstrap")},
        "modules": {"default": modules},
        "include": [str(path) for path in packages_files(site, built)],
    }
    for section, stated in content.items():
        text = yaml.safe_dump({section: stated}, sort_keys=False)
        text = re.sub(r"^'(\w+):':", r"\1::", text)
        (scope / f"{section.rstrip(':')}.yaml").write_text(text)
    return scope


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
