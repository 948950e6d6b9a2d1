# SPDX-License-Identifier: Apache-2.0
"""Records survive torn tails, full disks, damage; what was changed in their chain is found at its
line; read many at a time they are the same."""

import json

import msgspec
import pytest

from records.errors import AssayError, InfrastructureError
from records.metric import Metric
from records.run.chain import EXTENSIONS, SEAL, Chain, chain_of, read_seal
from records.run.record import CASE_ID, Belonging, RecordWriter, latest_attempts, read_records
from records.run.record_lines import Value, batches
from records.tests.made import plan_of, planned, record, room_for, written


def test_records_come_back_as_they_were(tmp_path):
    given = [record(1), record(2, status="failed", reason="<&>\n")]
    found = list(read_records(written(tmp_path / "records.jsonl", *given)))
    assert [msgspec.structs.replace(one, chain="") for one in found] == given


def test_the_latest_attempt_counts_of_equals_the_last():
    first, again = record(1, status="lost"), record(1, attempt=2)
    other, twice = record(2, status="lost"), record(2, status="failed")
    found = latest_attempts([again, first, other, twice], CASE_ID)
    assert found == {("hpl-00000000", 1): again, ("hpl-00000000", 2): twice}


def test_a_torn_last_line_never_counted_and_is_cut_off(tmp_path):
    path = written(tmp_path / "records.jsonl", record(1))
    whole = path.read_bytes()
    path.write_bytes(whole + whole[: len(whole) // 2])
    assert len(list(read_records(path))) == 1
    written(path, record(2))
    assert [r.block for r in read_records(path)] == [1, 2]


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path):
    path = tmp_path / "records.jsonl"
    with RecordWriter(path) as writer:
        writer.append(record(1))
        before = path.read_bytes()
        with room_for(len(before) + 20), pytest.raises(InfrastructureError, match="too large"):
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


BEGUN_WITH = ("plan.json", "provenance.json", "campaign.yaml")


@pytest.fixture
def run(tmp_path):
    for name in BEGUN_WITH:
        (tmp_path / name).write_text("{}")
    written(tmp_path / "records.jsonl", *map(record, range(1, 7)))
    return tmp_path


def edit(run, change):
    path = run / "records.jsonl"
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))


def halved(lines):
    return [*lines[:2], lines[2].replace(b'"value":1000000000.0', b'"value":5e8'), *lines[3:]]


def without_chain(lines):
    found = [json.loads(line) for line in lines]
    return [json.dumps({**one, "chain": ""}).encode() + b"\n" for one in found]


def test_an_untouched_run_is_whole_and_sealed_and_one_that_goes_on(run):
    for records in (6, 7):
        chain, seal = chain_of(run), read_seal(run)
        assert chain.records == records
        assert (seal.records, seal.head) == (records, chain.head)
        written(run / "records.jsonl", record(7))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (halved, r"jsonl:4: the chain is broken: line 3 is not what was written"),
        (lambda lines: [*lines[:2], *lines[3:]], r"jsonl:3: the chain is broken"),
        (lambda lines: lines[1:], r"jsonl:1: the chain does not begin here"),
        (lambda lines: [*lines[:2], lines[3], lines[2], *lines[4:]], r"jsonl:3: the chain is"),
        (lambda lines: [*lines, lines[-1]], r"jsonl:7: the chain is broken"),
        (lambda lines: lines[:3], r"jsonl:3: 3 records; the run was sealed with 6"),
        (lambda lines: [], r"jsonl:0: 0 records; the run was sealed with 6"),
        (lambda lines: [*lines[:5], halved([b"", b"", lines[5]])[2]], r"jsonl:6: is not the reco"),
        (without_chain, r"jsonl:1: "),
    ],
)
def test_every_change_is_found_at_its_line(run, change, told):
    edit(run, change)
    with pytest.raises(AssayError, match=told):
        chain_of(run)


@pytest.mark.parametrize("name", BEGUN_WITH)
def test_what_the_run_began_with_is_part_of_the_chain(run, name):
    (run / name).write_text('{"other": 1}')
    with pytest.raises(AssayError, match=rf"{name}:1: is not the file that the run began with"):
        chain_of(run)
    (run / SEAL).unlink()
    with pytest.raises(AssayError, match=r"jsonl:1: the chain does not begin here"):
        chain_of(run)


def test_nothing_is_added_to_a_broken_chain(run):
    edit(run, halved)
    before = (run / "records.jsonl").read_bytes()
    with pytest.raises(AssayError, match="the chain is broken"):
        RecordWriter(run / "records.jsonl")
    assert (run / "records.jsonl").read_bytes() == before


def test_an_extension_is_a_part_of_the_chain(run):
    file = run / EXTENSIONS
    file.write_text('{"records":6,"interims":[9]}\n')
    assert chain_of(run).records == 6
    written(run / "records.jsonl", record(7), record(8))
    assert chain_of(run).records == read_seal(run).records == 8
    for changed in ('{"records":6,"interims":[8]}\n', '{"records":5}\n', ""):
        file.write_text(changed)
        with pytest.raises(AssayError, match=r"jsonl:[67]: the chain is broken"):
            chain_of(run)
    file.write_text('{"records":6,"interims":[9]}\n{"records":9}\n')
    with pytest.raises(AssayError, match="8 records; there were 9 when blocks were added"):
        chain_of(run)
