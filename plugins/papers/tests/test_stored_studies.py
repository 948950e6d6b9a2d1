# SPDX-License-Identifier: Apache-2.0
"""Documents of stored runs keep their answer, claims and numbers."""

import json
import shutil
from pathlib import Path
from zlib import crc32

import pytest

from assay import ROOT
from plugins.papers.study import studies
from plugins.papers.tests.test_papers import beside, tables_in
from reports.show.tables import Table

RUNS = ROOT / "assay" / "tests" / "stored_runs"
SAID = json.loads(Path(__file__).with_name("stored_studies.json").read_text())


def told(run, name):
    """Answer and claims of a study, and of each of its tables title, rows and checksum of cells."""
    result, sections = beside(run, name)
    tables = {
        f"{section.short}: {table.title}": [
            len(table.rows),
            crc32("|".join(cell.text for row in table.rows for cell in row).encode()),
        ]
        for anchor, section in sections.items()
        if anchor.startswith("part-")
        for table in tables_in(section)
        if isinstance(table, Table)
        and not section.short.startswith(("Figure 2.4", "Figure 7", "Figure 8"))
    }
    claims = [[one.claim, one.verdict, one.because] for one in result.data.claims]
    return {"answer": result.data.answer, "claims": claims, "tables": tables}


@pytest.mark.full(sample=1)
@pytest.mark.parametrize("name", studies())
def test_a_stored_run_of_a_study_has_the_numbers_and_verdicts_that_it_had(tmp_path, name):
    shutil.unpack_archive(RUNS / f"{name}.tar.xz", tmp_path)
    assert told(tmp_path / name, name) == SAID[name]
