# SPDX-License-Identifier: Apache-2.0
"""The file of very many pairs: what is whole becomes a table, what is damaged is refused."""

import zlib
from contextlib import contextmanager

import numpy as np
import polars as pl
import pytest

from bench.tests.simulated.machines import Machine, write_program_file
from checks.alltoall_pairs import CHECK, FILE, MOST_IN_RECORD
from checks.alltoall_pairs.run import TABLE, read_file
from checks.common.evidence import Evidence, RankFacts
from checks.common.json_lines import Output, OutputError
from records.site.pair_scans import (
    chance_link_missed,
    chance_node_missed,
    pairs_measured,
    positions_of,
    rounds_of_all,
    rounds_of_pairs,
    sample_told,
    sampled_pairs,
)

MACHINE = Machine(50, pairs={(3, 9): 0.5})
HEADER, ROW = 32, 16
NAMES = sum(len(name) + 1 for name in MACHINE.names)


@pytest.fixture
def launch(tmp_path):
    """A launch of seven rounds over 50 nodes: its parameters, its output, its folder."""
    params = CHECK.parameters.model_validate({"ranks": 50, "rounds": 7, "column_file": True})
    low, high = sampled_pairs(50, 7, params.seed)
    said = write_program_file(tmp_path / FILE, MACHINE, low, high, np.random.default_rng(1))
    ranks = [RankFacts(rank, name, [0], name) for rank, name in enumerate(MACHINE.names)]
    output = Output(evidence=Evidence("", "", ranks, []), notes={"pair_file": said})
    return params, output, tmp_path


def refused(launch, said):
    params, output, folder = launch
    with pytest.raises(OutputError, match=said):
        read_file(CHECK, params, output, folder, None)


def test_a_whole_file_becomes_a_table_and_a_summary(launch):
    params, output, folder = launch
    reading = read_file(CHECK, params, output, folder, MACHINE.tree)
    table = pl.read_parquet(folder / TABLE)
    assert table.columns == ["node", "peer", "pair_latency", "pair_bandwidth"]
    assert len(table) == 7 * 25
    found = {(m.name, *(m.at or {}).values()): m.value for m in reading.metrics}
    assert found["pairs_measured",] == 175
    assert found["pair_bandwidth", "least"] == pytest.approx(table["pair_bandwidth"].min())
    assert found["pair_latency", "median"] == pytest.approx(table["pair_latency"].median())
    assert {m.name for m in reading.metrics} <= CHECK.metrics_by_name.keys()


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda data: data[:10], "its header alone has 32"),
        (lambda data: b"X" + data[1:], "no file of pairs of version 1"),
        (lambda data: data[:16] + b"\xff" * 8 + data[24:], "was not ended"),
        (lambda data: data[:-4], "175 rows need"),
        (lambda data: data[:34] + b"x" + data[35:], "the ranks ran on 50"),
        (lambda data: data[:1000] + b"\0\1\2" + data[1003:], "its checksum is"),
        (lambda data: data[:-8] + bytes(4) + data[-4:], "its checksum is 00000000"),
    ],
)
def test_a_damaged_file_is_refused_with_what_was_found(launch, damage, said):
    file = launch[2] / FILE
    file.write_bytes(damage(file.read_bytes()))
    refused(launch, said)


@contextmanager
def with_rows(folder, output):
    """The rows of the file, which are written as they are left, under right checksums."""
    data = (folder / FILE).read_bytes()
    kind = np.dtype([("node", "u4"), ("peer", "u4"), ("latency", "f4"), ("bandwidth", "f4")])
    rows = np.frombuffer(data[HEADER + NAMES : -8], kind).copy()
    yield rows
    crc = zlib.crc32(data[HEADER : HEADER + NAMES] + rows.tobytes())
    end = np.array([crc, 0x04030201], "u4").tobytes()
    (folder / FILE).write_bytes(data[: HEADER + NAMES] + rows.tobytes() + end)
    output.notes["pair_file"]["crc32"] = crc


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        *(("bandwidth", value, "which cannot be measured") for value in (np.nan, 0, 1e14)),
        *(("latency", -1e-6, "which cannot be measured"), ("node", 70, "of 50 are no pair")),
    ],
)
def test_impossible_values_are_refused(launch, column, value, said):
    _, output, folder = launch
    with with_rows(folder, output) as rows:
        rows[column][5] = value
    refused(launch, said)


