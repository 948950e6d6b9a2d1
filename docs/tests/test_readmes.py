# SPDX-License-Identifier: Apache-2.0
"""The README of a folder names each source file that it stands above."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("assay", "bench", "checks", "records", "reports", "setup", "virtual_cluster")
SOURCES = {".py", ".c", ".sh", ".js", ".css"}
#: Folders whose names say what their files are.
NOT_NAMED = {"tests", "proof", "samples", "__pycache__"}
READMES = sorted(file for room in ROOMS for file in (ROOT / room).rglob("README.md"))


def sources_below(folder: Path) -> list[Path]:
    """Source files of a folder and of the folders below it that have no README of their own."""
    found = []
    for entry in sorted(folder.iterdir()):
        if entry.is_dir() and entry.name not in NOT_NAMED and not (entry / "README.md").exists():
            found += sources_below(entry)
        elif entry.suffix in SOURCES and entry.name != "__init__.py":
            found.append(entry)
    return found


@pytest.mark.parametrize("readme", READMES, ids=lambda file: str(file.parent.relative_to(ROOT)))
def test_each_source_file_is_named(readme):
    words = set(re.findall(r"[\w-]+", readme.read_text()))
    missing = [
        str(file.relative_to(readme.parent))
        for file in sources_below(readme.parent)
        if file.stem not in words
    ]
    assert not missing
