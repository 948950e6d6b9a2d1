# SPDX-License-Identifier: Apache-2.0
"""The README of a folder names each source file that it stands above."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS = ("assay", "bench", "checks", "plugins", "records", "reports", "setup", "virtual_cluster")
SOURCES = {".py", ".c", ".sh", ".js", ".css"}
#: Folders whose names say what their files are.
NOT_NAMED = {"tests", "proof", "samples", "__pycache__"}


def sources_below(folder: Path) -> list[Path]:
    """Source files of a folder and of the folders below it that have no README of their own."""
    found = []
    for entry in sorted(folder.iterdir()):
        if entry.is_dir() and entry.name not in NOT_NAMED and not (entry / "README.md").exists():
            found += sources_below(entry)
        elif entry.suffix in SOURCES and entry.name != "__init__.py":
            found.append(entry)
    return found


def test_each_source_file_is_named():
    readmes = [file for room in ROOMS for file in (ROOT / room).rglob("README.md")]
    missing = [
        str(file.relative_to(ROOT))
        for readme in readmes
        for file in sources_below(readme.parent)
        if file.stem not in re.findall(r"[\w-]+", readme.read_text())
    ]
    assert len(readmes) > 50
    assert not missing
