# SPDX-License-Identifier: Apache-2.0
"""A digest of our C programs: changed sources are built again and known apart in records."""

from __future__ import annotations

import hashlib
from pathlib import Path

from assay.build.paths import ROOT

SOURCES = ROOT / "checks" / "src"
#: Packages that are built from them.
OUR_PACKAGES = ("assay-benchmarks", "assay-hpl", "su3-rmd")


def sources_digest(folder: Path = SOURCES) -> str:
    """Twelve hexadecimal digits of the names and contents of all files below `folder`."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(f"{path.relative_to(folder)}\0{path.stat().st_size}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
