# SPDX-License-Identifier: Apache-2.0
"""Builds kept for later runs in the user's cache, each under a hash of what it was made of.

That is the C sources, HPL's archive, and all that is known of the environment: compiler and its
version, library, packages, modules, variables. Where the compiler's version is not known, only
the same run finds its builds again. The folder is private to whoever runs the harness.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from assay.build.our_packages import sources_digest
from assay.run.provenance import environment_as_run
from assay.run.variables import variables_of
from assay.run.work_folder import WorkFolder
from assay.sites.site import Site
from checks.common.outcome import Built
from checks.common.sources import CHECKS, further_folders
from records.files import replacing
from records.run_directory import RunDirectory
from records.untrusted import RefusedFileError

#: What is built for an environment: the build fixtures of `checks.common.builds`.
PROGRAMS = ("Programs", "BlasPrograms", "Hpl", "Su3Rmd")
#: Builds that are kept, the last used ones, and the greatest that is.
MOST_KEPT, MOST_BYTES = 64, 1 << 28
_PIECE_BYTES = 1 << 20


def kept_folder() -> Path:
    """The folder of kept builds: below XDG_CACHE_HOME, or ~/.cache."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache, "assay", "builds")


class KeptBuilds:
    """The builds that the sessions of a run may use again, and those that they add."""

    def __init__(self, site: Site, run: RunDirectory, environments: Collection[str]) -> None:
        self._folder = kept_folder()
        common = _digest(
            *(sources_digest(folder) for folder in (CHECKS, *further_folders())),
            *(str(site.name), str(site.description.partition), site.description.build_on),
            variables_of(os.environ),
        )
        known = run.provenance().environments
        self._keys: dict[tuple[str, str], str] = {}
        for name in environments:
            now, then = environment_as_run(site, name), known.get(name)
            version = now.compiler_version or (then.compiler_version if then else "")
            library = then.library if then else None
            described = site.session_data()["environments"][name]
            made_of = [common, described, msgspec.to_builtins(now), version, library]
            made_of += [] if version else [run.run_id]
            for program in PROGRAMS:
                source = _file_digest(Path(site.hpl_source())) if program == "Hpl" else ""
                self._keys[name, program] = _digest(*made_of, program, source)

    def there(self) -> dict[str, Path]:
        """The builds that there are: name in a session's folder → file, private to the caller."""
        found = {}
        for (environment, program), key in self._keys.items():
            path = self._folder / f"{key}.tar"
            with suppress(OSError):
                state = path.lstat()
                if stat.S_ISREG(state.st_mode) and state.st_uid == os.geteuid():
                    os.utime(path)
                    found[f"{program}-{environment}.tar"] = path
        return found

    def take_in(self, work: WorkFolder, built: Built) -> None:
        """Keep what a session has built, if it can be kept."""
        key = self._keys.get((built.environment, built.program))
        if key is None:
            return
        name = f"{work.session}/builds/{built.program}-{built.environment}.tar"
        with suppress(OSError, RefusedFileError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with os.fdopen(work.open(name), "rb") as source:
                if os.fstat(source.fileno()).st_size > MOST_BYTES:
                    return
                target = self._folder / f"{key}.tar"
                with replacing(target, 0o600) as temporary, temporary.open("wb") as file:
                    while piece := source.read(_PIECE_BYTES):
                        file.write(piece)
            self._drop_old()

    def _drop_old(self) -> None:
        """Remove those that were not used for longest."""
        kept = sorted(self._folder.glob("*.tar"), key=lambda path: path.stat().st_mtime)
        for path in kept[:-MOST_KEPT]:
            path.unlink(missing_ok=True)


def _digest(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def _file_digest(path: Path) -> str:
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
