# SPDX-License-Identifier: Apache-2.0
"""Records and files of scans: what is in a run directory is read, or is one clear fault."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from records.errors import AssayError, ExitStatus
from records.site.pair_scans import NODE, NODES_META, PEER, SWITCHES_META
from reports.load.loading import Scan, load_run
from reports.tests.synthetic import quick_cases, rewrite, write_run

CASES = [item for item in quick_cases(("mpich", "lam")) if item["check"] == "hpl"]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run", CASES, blocks=3)


def test_series_hold_one_value_a_block(run: Path) -> None:
    loaded = load_run(run)
    assert loaded.run_id == "run"
    assert loaded.nodes == ("n1", "n2")
    assert all(series.blocks.tolist() == [1, 2, 3] for series in loaded.series)
    assert len(loaded.series) == 2 * sum(not case["skipped"] for case in CASES)


def test_only_ok_launches_enter(run: Path) -> None:
    change_fifth(run, status="failed", reason="time limit")
    counts = [len(series.blocks) for series in load_run(run).series]
    assert sum(counts) == 2 * (3 * (len(CASES) - 1) - 1)


def test_latest_attempt_replaces_the_earlier_one(run: Path) -> None:
    def again(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
        lost = lines[3] | {"status": "lost", "metrics": []}
        return [*lines[:3], lines[3] | {"attempt": 2}, *lines[4:], lost]

    rewrite(run, again)
    loaded = load_run(run)
    assert len(loaded.launches) == loaded.launches.counted.sum() + 1
    assert all(len(series.blocks) == 3 for series in loaded.series)


def test_a_record_written_twice_is_refused(run: Path) -> None:
    rewrite(run, lambda lines: [*lines, lines[-1]])
    with pytest.raises(AssayError, match=r"records.jsonl:\d+: .* is recorded twice"):
        load_run(run)


def change_fifth(run: Path, **changes: Any) -> None:
    rewrite(run, lambda lines: [*lines[:4], lines[4] | changes, *lines[5:]])


METRIC = {"name": "rate", "unit": "flop/s", "better": "higher", "value": 1.0}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"case_id": "hpl-unknown"}, "not in plan.json"),
        ({"environment": "other"}, "plan.json has"),
        ({"schema": 4}, "jsonl:5: .*schema is 4; allowed: 2"),
        ({"block": 0}, "`block` is 0"),
        ({"metrics": [METRIC | {"name": "velocity"}]}, "a metric that plan.json defines"),
        ({"metrics": [METRIC | {"unit": "Gflop/s"}]}, "allowed: flop/s"),
        ({"metrics": [METRIC, METRIC]}, "appears twice"),
        ({"metrics": [METRIC | {"at": {"message_bytes": -1}}]}, "message_bytes -1; allowed: 0 to "),
        *(
            ({"metrics": [METRIC | {"value": value}]}, "records.jsonl:5: rate is .*cannot be meas")
            for value in (-5.0, 0, 5e-324, 1e308)
        ),
        ({"metrics": [METRIC | {"at": {"sizes": [1, 2]}}]}, "allowed: a number, or a word"),
    ],
)
def test_what_does_not_fit_is_refused(run: Path, changes: dict[str, Any], message: str) -> None:
    change_fifth(run, **changes)
    with pytest.raises(AssayError, match=message):
        load_run(run)


@pytest.mark.parametrize("literal", ["NaN", "Infinity", "1e999"])
def test_numbers_that_are_none_are_refused(run: Path, literal: str) -> None:
    change_fifth(run, metrics=[METRIC])
    path = run / "records.jsonl"
    path.write_text(path.read_text().replace('"value":1.0}', f'"value":{literal}}}'))
    with pytest.raises(AssayError, match=r"records\.jsonl:5: ") as caught:
        load_run(run)
    assert caught.value.status is ExitStatus.BAD_INPUT


def test_directory_must_be_a_run(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match="no such run directory"):
        load_run(tmp_path / "nothing")
    with pytest.raises(AssayError, match=r"plan\.json: cannot be read"):
        load_run(tmp_path)


def test_run_without_any_record_loads(run: Path) -> None:
    (run / "records.jsonl").unlink()
    loaded = load_run(run)
    assert (len(loaded.launches), loaded.series) == (0, [])


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
