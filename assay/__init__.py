# SPDX-License-Identifier: Apache-2.0
"""The engine: command line, campaign files, plans, runs, sites, builds."""

from pathlib import Path

#: What comes with Assay: a clone, or the folder of packages where it is installed.
ROOT = Path(__file__).resolve().parent.parent
IS_CLONE = (ROOT / "pyproject.toml").is_file()
#: Where `build/` and new sites are kept: the clone, else the working folder.
BASE = ROOT if IS_CLONE else Path.cwd()
#: The criteria files that come with Assay.
CRITERIA = ROOT / "campaigns" / "criteria"


def own_folders(name: str) -> list[Path]:
    """The folder `name` of the working folder, whose files are found before those of Assay; none
    where it is Assay's."""
    own = Path(name).absolute()
    return [own] if own.is_dir() and own.resolve() != ROOT / name else []


def setup_command(name: str) -> str:
    """How a script of `setup` is called: by make in a clone, else by its path."""
    return f"make {name}" if IS_CLONE else str(ROOT / "setup" / f"{name}.sh")


def criteria_files() -> dict[str, Path]:
    """The criteria files of the working folder and of Assay, by name."""
    folders = [CRITERIA, *own_folders("campaigns/criteria")]
    files = (path for folder in folders for path in folder.glob("*.yaml"))
    return dict(sorted((path.stem, path) for path in files))


def criteria_names() -> list[str]:
    """Names of the criteria files of the working folder and of Assay."""
    return [*criteria_files()]
