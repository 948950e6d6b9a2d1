# SPDX-License-Identifier: Apache-2.0
"""Where the C sources of the checks are: the shared library, and each check's own program."""

from __future__ import annotations

import os
from pathlib import Path

CHECKS = Path(__file__).resolve().parent.parent
#: The shared C library with the Makefile that builds everything.
LIBRARY = CHECKS / "common" / "src"
#: Shell scripts that start and end the ranks of a launch.
LAUNCH_SCRIPTS = CHECKS / "common" / "launch"
#: Environment variable with folders outside the tree that hold further folders of checks.
FURTHER_CHECKS = "ASSAY_CHECKS"


def further_folders() -> list[Path]:
    """Folders outside the tree, as the environment names them."""
    return [Path(name) for name in os.environ.get(FURTHER_CHECKS, "").split(os.pathsep) if name]


def program_folders(*, shipped: bool = True) -> list[Path]:
    """Folders of checks that hold a C program: C files or a `build.mk`. No two have one name.

    Without `shipped` only those of folders outside the tree.
    """
    roots = [CHECKS, *further_folders()] if shipped else further_folders()
    found: dict[str, Path] = {}
    for folder in (folder for root in roots for folder in sorted(root.iterdir())):
        if any(folder.glob("*.c")) or (folder / "build.mk").is_file():
            if folder.name in found:
                raise ValueError(f"two checks of one name: {found[folder.name]} and {folder}")
            found[folder.name] = folder
    return list(found.values())


def c_sources(folder: Path) -> list[Path]:
    """All C files, headers and makefiles below a folder, in a fixed order."""
    return sorted(
        path
        for path in folder.rglob("*")
        if path.suffix in {".c", ".h", ".mk"} or path.name == "Makefile"
    )
