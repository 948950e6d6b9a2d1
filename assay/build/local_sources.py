# SPDX-License-Identifier: Apache-2.0
"""Packages that are built from a folder of the user's in place of what their recipe fetches.

Spack builds such a package where its sources are (`develop`). The folder is therefore copied
below the environment before each library's build: the user's stays as it is, and no library's build
finds objects of another's. What such a folder holds is not verified by a checksum.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from assay.build.facts import Lock
from records.errors import AssayError

#: A file or folder of this name is not part of the sources.
_NOT_COPIED = ".git"
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*(?:@[A-Za-z0-9][\w.-]*)?", re.ASCII)


def local_sources(words: Sequence[str], home: Path) -> dict[str, Path]:
    """The folder of each package in `words`, NAME=DIR or NAME@VERSION=DIR. Raises AssayError for
    another form, a package named twice, and a DIR that is no folder, is empty, or holds the Spack
    home."""
    found: dict[str, Path] = {}
    for word in words:
        name, _, text = word.partition("=")
        folder = Path(text).expanduser()
        if not _NAME.fullmatch(name) or not text:
            raise AssayError(
                f"--source {word!r}: allowed is NAME=DIR or NAME@VERSION=DIR, with NAME a package"
                " of the site's Spack environment, e.g. hpl@2.3=/path/hpl-2.3"
            )
        if not folder.is_dir() or not any(folder.iterdir()):
            raise AssayError(
                f"--source {name}: {folder} is no folder with files; give the top folder of the"
                " package's unpacked sources"
            )
        if home.is_relative_to(folder.resolve()):
            raise AssayError(
                f"--source {name}: {folder} holds the Spack home {home}; give the package's own"
                " folder"
            )
        if _package(name) in map(_package, found):
            raise AssayError(f"--source {name}: {_package(name)} is given twice; give one folder")
        found[name] = folder.resolve()
    return found


def developed(environment: Path, sources: Mapping[str, Path]) -> dict[str, dict[str, str]]:
    """Section `develop` of the environment's spack.yaml: these packages are built from copies.
    Written by us: `spack develop` would write it into the first file that the configuration
    includes, a site's packages.yaml or the platform's."""
    return {
        _package(name): {"spec": name.replace("@", "@="), "path": str(_copy(environment, name))}
        for name in sources
    }


def lay_copies(environment: Path, sources: Mapping[str, Path]) -> None:
    """Copy each folder anew, times of its files included: by these make knows what is older."""
    for name, folder in sources.items():
        copy = _copy(environment, name)
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy, symlinks=True, ignore=shutil.ignore_patterns(_NOT_COPIED))


def refuse_unused(lock: Lock, roots: Collection[str], sources: Mapping[str, Path]) -> None:
    """Raise AssayError for a source that nothing below `roots` is built from."""
    packages = lock.packages(list(roots))
    for name in sources:
        known = packages.get(_package(name))
        if known is None:
            raise AssayError(
                f"--source {name}: what is built here needs no such package; it needs"
                f" {', '.join(sorted(one for one in packages if not packages[one]['external']))}"
            )
        if "dev_path=" not in known["variants"]:
            raise AssayError(
                f"--source {name}: what is built here needs {_package(name)} {known['version']};"
                f" give {_package(name)}@{known['version']}=DIR"
            )


def digests(sources: Mapping[str, Path]) -> dict[str, str]:
    """By package, twelve hexadecimal digits of names, rights and contents of all that is copied."""
    found = {}
    for name, folder in sources.items():
        digest = hashlib.sha256()
        try:
            for path in sorted(folder.rglob("*")):
                inside = path.relative_to(folder)
                if _NOT_COPIED in inside.parts:
                    continue
                digest.update(b"%s\0%o\0" % (os.fsencode(inside), path.lstat().st_mode))
                if path.is_symlink():
                    digest.update(os.fsencode(path.readlink()))
                elif path.is_file():
                    digest.update(hashlib.sha256(path.read_bytes()).digest())
        except OSError as error:
            raise AssayError(
                f"--source {name}: {error.filename}: {error.strerror}; its files must be readable"
            ) from error
        found[_package(name)] = digest.hexdigest()[:12]
    return found


def _package(name: str) -> str:
    return name.partition("@")[0]


def _copy(environment: Path, name: str) -> Path:
    return environment / "local-sources" / _package(name)
