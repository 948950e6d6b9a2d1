# SPDX-License-Identifier: Apache-2.0
"""The ledger: what records come to, whether they are read in one go or as they are added."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.run.status import run_status
from records.errors import AssayError
from records.run.record import RecordWriter, read_records
from records.run.record_lines import Ledger
from records.run.run_directory import RunDirectory
from reports.tests.synthetic import quick_cases, rewrite, write_run


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    directory = write_run(tmp_path / "run", quick_cases(("mpich", "lam")), blocks=3)
    return RunDirectory(directory)


def test_appended_records_are_read_once_and_along_the_chain(run: RunDirectory) -> None:
    records = list(read_records(run.records_file))
    run.records_file.write_bytes(b"")
    early, added = run.ledger(), run.ledger()
    for part in (records[:5], records[5:]):
        with RecordWriter(run.records_file) as writer:
            for record in part:
                writer.append(record)
                added.add(record)
        early = early if early.entries else run.ledger()  # the first seal comes after its reading
        early.catch_up()
    whole = run.ledger()
    assert early.entries == added.entries == whole.entries
    assert len(whole.entries) == len(records)
    assert whole.chain.head == early.chain.head
    assert [entry.case_id for entry in whole.entries] == [record.case_id for record in records]


def test_a_status_is_the_same_from_disk_and_from_the_driver(run: RunDirectory) -> None:
    ledger = Ledger(run.path, run.plan(), run.run_id)
    for record in read_records(run.records_file):
        ledger.add(record)
    mine, read = run_status(run, ledger), run_status(run)
    assert (mine.counts, mine.reasons, mine.failures) == (read.counts, read.reasons, read.failures)
    assert read.counts["wrong"] == 6


def test_a_record_that_stands_twice_is_refused(run: RunDirectory) -> None:
    rewrite(run.path, lambda records: [*records, records[-1]])
    with pytest.raises(AssayError, match="is recorded twice"):
        run.ledger()
