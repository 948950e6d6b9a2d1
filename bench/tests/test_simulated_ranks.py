# SPDX-License-Identifier: Apache-2.0
"""What ranks of a simulated machine print passes for a launch's answer, and holds the truth."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.simulated import ranks as simulated_ranks
from checks.alltoall_pairs.run import read_file
from checks.common import json_lines
from checks.common.answer import Reading, option_words
from checks.common.evidence.ranks import Claim, contradictions
from checks.common.registry import CHECKS

NODES = [f"n{number}" for number in range(1, 7)]
TRUTH = {
    **{"nodes": 6, "slow_nodes": {"n2": 0.5}, "pairs": [[0, 4, 0.5]]},
    **{"interfaces": {}, "uplinks": {}, "start_s": {"fabric-a": 1.3e-6}},
}


def read(folder: Path, check: str, ranks_per_node: int, given: dict[str, Any]) -> Reading:
    """What the check reads in the answer of a launch with these parameters."""
    definition = CHECKS[check]
    params = definition.parameters.model_validate(given)
    (folder / "truth.json").write_text(json.dumps(TRUTH))
    ranks = definition.ranks(params)
    words = ["truth.json", str(ranks), str(ranks_per_node), "fabric-a", f"out/{check}"]
    words += option_words(definition.options(params))
    done = subprocess.run(
        [sys.executable, "-I", "-S", simulated_ranks.__file__, *words],
        cwd=folder,
        env={"SLURM_JOB_NODELIST": ",".join(NODES)},
        capture_output=True,
        text=True,
        check=True,
    )
    output = json_lines.parse(done.stdout, definition.metrics_by_name)
    claim = Claim(NODES, ranks, ranks_per_node, "^Simulated fabric-a")
    assert contradictions(output.evidence, claim) == []
    reading = definition.read(params, output)
    assert reading.wrong is None
    if given.get("column_file"):
        reading = read_file(definition, params, output, folder, None)  # type: ignore[arg-type]
        assert reading.wrong is None
    return reading


def test_messages_take_the_time_of_the_librarys_start_and_of_the_link(tmp_path: Path) -> None:
    given = {"constructs": ["Send/Recv"], "sizes": [8, 65536], "iterations": 20}
    reading = read(tmp_path, "pt2pt", 1, given)
    found = [one for one in reading.metrics if one.name == "half_round_trip"]
    times = {one.at["message_bytes"]: one.value for one in found if one.at}
    assert times[8] == pytest.approx(1.3e-6, rel=0.1)
    assert times[65536] == pytest.approx(1.3e-6 + 65536 / simulated_ranks.LINK, rel=0.1)


def test_a_slow_node_has_its_share(tmp_path: Path) -> None:
    given = {"ranks": 12, "ranks_per_node": 2, "turns": False, "kernels": ["stream", "dgemm"]}
    reading = read(tmp_path, "node", 2, {**given, "stream_bytes": 8192})
    rates = {m.at["node"]: m.value for m in reading.metrics if m.name == "dgemm_rate" and m.at}
    assert rates["n2"] / rates["n1"] == pytest.approx(0.5, rel=0.1)


@pytest.mark.parametrize("in_file", [False, True])
def test_a_bad_pair_has_its_share_in_lines_and_in_a_file(tmp_path: Path, in_file: bool) -> None:
    reading = read(tmp_path, "alltoall_pairs", 1, {"ranks": 6, "column_file": in_file})
    found = sorted(m.value for m in reading.metrics if m.name == "pair_bandwidth")
    assert found[0] / found[-1] == pytest.approx(0.5, rel=0.1)


def test_pairs_that_are_listed_are_measured_alone(tmp_path: Path) -> None:
    reading = read(tmp_path, "alltoall_pairs", 1, {"ranks": 6, "only": ["n5:n1", "n2:n3"]})
    pairs = {(m.at["node"], m.at["peer"]) for m in reading.metrics if m.at}
    assert pairs == {("n1", "n5"), ("n2", "n3")}
