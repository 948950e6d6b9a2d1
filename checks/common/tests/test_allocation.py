# SPDX-License-Identifier: Apache-2.0
"""Nodes of an allocation as they are drawn, and the environment of its steps."""

from collections import Counter
from itertools import combinations

from checks.common.slurm.job import Allocation

NODES = [f"n{number}" for number in range(1, 9)]
LAUNCHES = [f"ring-12.{block}.{attempt}" for block in range(100) for attempt in (1, 2)]


def allocation(**more):
    return Allocation(job_id="12", nodes=NODES, ends_at=1e10, **more)


def test_nodes_are_drawn_by_the_seed_and_what_names_the_launch():
    draws = [allocation(seed=5).drawn(3, NODES, launch) for launch in LAUNCHES]
    again = [allocation(seed=5).drawn(3, list(reversed(NODES)), launch) for launch in LAUNCHES]
    assert draws == again
    assert draws != [allocation(seed=6).drawn(3, NODES, launch) for launch in LAUNCHES]
    assert draws[::2] != draws[1::2], "a further attempt gets others"
    assert all(draw == sorted(draw) and len(set(draw)) == 3 for draw in draws)
    pairs = Counter(pair for draw in draws for pair in combinations(draw, 2))
    assert len(pairs) == 28, "every pair of nodes comes"
    assert allocation().drawn(2, ["n7", "n2"], "x") == ["n2", "n7"]


def test_nodes_that_share_cores_are_drawn_together_only_where_they_must():
    cores = {node: [number % 2] for number, node in enumerate(NODES)}
    shared = allocation(cores=cores)
    for launch in LAUNCHES:
        (one,), (other,) = (cores[node] for node in shared.drawn(2, NODES, launch))
        assert one != other
    assert len(shared.drawn(3, NODES, "x")) == 3
