# SPDX-License-Identifier: Apache-2.0
"""Our own packages: built from the checkout's C sources, and built again when those have changed.

Spack's hash of such a package does not tell its sources; a file in the Spack home does, for all
sites, which share what is installed. It is written when all is done: what it does not name is built
again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from assay.build.commands import SpackCommands
from assay.build.digest import sources_digest
from records.files import write_whole

_NOTES = "our-sources.json"


def changed(commands: SpackCommands, ours: Iterable[str]) -> list[str]:
    """Those of the packages (hashes) that are installed, but not known to be of today's sources."""
    text = commands.run("looking at what is built", "find", "--format", "{hash}")
    installed, noted, digest = set(text.split()), _noted(commands), sources_digest()
    return [one for one in ours if one in installed and noted.get(one) != digest]


def note(commands: SpackCommands, ours: Iterable[str]) -> None:
    """Note that the packages were built from today's sources."""
    noted = {**_noted(commands), **dict.fromkeys(ours, sources_digest())}
    write_whole(commands.spack.home / _NOTES, json.dumps(noted, indent=1).encode())


def _noted(commands: SpackCommands) -> dict[str, str]:
    path = commands.spack.home / _NOTES
    found: dict[str, str] = json.loads(path.read_bytes()) if path.is_file() else {}
    return found
