# SPDX-License-Identifier: Apache-2.0
"""Files of scans come from jobs: whatever is in one, it is a table of pairs or one clear fault."""

import hashlib
import json

import numpy as np
import polars as pl
import pytest

from records.errors import AssayError
from records.site.pair_scans import NODE, NODES_META, PEER, SWITCHES_META
from reports.load.loading import Scan

NAMES = ["n1", "n2", "n3"]
META = {NODES_META: json.dumps(NAMES), SWITCHES_META: json.dumps(["s1", "s1", "s2"])}
PAIRS = {NODE: ["n1", "n1", "n2"], PEER: ["n2", "n3", "n3"], "pair_latency": [1e-6, 2e-6, 3e-6]}


def content(folder, pairs=PAIRS, meta=META):
    path = folder / "made.parquet"
    pl.DataFrame(pairs).write_parquet(path, metadata=meta)
    return path.read_bytes()


def columns(folder, data):
    (folder / "points").mkdir(exist_ok=True)
    (folder / "points" / "x.parquet").write_bytes(data)
    scan = Scan(folder, 0, {1: ("points/x.parquet", hashlib.sha256(data).hexdigest())})
    return {metric: scan.columns(metric) for metric in scan.metrics}


def test_a_whole_table_is_read(tmp_path):
    found = columns(tmp_path, content(tmp_path))["pair_latency"]
    assert (found.names, found.switches) == (("n1", "n2", "n3"), ("s1", "s1", "s2"))
    assert found.values.ravel().tolist() == pytest.approx([1e-6, 2e-6, 3e-6])


OTHERS = {
    "another's name": (PAIRS, {**META, NODES_META: '["n1", "n2", "n9"]'}),
    "no names": (PAIRS, {}),
    "a number of names": (PAIRS, {NODES_META: "3"}),
    "names deep": (PAIRS, {NODES_META: "[" * 100_000}),
    "a name twice": (PAIRS, {NODES_META: '["n1", "n2", "n3", "n3"]'}),
    "an odd name": (PAIRS, {NODES_META: '["n1", "n2", "n3", "-rf"]'}),
    "few switches": (PAIRS, {**META, SWITCHES_META: '["s1"]'}),
    "numbers for switches": (PAIRS, {**META, SWITCHES_META: "[1, 2, 3]"}),
    "no node": ({**PAIRS, NODE: ["n1", None, "n2"]}, META),
    "no value": ({**PAIRS, "pair_latency": [1e-6, None, 1e-6]}, META),
    "no number": ({**PAIRS, "pair_latency": [1e-6, float("nan"), 1e-6]}, META),
    "negative": ({**PAIRS, "pair_latency": [1e-6, -1.0, 1e-6]}, META),
    "text": ({**PAIRS, "pair_latency": ["a", "b", "c"]}, META),
    "a pair twice": ({**PAIRS, NODE: ["n1"] * 3, PEER: ["n2"] * 3}, META),
    "too many rows": ({NODE: ["n1"] * 4, PEER: ["n2"] * 4, "pair_latency": [1.0] * 4}, META),
    "no peers": ({NODE: ["n1"], "pair_latency": [1.0]}, META),
}


@pytest.mark.parametrize(("pairs", "meta"), OTHERS.values(), ids=OTHERS)
def test_another_table_is_one_fault(tmp_path, pairs, meta):
    with pytest.raises(AssayError, match=r"x\.parquet: "):
        columns(tmp_path, content(tmp_path, pairs, meta))


def test_damage_is_one_fault_or_none(tmp_path, capfd):
    whole, dice = np.frombuffer(content(tmp_path), np.uint8), np.random.default_rng(1)
    faults = 0
    for number in range(300):
        data = whole.copy()
        data[dice.integers(len(data), size=dice.choice([1, 3, 10]))] = dice.integers(256)
        end = len(data) if number % 2 else dice.integers(len(data))
        try:
            columns(tmp_path, data[:end].tobytes())
        except AssayError:
            faults += 1
    assert faults > 100
    capfd.readouterr()  # where Polars panicked, it said so
