# SPDX-License-Identifier: Apache-2.0
"""Where things are: Spack itself, the recipes, and the Spack home with all that is built."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from assay import ROOT
from assay.sites.builds import CLONES, spack_home
from records.errors import InfrastructureError

#: Environments, platforms and recipes as they stand in the checkout.
SPACK_ENV = ROOT / "spack-env"
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
        """The environment of every Spack command: nothing of the user's own Spack reaches it."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith("SPACK_")}
        return {
            **kept,
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
    """Spack at SPACK_ROOT, on PATH, or where `make spack` puts it.

    Raises InfrastructureError when there is none.
    """
    named = os.environ.get("SPACK_ROOT")
    places = [Path(named) / "bin" / "spack"] if named else []
    on_path = shutil.which("spack")
    places += [Path(on_path)] if on_path else []
    places.append(CLONES / "spack" / "bin" / "spack")
    for place in places:
        if os.access(place, os.X_OK):
            return Spack(place, _packages(), spack_home())
    raise InfrastructureError(
        f"no Spack found (SPACK_ROOT is {named or 'not set'}; none on PATH, none in"
        f" {CLONES / 'spack'}). Set SPACK_ROOT to a Spack {SPACK_RELEASE} or run: make spack"
    )


def _packages() -> Path | None:
    """The builtin package repository's checkout; None: Spack fetches its own."""
    places = [Path(os.environ[PACKAGES])] if PACKAGES in os.environ else []
    for place in [*places, CLONES / "packages"]:
        repository = place / "repos" / "spack_repo" / "builtin"
        if (repository / "repo.yaml").is_file():
            return repository
    if places:
        raise InfrastructureError(
            f"{PACKAGES}={places[0]}: no repos/spack_repo/builtin/repo.yaml there; give a checkout"
            f" of Spack's package repository, release {PACKAGES_RELEASE}"
        )
    return None
