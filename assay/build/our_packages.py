# SPDX-License-Identifier: Apache-2.0
"""Our own packages, which are built from the checkout's C sources."""

from __future__ import annotations

import hashlib
from pathlib import Path

from checks.common.sources import CHECKS, c_sources

#: Packages that are built from the checkout's C sources.
OUR_PACKAGES = ("assay-benchmarks", "assay-hpl", "su3-rmd")


def sources_digest(folder: Path = CHECKS) -> str:
    """Twelve hexadecimal digits of the names and contents of all C sources and makefiles
    below `folder`."""
    digest = hashlib.sha256()
    for path in c_sources(folder):
        digest.update(f"{path.relative_to(folder)}\0{path.stat().st_size}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
