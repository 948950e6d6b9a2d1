# SPDX-License-Identifier: Apache-2.0
"""The C sources of ours from which an installed package was built: Spack's hash does not tell.

A file in the Spack home, which all sites share, has a digest of the sources by the package's hash;
a package that it does not name is built again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path

from assay.build.commands import SpackCommands
from assay.build.lock import Lock
from assay.sites.site import Site
from checks.common.sources import c_sources, shipped_folders
from records.errors import InfrastructureError
from records.files import write_whole

#: Packages that are built from the checkout's C sources.
OUR_PACKAGES = ("assay-benchmarks", "assay-hpl", "su3-rmd")
_NOTES = "our-sources.json"


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


def digests(lock: Lock, roots: list[str]) -> dict[str, str]:
    """The digest of the sources, by the hash of each package of ours below `roots`."""
    return dict.fromkeys(lock.hashes_of(OUR_PACKAGES, roots), sources_digest())


def changed(
    commands: SpackCommands, there: Collection[str], digests: Mapping[str, str]
) -> list[str]:
    """The packages `there` that are not known to be of the sources with these digests."""
    noted = _noted(commands)
    return [
        known for known, digest in digests.items() if known in there and noted.get(known) != digest
    ]


def note(commands: SpackCommands, digests: Mapping[str, str]) -> None:
    """Note that the packages were built from the sources with these digests."""
    noted = {**_noted(commands), **digests}
    write_whole(commands.spack.home / _NOTES, json.dumps(noted, indent=1).encode())


def _noted(commands: SpackCommands) -> dict[str, str]:
    path = commands.spack.home / _NOTES
    noted: dict[str, str] = json.loads(path.read_bytes()) if path.is_file() else {}
    return noted
