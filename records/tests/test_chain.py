# SPDX-License-Identifier: Apache-2.0
"""The chain of records: what was changed, taken away or put in is found at its line."""

import json

import pytest

from records.errors import AssayError
from records.run.chain import EXTENSIONS, SEAL, chain_of, read_seal
from records.run.record import RecordWriter
from records.tests.made import record, written

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


def test_a_damaged_seal_is_named(run):
    (run / SEAL).write_text("{")
    with pytest.raises(AssayError, match=r"seal\.json:1: not a seal"):
        chain_of(run)


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
