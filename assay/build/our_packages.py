# SPDX-License-Identifier: Apache-2.0
"""Our own packages: built from the checkout's C sources, and again when those have changed.

Spack's hash of such a package does not depend on its sources. A file in the Spack home, which all
sites share, says from which sources each was built; a package that it does not name is built again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from assay.build.commands import SpackCommands
from checks.common.sources import CHECKS, c_sources
from records.files import write_whole

#: Packages that are built from the checkout's C sources.
OUR_PACKAGES = ("assay-benchmarks", "assay-hpl", "su3-rmd")
_NOTES = "our-sources.json"


def sources_digest(folder: Path = CHECKS) -> str:
    """Twelve hexadecimal digits of the names and contents of all C sources and makefiles
    below `folder`."""
    digest = hashlib.sha256()
    for path in c_sources(folder):
        digest.update(f"{path.relative_to(folder)}\0{path.stat().st_size}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def changed(commands: SpackCommands, ours: Iterable[str]) -> list[str]:
    """Those of the packages (hashes) that are installed, but not known to be of these sources."""
    text = commands.run("looking at what is built", "find", "--format", "{hash}")
    installed, noted, digest = set(text.split()), _noted(commands), sources_digest()
    return [one for one in ours if one in installed and noted.get(one) != digest]


def note(commands: SpackCommands, ours: Iterable[str]) -> None:
    """Note that the packages were built from the checkout's present sources."""
    noted = {**_noted(commands), **dict.fromkeys(ours, sources_digest())}
    write_whole(commands.spack.home / _NOTES, json.dumps(noted, indent=1).encode())


def _noted(commands: SpackCommands) -> dict[str, str]:
    path = commands.spack.home / _NOTES
    found: dict[str, str] = json.loads(path.read_bytes()) if path.is_file() else {}
    return found
