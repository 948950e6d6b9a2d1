# SPDX-License-Identifier: Apache-2.0
"""What the reports may know of the rest: records and what they are judged by, never the engine."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

REPORTS = Path(__file__).resolve().parent.parent
ALLOWED = {
    "campaigns.criteria.loading",
    "campaigns.criteria.model",
    "campaigns.errors",
    "campaigns.metrics",
    "campaigns.mpi_profile",
    "campaigns.records",
}
#: The nights of a campaign, which the nightly part reads as the others read records.
STORED_NIGHTS = "campaigns.history"


def imported(file: Path) -> set[str]:
    """Modules of the project that a file imports, those of the reports aside."""
    found: set[str] = set()
    for item in ast.walk(ast.parse(file.read_text())):
        if isinstance(item, ast.Import):
            found |= {name.name for name in item.names}
        elif isinstance(item, ast.ImportFrom) and item.module:
            found.add(item.module)
    return {n for n in found if n.split(".")[0] in {"campaigns", "checks", "virtual_cluster"}}


FOLDERS = sorted({file.parent for file in REPORTS.rglob("*.py")} - {REPORTS / "tests"})


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_reports_read_records_and_know_nothing_of_the_engine(folder: Path) -> None:
    strange = {
        (file.name, name)
        for file in folder.glob("*.py")
        for name in imported(file) - ALLOWED
        if not (folder.name == "nightly" and name.startswith(STORED_NIGHTS))
    }
    assert not strange
