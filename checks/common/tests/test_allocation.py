# SPDX-License-Identifier: Apache-2.0
"""Nodes of an allocation as they are drawn, and the environment of its steps."""

from collections import Counter
from itertools import combinations

from checks.common.allocation import Allocation, without_slurm

NODES = [f"n{number}" for number in range(1, 9)]


def allocation(**more):
    return Allocation(job_id="12", nodes=NODES, ends_at=1e10, **more)


def test_nodes_are_drawn_by_the_seed_and_the_place_in_the_run():
    draws = [allocation(seed=5).drawn(3, NODES, place) for place in range(200)]
    assert draws == [allocation(seed=5).drawn(3, list(reversed(NODES)), p) for p in range(200)]
    assert draws != [allocation(seed=6).drawn(3, NODES, place) for place in range(200)]
    assert all(draw == sorted(draw) and len(set(draw)) == 3 for draw in draws)
    pairs = Counter(pair for draw in draws for pair in combinations(draw, 2))
    assert len(pairs) == 28, "every pair of nodes comes"
    assert allocation().drawn(2, ["n7", "n2"], 0) == ["n2", "n7"]


def test_nodes_that_share_cores_are_drawn_together_only_where_they_must():
    cores = {node: [number % 2] for number, node in enumerate(NODES)}
    shared = allocation(cores=cores)
    for place in range(50):
        (one,), (other,) = (cores[node] for node in shared.drawn(2, NODES, place))
        assert one != other
    assert len(shared.drawn(3, NODES, 0)) == 3


def test_a_step_is_told_nothing_of_the_job_around_it():
    caller = {"SLURM_NTASKS": "1", "SLURMD_NODENAME": "x", "SRUN_DEBUG": "1", "SBATCH_QOS": "q"}
    kept = {"SLURM_CONF": "/etc/slurm.conf", "PATH": "/bin", "SLUR": "1"}
    assert without_slurm({**caller, **kept}) == kept
