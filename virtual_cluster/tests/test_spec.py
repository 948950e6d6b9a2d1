# SPDX-License-Identifier: Apache-2.0
"""The order of a cluster and the plans that follow from it."""

from ipaddress import ip_address, ip_network

import pytest

from records.errors import AssayError
from virtual_cluster import spec as plans
from virtual_cluster.spec import ClusterSpec


@pytest.mark.parametrize("name", ["default", "a", "t-1", "abcdefghijkl", "0-0"])
def test_plain_names_are_allowed(name: str) -> None:
    assert ClusterSpec(name=name).name == name


@pytest.mark.parametrize(
    "name", ["", "A", "-a", "a-", "a b", "a/b", "..", "abcdefghijklm", "ä", "a\n", "$(id)", "a;b"]
)
def test_other_names_are_refused_with_what_is_allowed(name: str) -> None:
    with pytest.raises(AssayError, match="allowed are 1 to 12"):
        ClusterSpec(name=name)


def test_addresses_are_distinct_and_in_one_network() -> None:
    nodes = ClusterSpec(nodes=500).node_names()
    plan = plans.address_plan(nodes)
    assert len(set(plan.values())) == 501
    assert all(ip_address(a) in ip_network("10.77.0.0/16") for a in plan.values())
    assert plan["login"] == "10.77.0.1"


@pytest.mark.parametrize(
    ("nodes", "each", "usable", "dealt"),
    [
        (4, 2, [0, 1, 2, 3], [[0, 1], [2, 3], [0, 1], [2, 3]]),
        (3, 1, [3, 7], [[3], [7], [3]]),
        (1, 5, [0, 1], [[0, 1]]),
    ],
)
def test_neighbours_share_no_usable_core_as_long_as_these_suffice(
    nodes: int, each: int, usable: list[int], dealt: list[list[int]]
) -> None:
    names = ClusterSpec(nodes=nodes).node_names()
    plan = plans.core_plan(dict.fromkeys(names, each), usable)
    assert plan == dict(zip(names, dealt, strict=True))


@pytest.mark.parametrize(("cores", "nodes", "expected"), [(2, 4, 1), (8, 4, 2), (9, 2, 4)])
def test_default_cores_divide_the_machine(cores: int, nodes: int, expected: int) -> None:
    assert ClusterSpec(nodes=nodes).cpus(cores) == expected


def test_memory_is_shared_out_in_whole_mebibytes() -> None:
    assert plans.memory_per_node(10 << 30, 4) == int(10 * 1024 * 0.9 / 4) << 20
    assert plans.memory_per_node(1 << 20, 500) == 1 << 20
