# SPDX-License-Identifier: Apache-2.0
"""Hop counts by a declared topology: trees of switches, what contradicts itself, plans."""

import re
from itertools import combinations

import pytest
import yaml
from pydantic import ValidationError

from assay.sites import loading, site_file
from assay.tests.campaign_texts import SITE_FILE, plan_of, spoiled
from records.errors import AssayError
from records.site.topology import Topology, TopologyDescription, switches_of

TWO_LEVELS = """\
# leaves first, as Slurm's manual does
SwitchName=s1 Nodes=n[1-2]   # LinkSpeed follows
SwitchName=s2 Nodes=n[3-4] LinkSpeed=900
switchname=s3 nodes=n5,login

SwitchName=m1 Switches=s[1-2]
SwitchName=top Switches=m1,s3
"""
TWO_SWITCHES = "SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n[3-4]\nSwitchName=t Switches=a,b"


def tree(text: str) -> Topology:
    return Topology(switches_of(text, "topology.conf"))


@pytest.mark.parametrize(
    ("text", "one", "other", "hops"),
    [
        (TWO_LEVELS, "n1", "n2", 1),
        (TWO_LEVELS, "n3", "n1", 3),
        (TWO_LEVELS, "n5", "login", 1),
        (TWO_LEVELS, "n4", "n5", 4),
        (TWO_LEVELS, "n1", "n1", None),
        (TWO_LEVELS, "n1", "n9", None),
        ("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2,n3\n", "n1", "n2", None),
    ],
)
def test_hops_in_a_tree_are_the_switches_on_the_way(text, one, other, hops):
    assert tree(text).hops(one, other) == tree(text).hops(other, one) == hops


def test_the_hop_counts_of_a_tree_are_those_of_all_its_pairs():
    assert tree("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2,n3\n").hop_counts == [1]
    found = tree(TWO_LEVELS)
    nodes = ["n1", "n2", "n3", "n4", "n5", "login"]
    assert found.hop_counts == sorted({found.hops(*pair) for pair in combinations(nodes, 2)})
    assert found.hop_counts == [1, 3, 4]


@pytest.mark.parametrize(
    ("topology", "hops", "cores", "granted", "pair"),
    [
        (tree(TWO_SWITCHES), 3, {}, None, ("n1", "n3")),
        (tree(TWO_SWITCHES), 3, {"n1": [0], "n2": [1], "n3": [0], "n4": [1]}, None, ("n1", "n4")),
        (tree(TWO_SWITCHES), 3, {f"n{i}": [0] for i in range(1, 5)}, None, ("n1", "n3")),
        (tree(TWO_SWITCHES), 2, {}, None, None),
        (tree(TWO_LEVELS), 3, {}, None, ("n1", "n3")),
        (tree(TWO_LEVELS), 3, {}, ["n2", "n4", "n5"], ("n2", "n4")),
        (tree(TWO_LEVELS), 3, {}, ["n1", "n2", "n5"], None),
    ],
)
def test_a_pair_is_of_granted_nodes_on_different_cores(topology, hops, cores, granted, pair):
    """Cores matter where nodes share a machine."""
    assert topology.pair_at(hops, cores, granted) == pair


def test_a_pair_is_found_beside_nodes_that_are_left_out():
    described = TopologyDescription(switches=switches_of(TWO_LEVELS, "t"), left_out=["n1", "n3"])
    assert described.topology().pair_at(3, {}) == ("n2", "n4")
    assert described.topology().hop_counts == [1, 3, 4]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Nodes=n1", ":1: no SwitchName"),
        ("SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2", ":2: a again"),
        ("# nothing", "names no switch"),
        ("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n1", "node n1 is at the switches a and b"),
        ("SwitchName=a Switches=b", "names the switch b, which is not one"),
        ("SwitchName=a Nodes=n1\nSwitchName=b Switches=a\nSwitchName=c Switches=a", "a is below b"),
        ("SwitchName=a Nodes=n[1", 'switch a: .* allowed are lists such as "n\\[1-4\\]"'),
        ("SwitchName=a Nodes=n1,n1", "n1 is listed twice"),
        ("SwitchName=a Nodes=n1 Switches=b\nSwitchName=b Switches=a", "is above itself"),
    ],
)
def test_a_tree_that_is_none_is_refused_by_name(text, said):
    with pytest.raises(AssayError, match=said):
        tree(text)


@pytest.mark.parametrize(
    "section",
    [
        {},
        {"slurm": "t.conf", "switches": {"a": {"nodes": "n1"}}},
        {"switches": {"a": {"nodes": "n1", "speed": 3}}},
    ],
)
def test_a_section_says_one_thing(section):
    with pytest.raises(ValidationError):
        TopologyDescription.model_validate(section)


def test_a_site_may_name_its_topology_conf(tmp_path, monkeypatch):
    monkeypatch.setattr(site_file, "SITES", tmp_path)
    (tmp_path / "here").mkdir()
    text = SITE_FILE.replace("000}", "000, topology: {slurm: topology.conf}}")
    (tmp_path / "here/site.yaml").write_text(text)
    with pytest.raises(AssayError, match=r"site.yaml: topology.slurm: .*y.conf: No such file"):
        loading.load_site("here")
    (tmp_path / "here/topology.conf").write_text(TWO_LEVELS)
    facts = loading.load_site("here").facts()
    assert facts.topology is not None
    assert facts.topology.hops("n1", "n5") == 4


def test_the_sections_that_the_readme_shows_are_sections():
    shown = re.findall(r"^topology: .*$", (site_file.SITES / "README.md").read_text(), re.MULTILINE)
    sections = [TopologyDescription.model_validate(yaml.safe_load(t)["topology"]) for t in shown]
    assert sections[0].slurm == "/etc/slurm/topology.conf"
    assert [one.topology().hop_counts for one in sections[1:]] == [[1, 3]]


def test_a_site_without_a_topology_skips_every_hop_count_and_keeps_the_plain_echo():
    asked = "cases:\n- {check: echo, matrix: {hops: [0, 1, 2, 3]}, fixed: {sizes: [8]}}\n"
    text = spoiled("cases:\n", asked)
    plain, *others = plan_of(text, environments=("lam",), checks=("echo",)).cases
    assert (plain.skipped, "hops" in plain.params) == (None, False)
    assert all("declares no topology" in str(case.skipped) for case in others)
