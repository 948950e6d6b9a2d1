# SPDX-License-Identifier: Apache-2.0
"""The order of a cluster, the plans and the words of `tc` that follow from it, and a command line
that refuses what cannot work with one message."""

import re
from ipaddress import ip_address, ip_network

import pytest

from records.errors import AssayError
from virtual_cluster import host, namespaces
from virtual_cluster import spec as plans
from virtual_cluster.command import _split_words, main
from virtual_cluster.namespaces import WIRE_LEAST_BYTES, WIRE_OVERHEAD_BYTES, _speed_lines
from virtual_cluster.spec import NETWORKS, ClusterSpec, switch_tree


@pytest.mark.parametrize(
    "name", ["", "A", "-a", "a-", "a b", "a/b", "..", "abcdefghijklm", "ä", "a\n", "$(id)", "a;b"]
)
def test_names_are_plain_and_others_refused_with_what_is_allowed(name: str) -> None:
    assert all(ClusterSpec(one) for one in ("default", "a", "t-1", "abcdefghijkl", "0-0"))
    with pytest.raises(AssayError, match="allowed are 1 to 12"):
        ClusterSpec(name=name)


def test_addresses_are_distinct_and_in_one_network() -> None:
    plan = plans.address_plan(ClusterSpec(nodes=500).node_names())
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


def test_missing_packages_are_named(monkeypatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(namespaces, "refusal", lambda *_, **__: "")
    missing = {"munged": "munge", "slurmd": "slurm-wlm"}
    monkeypatch.setattr(host, "missing_programs", lambda *_: missing)
    assert main(["up", "--name", "t-none", "--image", "/"]) == 4
    assert "apt-get install -y munge slurm-wlm" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["up", "--nodes", "0"], "--nodes 0: allowed are"),
        (["up", "--nodes", "501"], "from 1 to 500"),
        (["up", "--network", "infiniband"], "allowed are unlimited, gigabit, fast-ethernet"),
        (["up", "--cpus-per-node", "-1"], "--cpus-per-node -1: allowed are"),
        *(([command, "--name", "../x"], "allowed are") for command in ("up", "down", "revive")),
        *(([command, "--name", "a b"], "allowed are") for command in ("status", "shell")),
    ],
)
def test_bad_values_exit_with_2(arguments: list[str], said: str, capsys) -> None:
    assert main(arguments) == 2
    assert said in capsys.readouterr().err


def test_a_first_word_like_n2_is_a_place() -> None:
    assert _split_words([]) == ("login", [])
    assert _split_words(["n2"]) == ("n2", [])
    assert _split_words(["n2", "ps", "ax"]) == ("n2", ["ps", "ax"])
    assert _split_words(["login", "n2"]) == ("login", ["n2"])
    assert _split_words(["srun", "hostname"]) == ("login", ["srun", "hostname"])


#: Of a full Ethernet frame: what the kernel counts, and its room on the wire.
FRAME_BYTES, WIRE_BYTES = 1514, 8 + 1514 + 4 + 12


@pytest.mark.parametrize("name", [name for name, link in NETWORKS.items() if link.bits_per_s])
def test_the_bucket_holds_a_frame_with_its_room_on_the_wire_and_little_more(name: str) -> None:
    assert FRAME_BYTES + WIRE_OVERHEAD_BYTES == WIRE_BYTES
    assert WIRE_LEAST_BYTES == 8 + 60 + 4 + 12
    link = NETWORKS[name]
    (line,) = _speed_lines(link, ["eth0"])
    assert re.search(rf"burst {link.burst_bytes}b .* overhead 24 mpu 84$", line)
    assert WIRE_BYTES <= link.burst_bytes <= 5 * WIRE_BYTES


@pytest.mark.skipif(host.program("tc") == "tc", reason="needs tc: run make packages")
def test_tc_understands_the_lines_and_an_unlimited_link_is_not_shaped() -> None:
    assert _speed_lines(NETWORKS["unlimited"], ["eth0"]) == []
    line = _speed_lines(NETWORKS["gigabit"], ["no-such-device"])[0]
    assert "Cannot find device" in host.run(["tc", *line.split()], check=False).stderr


def test_nodes_are_dealt_evenly_to_the_lowest_switches() -> None:
    (switch,) = switch_tree("1", ["n1", "n2"])
    assert (switch.above, switch.nodes) == (None, ("n1", "n2"))
    tree = switch_tree("4", [f"n{i}" for i in range(1, 7)])
    assert [(s.name, s.above) for s in tree[:3]] == [("top", None), ("s1", "top"), ("s2", "top")]
    assert [len(s.nodes) for s in tree[1:]] == [2, 1, 1, 2]
    assert [n for s in tree for n in s.nodes] == [f"n{i}" for i in range(1, 7)]


@pytest.mark.parametrize("words", ["", "0", "2x2", "-1", "two", "1000"])
def test_what_is_no_number_or_has_a_switch_without_a_node_is_refused(words: str) -> None:
    with pytest.raises(AssayError, match=re.escape(f"--switches {words!r}: allowed are")):
        ClusterSpec(nodes=4, switches=words)
    with pytest.raises(AssayError, match="there are 4 nodes"):
        ClusterSpec(nodes=4, switches="6")
