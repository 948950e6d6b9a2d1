# SPDX-License-Identifier: Apache-2.0
"""From which sources an installed package was built, where Spack's hash does not tell: ours, and
local ones.

A file in the Spack home, which all sites share, has a digest of the sources by the package's hash;
a package that it does not name is built again.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

from assay.build.commands import SpackCommands
from assay.build.facts import Lock
from assay.build.our_packages import OUR_PACKAGES, sources_digest
from records.files import write_whole

_NOTES = "our-sources.json"


def digests(lock: Lock, roots: list[str], local: Mapping[str, str]) -> dict[str, str]:
    """Digests of the sources of these packages below `roots`, by hash; `local`: those of local
    sources, by package."""
    known = {**dict.fromkeys(OUR_PACKAGES, sources_digest()), **local}
    return {one: known[lock.specs[one]["name"]] for one in lock.hashes_of(known, roots)}


def installed(commands: SpackCommands) -> set[str]:
    """Hashes of the environment's packages that are installed."""
    return set(commands.run("looking at what is built", "find", "--format", "{hash}").split())


def changed(
    commands: SpackCommands, there: Collection[str], digests: Mapping[str, str]
) -> list[str]:
    """Those of the packages `there` that are not known to be of the sources with these digests."""
    noted = _noted(commands)
    return [one for one, digest in digests.items() if one in there and noted.get(one) != digest]


def note(commands: SpackCommands, digests: Mapping[str, str]) -> None:
    """Note that the packages were built from the sources with these digests."""
    noted = {**_noted(commands), **digests}
    write_whole(commands.spack.home / _NOTES, json.dumps(noted, indent=1).encode())


def _noted(commands: SpackCommands) -> dict[str, str]:
    path = commands.spack.home / _NOTES
    found: dict[str, str] = json.loads(path.read_bytes()) if path.is_file() else {}
    return found