def test_a_pair_that_stands_twice_is_refused(launch):
    _, output, folder = launch
    with with_rows(folder, output) as rows:
        rows[6] = rows[5]
    refused(launch, "is in it twice")


@pytest.mark.parametrize(
    ("rounds", "said"), [(6, "was not asked for"), (8, "25 of 200 pairs are missing")]
)
def test_other_pairs_than_were_asked_for_are_refused(launch, rounds, said):
    params, *rest = launch
    refused((params.model_copy(update={"rounds": rounds}), *rest), said)


def test_a_file_of_another_launch_is_refused(launch):
    _, output, folder = launch
    output.notes["pair_file"] = {"rows": 175, "crc32": 1}
    refused(launch, "another launch's file")
    (folder / FILE).unlink()
    refused(launch, "cannot be read")


@pytest.mark.parametrize("nodes", [2, 3, 8, 9])
def test_all_rounds_have_every_pair_once_and_a_sample_has_disjoint_pairs(nodes):
    low, high = sampled_pairs(nodes, 0, 5)
    places = positions_of(low, high, nodes)
    assert sorted(places.tolist()) == list(range(nodes * (nodes - 1) // 2))
    for rounds in range(1, rounds_of_all(nodes) + 1):
        low, high = sampled_pairs(nodes, rounds, 5)
        assert len(low) == pairs_measured(nodes, rounds)
        met = np.bincount(np.concatenate([low, high]), minlength=nodes)
        assert met.max() <= rounds and met.min() >= rounds - nodes % 2
        (new,) = set(rounds_of_pairs(low, high, nodes, 5)[-(nodes // 2) :].tolist())
        assert new == rounds - 1


def test_the_chance_to_miss_is_that_of_many_seeds():
    nodes, rounds, seeds = 9, 2, 3000
    missed = 0
    for seed in range(seeds):
        low, high = sampled_pairs(nodes, rounds, seed)
        missed += not ((low == 2) & (high == 5)).any()
    chance = chance_link_missed(nodes, rounds)
    assert abs(missed / seeds - chance) < 5 * (chance * (1 - chance) / seeds) ** 0.5
    assert chance_node_missed(9, 1) == pytest.approx(1 / 9)
    assert chance_node_missed(9, 2) == chance_node_missed(8, 1) == 0
    told = sample_told(1000, {"rounds": 50})
    assert told is not None and "25000 of 499500 pairs" in told and "95 %" in told
    assert sample_told(1000, {"rounds": 0}) is None


def test_many_pairs_come_in_a_file_and_few_as_lines():
    few, many = (CHECK.parameters.model_validate({"ranks": ranks}) for ranks in (100, 1000))
    assert few.pairs < MOST_IN_RECORD < many.pairs
    assert not CHECK.in_file(few) and CHECK.options(many)["file"] == FILE
    assert "file" not in CHECK.options(few) and few.complete().keys() >= {"ranks", "seed"}
    assert not {"rounds", "column_file", "ranks_per_node"} & few.complete().keys()


def test_listed_pairs_are_measured_in_the_rounds_in_which_they_meet_whatever_rounds_says():
    names = [f"n{number}" for number in range(50)]
    low, high = sampled_pairs(50, 9, 1)
    meet_last = [f"{names[a]}:{names[b]}" for a, b in zip(low[-2:], high[-2:], strict=True)]
    given = {"ranks": 50, "rounds": 1, "only": [*meet_last, f"{names[high[0]]}:{names[low[0]]}"]}
    params = CHECK.parameters.model_validate(given)
    assert CHECK.notes(params, names)["rounds"] == 2
    assert len(list(CHECK.measured(params, names))) == 3
    assert sample_told(50, params.complete()) is None
