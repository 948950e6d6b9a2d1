# SPDX-License-Identifier: Apache-2.0
"""Sources of builds: C sources of ours by their digest, and archives in the source mirror.

The mirror has every archive that a build needs, named by its checksum. It is filled
from the distribution's source packages, or by Spack from the recipes' own places; then its folder
can be carried to a machine that reaches neither.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from assay import ROOT
from assay.build.spack import MIRROR, SPACK_ENV, SpackCommands
from assay.sites.description import SpackDescription
from assay.sites.site import Site
from assay.terminal import Say
from checks.common.sources import c_sources, shipped_folders
from records.errors import AssayError, InfrastructureError

#: Packages that are built from the checkout's C sources.
OUR_PACKAGES = ("assay-benchmarks", "assay-hpl", "su3-rmd")


def sources_digest(*folders: Path, files: Callable[[Path], list[Path]] = c_sources) -> str:
    """Twelve hexadecimal digits of the names and contents of `files` below folders: all C sources
    and makefiles, by default of the checks that come with Assay."""
    digest = hashlib.sha256()
    for folder in folders or shipped_folders():
        for path in files(folder):
            digest.update(f"{path.relative_to(folder)}\0{path.stat().st_size}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def refuse_stale_builds(site: Site, environments: Iterable[str]) -> None:
    """Raise InfrastructureError unless each environment of Spack's is complete and current."""
    facts = {name: site.spack_facts(name) for name in environments}
    digest = sources_digest() if any(facts.values()) else ""
    stale = sorted(name for name, known in facts.items() if known and known["sources"] != digest)
    if stale:
        raise InfrastructureError(
            f"site {site.name}: Spack built {', '.join(stale)} from other C sources than the"
            f" checkout has now. Run: assay build --site {site.name}"
        )


class SourceArchive(BaseModel):
    """An original archive in a source package of the distribution."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    package: str
    archive: str
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    suite: str | None = Field(
        default=None, description="suite of the distribution; default: its own"
    )
    environment: str | None = Field(default=None, description="the only environment that needs it")

    def path_in(self, mirror: Path) -> Path:
        """Its place in Spack's layout: _source-cache/archive/<first two digits>/<all>.<ending>."""
        ending = self.archive.split(".orig.")[-1]
        return mirror / "_source-cache" / "archive" / self.sha256[:2] / f"{self.sha256}.{ending}"


def archives_of(built: SpackDescription) -> list[SourceArchive]:
    """The archives of the platform's sources.yaml that `built`'s environment needs. Raises
    AssayError when the platform has none."""
    path = SPACK_ENV / "platforms" / built.platform / "sources.yaml"
    if not path.is_file():
        raise AssayError(
            f"platform {built.platform}: no {path.name} there, so no source packages are known; use"
            " --mirror web where the web can be reached"
        )
    stated = TypeAdapter(list[SourceArchive]).validate_python(yaml.safe_load(path.read_text()))
    return [archive for archive in stated if archive.environment in (None, built.environment)]


def fill_from_distribution(home: Path, built: SpackDescription, say: Say) -> None:
    """Put the archives of the platform's sources.yaml into the mirror.

    Those which only another environment needs are left.

    Raises AssayError when the platform names none, InfrastructureError when they cannot be fetched
    or one has a wrong checksum: that one is not taken.
    """
    mirror = home / MIRROR
    archives = [a for a in archives_of(built) if not _is_right(a.path_in(mirror), a.sha256)]
    if not archives:
        say(f"mirror {mirror}: all archives are there, checksums right")
        return
    try:
        mirror.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=mirror) as scratch:
            # What is asked of the distribution: package, or package/suite.
            asked = ["/".join(filter(None, (a.package, a.suite))) for a in archives]
            _fetch(asked, scratch)
            for archive in archives:
                _take(archive, Path(scratch), mirror, say)
    except OSError as error:
        raise InfrastructureError(f"mirror {mirror}: {error.strerror}; make room") from error


def _fetch(packages: list[str], folder: str) -> None:
    script = ROOT / "setup" / "distribution-sources.sh"
    answer = subprocess.run(
        [str(script), folder, *packages], capture_output=True, text=True, check=False
    )
    if answer.returncode != 0:
        lines = answer.stderr.strip().splitlines()
        reasons = [line[3:] for line in lines if line.startswith(("E: ", "W: "))]
        raise InfrastructureError(
            f"the distribution's source packages {' '.join(packages)} could not be fetched:"
            f" {(reasons or lines or ['no reason given'])[0]}. Is its package archive reachable"
            " from here? Else carry a filled mirror here"
        )


def _take(archive: SourceArchive, folder: Path, mirror: Path, say: Say) -> None:
    fetched = folder / archive.archive
    if not fetched.is_file():
        raise InfrastructureError(
            f"source package {archive.package}: it brought no {archive.archive}; this distribution"
            " has another version. See the platform's sources.yaml"
        )
    if not _is_right(fetched, archive.sha256):
        raise InfrastructureError(
            f"{archive.archive}: its checksum is {_sha256(fetched)}, the recipe states"
            f" {archive.sha256}; not taken"
        )
    target = archive.path_in(mirror)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(fetched, target)
    say(f"mirror: {archive.archive}")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _is_right(path: Path, sha256: str) -> bool:
    return path.is_file() and _sha256(path) == sha256


def fill_from_web(commands: SpackCommands) -> None:
    """Let Spack fetch every source of the environment into the mirror, checksums verified."""
    folder = str(commands.spack.home / MIRROR)
    commands.run("filling the mirror", "mirror", "create", "--directory", folder, "--all")
