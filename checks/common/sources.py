# SPDX-License-Identifier: Apache-2.0
"""Where the C sources of the checks are: the shared library, and each check's own program."""

import os
from pathlib import Path

from records.errors import AssayError
from records.plugins import folders

CHECKS = Path(__file__).resolve().parent.parent
#: The shared C library with the Makefile that builds everything.
LIBRARY = CHECKS / "common" / "src"
#: Shell scripts that start and end the ranks of a launch.
LAUNCH_SCRIPTS = CHECKS / "common" / "launch"
#: How the private packages of folders outside the tree begin.
OUTSIDE = "assay_checks_"
#: Environment variable with folders outside the tree that hold further folders of checks.
FURTHER_CHECKS = "ASSAY_CHECKS"


def further_folders() -> list[Path]:
    """Folders outside the tree, as the environment names them."""
    return [Path(name) for name in os.environ.get(FURTHER_CHECKS, "").split(os.pathsep) if name]


def shipped_folders() -> list[Path]:
    """Folders of checks that come with Assay: those of the core, then those of plugins."""
    return [CHECKS, *folders("checks").values()]


def program_folders(*, shipped: bool = True) -> list[Path]:
    """Folders of checks that hold a C program: C files or a `build.mk`. No two have one name.

    Without `shipped` only those of folders outside the tree.
    """
    roots = [*(shipped_folders() if shipped else []), *further_folders()]
    found: dict[str, Path] = {}
    for folder in (folder for root in roots for folder in sorted(root.iterdir())):
        if any(folder.glob("*.c")) or (folder / "build.mk").is_file():
            if folder.name in found:
                raise ValueError(f"two checks of one name: {found[folder.name]} and {folder}")
            found[folder.name] = folder
    return list(found.values())


def launch_files(folder: Path) -> list[Path]:
    """Files of a check outside the tree that are copied to each of its launches: all but hidden
    ones and those of `samples` and `tests`. Raises AssayError for a file that has
    the name of one of Assay's."""
    left_out = {"__pycache__", "samples", "tests"}
    found = []
    for path in sorted(folder.rglob("*")):
        names = path.relative_to(folder).parts
        if path.is_file() and left_out.isdisjoint(names) and not any(n[0] == "." for n in names):
            found.append(path)
    for path in found:
        if (LAUNCH_SCRIPTS / path.relative_to(folder)).exists():
            raise AssayError(f"{path}: a launch has a file of this name of Assay's; rename it")
    return found


def build_files(folder: Path) -> list[Path]:
    """Files that are built of a check's folder, in a fixed order: the C sources of one of ours, of
    others every file but Python's, for a program may include any."""
    if folder.parent in shipped_folders():
        return c_sources(folder)
    return [path for path in launch_files(folder) if path.suffix != ".py"]


def c_sources(folder: Path) -> list[Path]:
    """All C files, headers and makefiles below a folder, in a fixed order."""
    return sorted(
        path
        for path in folder.rglob("*")
        if path.suffix in {".c", ".h", ".mk"} or path.name == "Makefile"
    )
