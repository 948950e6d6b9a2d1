# SPDX-License-Identifier: Apache-2.0
"""Documents of stored runs keep their answer, claims and numbers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from zlib import crc32

import pytest

from assay import ROOT
from plugins.papers.document import make_document
from plugins.papers.result import paper_result
from plugins.papers.study import load_study, studies

RUNS = ROOT / "assay" / "tests" / "stored_runs"
SAID = json.loads(Path(__file__).with_name("stored_studies.json").read_text())


def told(run, name):
    """Answer and claims of a study, and of each of its tables title, rows and checksum of cells."""
    document = make_document(load_study(name), run)
    data = paper_result(document).data
    tables = {
        f"{part.number}: {table.title}": [
            len(table.rows),
            crc32("|".join(cell.text for row in table.rows for cell in row).encode()),
        ]
        for part in document.parts
        for table in part.tables
        if not part.number.startswith(("Figure 2.4", "Figure 7", "Figure 8"))
    }
    claims = [[one.claim, one.verdict, one.because] for one in data.claims]
    return {"answer": data.answer, "claims": claims, "tables": tables}


@pytest.mark.full(sample=1)
@pytest.mark.parametrize("name", studies())
def test_a_stored_run_of_a_study_has_the_numbers_and_verdicts_that_it_had(tmp_path, name):
    shutil.unpack_archive(RUNS / f"{name}.tar.xz", tmp_path)
    assert told(tmp_path / name, name) == SAID[name]
