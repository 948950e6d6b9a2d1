# SPDX-License-Identifier: Apache-2.0
"""Spack as it is used here: where it is, and the configuration of every command: places, recipes,
mirrors, a site's packages."""

from __future__ import annotations

import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from assay import ROOT, setup_command
from assay.sites.builds import CLONES, spack_home
from assay.sites.description import SpackDescription
from assay.sites.login import login_environment
from assay.sites.site_file import site_file
from records.errors import AssayError, InfrastructureError

#: Environments, platforms and recipes.
SPACK_ENV = ROOT / "spack-env"
#: The source mirror inside the Spack home; Spack's own layout, named by checksums.
MIRROR = "mirror"
#: Recipes of ours that every environment has; an environment may name more in `recipes`.
_OUR_RECIPES = "assay"
_PUBLIC_PACKAGES = "https://github.com/spack/spack-packages.git"
#: Variables of the caller that Spack needs to fetch sources.
_INTERNET = re.compile(r"(?i:(https?|ftp|all|no)_proxy)|SSL_CERT_\w+|CURL_CA_BUNDLE")
#: Environment variable with a checkout of Spack's package repository.
PACKAGES = "ASSAY_SPACK_PACKAGES"
#: The Spack and the package repository that were tested.
SPACK_RELEASE, PACKAGES_RELEASE = "v1.1.0", "v2025.11.0"


@dataclass(frozen=True)
class Spack:
    """A Spack to start, the package repository it shall read, and where it builds."""

    executable: Path
    packages: Path | None
    home: Path

    def variables(self) -> dict[str, str]:
        """The environment of every Spack command: a login shell's, and the way to the internet."""
        return {
            **{name: text for name, text in login_environment().items() if name[:6] != "SPACK_"},
            **{name: os.environ[name] for name in os.environ if _INTERNET.fullmatch(name)},
            "SPACK_DISABLE_LOCAL_CONFIG": "1",
            "SPACK_USER_CACHE_PATH": str(self.home / "cache"),
            "SPACK_USER_CONFIG_PATH": str(self.home / "config"),
            "SPACK_PYTHON": sys.executable,
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def command(self, *words: str) -> list[str]:
        """The command line of one Spack command in our own configuration."""
        return [str(self.executable), "--color", "never", "-C", str(self.home / "scope"), *words]


def find_spack() -> Spack:
    """Spack at SPACK_ROOT, on PATH, or where `make spack` puts it. Raises InfrastructureError when
    there is none."""
    named, on_path = os.environ.get("SPACK_ROOT"), shutil.which("spack")
    places = [Path(named) / "bin" / "spack"] if named else []
    places += [Path(on_path)] if on_path else []
    for place in [*places, CLONES / "spack" / "bin" / "spack"]:
        if os.access(place, os.X_OK):
            return Spack(place, _packages(), spack_home())
    raise InfrastructureError(
        f"no Spack found (SPACK_ROOT is {named or 'not set'}; none on PATH, none in"
        f" {CLONES / 'spack'}). Set SPACK_ROOT to a Spack {SPACK_RELEASE} or run:"
        f" {setup_command('spack')}"
    )


def _packages() -> Path | None:
    """The builtin package repository's checkout; None: Spack fetches its own."""
    named = os.environ.get(PACKAGES)
    for place in [*([Path(named)] if named else []), CLONES / "packages"]:
        repository = place / "repos" / "spack_repo" / "builtin"
        if (repository / "repo.yaml").is_file():
            return repository
    if named is not None:
        raise InfrastructureError(
            f"{PACKAGES}={named}: no repos/spack_repo/builtin/repo.yaml there; give a checkout"
            f" of Spack's package repository, release {PACKAGES_RELEASE}"
        )
    return None


def write_scope(spack: Spack, site: str, built: SpackDescription, offline: bool) -> Path:
    """Write the configuration folder below the Spack home, anew. `offline`: sources come from the
    mirror only. Raises AssayError for an unknown platform."""
    home, scope = spack.home, spack.home / "scope"
    shutil.rmtree(scope, ignore_errors=True)
    scope.mkdir(parents=True)
    ours = {name: str(SPACK_ENV / "spack_repo" / name) for name in [_OUR_RECIPES, *built.recipes]}
    public: Any = {"git": _PUBLIC_PACKAGES, "tag": PACKAGES_RELEASE}
    places = {
        "install_tree": {"root": str(home / "install")},
        "build_stage": [str(home / "stage")],
        "source_cache": str(home / "sources"),
        "misc_cache": str(home / "cache" / "misc"),
        "test_stage": str(home / "test"),
    }
    mirror = {"url": str(home / MIRROR), "source": True, "binary": False}
    # Spack's sign for "replaces what is said elsewhere" is a doubled colon.
    content: dict[str, Any] = {
        "config": places,
        "repos:": {**ours, "builtin": str(spack.packages) if spack.packages else public},
        "mirrors:" if offline else "mirrors": {"assay": mirror},
        "bootstrap": {"root": str(home / "bootstrap")},
        "modules": {"default": {"enable": []}},
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
    own = site_file(site).with_name("packages.yaml")
    return [path for path in (own, platform) if path.is_file()]
