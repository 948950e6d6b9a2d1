# SPDX-License-Identifier: Apache-2.0
"""Nodes of an allocation as they are drawn, and the environment of its steps."""

from collections import Counter
from itertools import combinations
from random import Random

import pytest

from checks.common.slurm.allocation import Allocation
from checks.common.switches import drawn_at, nodes_to_be_sure, unfit_switches

NODES = [f"n{number}" for number in range(1, 9)]
LAUNCHES = [f"ring-12.{block}.{attempt}" for block in range(100) for attempt in (1, 2)]
LEAVES = {"s1": NODES[:4], "s2": NODES[4:7], "s3": NODES[7:]}


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


def at(nodes):
    return [next(s for s, there in LEAVES.items() if node in there) for node in nodes]


def test_nodes_lie_at_one_switch_or_at_several_as_asked():
    joined = allocation(seed=3, leaves=LEAVES)
    one = [joined.drawn(3, NODES, launch, "one") for launch in LAUNCHES]
    assert {tuple(set(at(nodes))) for nodes in one} == {("s1",), ("s2",)}
    several = [joined.drawn(2, NODES, launch, "several") for launch in LAUNCHES]
    assert all(len(set(at(nodes))) == 2 for nodes in several)
    assert len({pair for nodes in several for pair in nodes}) == 8, "every node comes"
    assert Counter(at(joined.drawn(5, NODES, "x", "several"))) == {"s1": 2, "s2": 2, "s3": 1}
    assert joined.drawn(4, NODES[1:], "x", "one") is None
    assert joined.drawn(2, NODES[:4], "x", "several") is None


@pytest.mark.parametrize(
    ("asked", "nodes", "leaves", "said"),
    [
        ("one", 4, LEAVES, None),
        ("one", 5, LEAVES, "the launch has 5 nodes, and the largest switch of site x, s1, has 4"),
        ("several", 8, LEAVES, None),
        ("several", 1, LEAVES, "has 1 of the 8 nodes"),
        ("several", 2, {"s1": NODES}, "at 1 of its switches"),
        ("one", 2, {}, "site x declares no switches"),
        (None, 2, {}, None),
    ],
)
def test_what_the_switches_of_a_site_do_not_allow_is_told_with_arithmetic(
    asked, nodes, leaves, said
):
    found = unfit_switches(asked, nodes, leaves, "x")
    assert (found is None) if said is None else said in str(found)


@pytest.mark.parametrize(("asked", "nodes"), [("one", 2), ("one", 3), ("several", 2)])
def test_so_many_nodes_lie_as_asked_whichever_they_are_and_fewer_may_not(asked, nodes):
    sure = nodes_to_be_sure(asked, nodes, LEAVES)
    dice = Random(0)  # noqa: S311

    def serves(count):
        return [drawn_at(asked, nodes, held, LEAVES, dice) for held in combinations(NODES, count)]

    assert all(serves(sure))
    assert not all(serves(sure - 1))
