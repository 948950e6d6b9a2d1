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


def own_folder(name: str) -> Path | None:
    """The folder `name` of the working folder; None where it is Assay's, or is not there."""
    own = Path(name).absolute()
    return own if own.is_dir() and own.resolve() != ROOT / name else None


def known_files(shipped: Path, name: str, pattern: str) -> list[Path]:
    """Files of the folder `shipped` that comes with Assay, then of the folder `name` of the working
    folder, which replace those of the same name."""
    folders = filter(None, (shipped, own_folder(name)))
    return [path for folder in folders for path in sorted(folder.glob(pattern))]


def setup_command(name: str) -> str:
    """Command that calls a script of `setup`: by make in a clone, else by its path."""
    return f"make {name}" if IS_CLONE else str(ROOT / "setup" / f"{name}.sh")


def criteria_files() -> dict[str, Path]:
    """The criteria files of the working folder and of Assay, by name in order."""
    files = known_files(CRITERIA, "campaigns/criteria", "*.yaml")
    return dict(sorted((path.stem, path) for path in files))
