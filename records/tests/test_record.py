# SPDX-License-Identifier: Apache-2.0
"""Records survive torn tails, full disks, damage; read many at a time they are the same."""

import errno
import os

import msgspec
import pytest

from records.errors import AssayError, InfrastructureError
from records.metric import Metric
from records.run.chain import Chain
from records.run.record import CASE_ID, Belonging, RecordWriter, latest_attempts, read_records
from records.run.record_lines import Value, batches
from records.tests.made import plan_of, planned, record, written


def test_records_come_back_as_they_were(tmp_path):
    given = [record(1), record(2, status="failed", reason="<&>\n")]
    found = list(read_records(written(tmp_path / "records.jsonl", *given)))
    assert [msgspec.structs.replace(one, chain="") for one in found] == given


def test_the_latest_attempt_counts_of_equals_the_last():
    first, again = record(1, status="lost"), record(1, attempt=2)
    other, twice = record(2, status="lost"), record(2, status="failed")
    found = latest_attempts([again, first, other, twice], CASE_ID)
    assert found == {("hpl-00000000", 1): again, ("hpl-00000000", 2): twice}


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (b'"schema":2', b'"schema":3', "schema is 3; allowed: 2"),
        (b'"case_id"', b'"case"', ""),
    ],
)
def test_damage_is_named_with_its_line(tmp_path, old, new, told):
    path = written(tmp_path / "records.jsonl", record(1))
    whole = path.read_bytes()
    path.write_bytes(whole + whole.replace(old, new))
    with pytest.raises(AssayError, match=rf"records\.jsonl:2: not a record: .*{told}"):
        list(read_records(path))


def test_a_torn_last_line_never_counted_and_is_cut_off(tmp_path):
    path = written(tmp_path / "records.jsonl", record(1))
    whole = path.read_bytes()
    path.write_bytes(whole + whole[: len(whole) // 2])
    assert len(list(read_records(path))) == 1
    written(path, record(2))
    assert [r.block for r in read_records(path)] == [1, 2]


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "records.jsonl"
    with RecordWriter(path) as writer:
        writer.append(record(1))
        before, real_write, chunks = path.read_bytes(), os.write, iter([True, False])

        def write(descriptor, data):
            if next(chunks):
                return real_write(descriptor, data[:20])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(os, "write", write)
        with pytest.raises(InfrastructureError, match="No space left"):
            writer.append(record(2))
        assert path.read_bytes() == before


def whole(value):
    """A record, a metric or a part of them as plain data, with what stayed text decoded."""
    if isinstance(value, msgspec.Raw):
        return msgspec.json.decode(value) if bytes(value) else None
    if isinstance(value, list | tuple):
        return [whole(item) for item in value]
    if isinstance(value, msgspec.Struct):
        return {name: whole(getattr(value, name)) for name in value.__struct_fields__}
    return value


def test_batches_hold_the_records_of_the_file(tmp_path):
    path = tmp_path / "records.jsonl"
    case = planned("hpl-00000000", "hpl", "lam", params={"n": 1000})
    point = Metric("time", "s", "lower", 2.0, at={"message_bytes": 8}, samples=[2.0, 3.0])
    profile = [{"rank": 0, "elapsed_s": 1.0, "mpi_s": 0.5, "calls": []}]
    given = [
        record(1, metrics=[point, Metric("rate", "flop/s", "higher", 1e9)], flags=["partial"]),
        record(2, status="failed", reason="<&>", profile=profile),
    ]
    written(path, *given)
    (batch,) = batches(path, Belonging(plan_of([case], blocks=2)), Chain.of(tmp_path))
    assert (batch.first, batch.cases) == (1, [0, 0])
    assert [whole(line) for line in batch.lines] == [whole(one) for one in read_records(path)]
    assert all(isinstance(metric, Value) for metric in batch.lines[0].metrics)
