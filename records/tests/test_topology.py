# SPDX-License-Identifier: Apache-2.0
"""Hop counts by a declared topology: trees of switches, tori, what contradicts itself, plans."""

import dataclasses
import re
from itertools import combinations

import pytest
import yaml
from pydantic import ValidationError

from assay.plan import make_plan
from assay.schema import campaign_from_text
from assay.sites import loading, site_file
from assay.tests.campaign_texts import SITE
from records.errors import AssayError
from records.site.topology import SwitchTree, TopologyDescription, switches_of

TWO_LEVELS = """\
# leaves first, as Slurm's manual does
SwitchName=s1 Nodes=n[1-2]   # LinkSpeed follows
SwitchName=s2 Nodes=n[3-4] LinkSpeed=900
switchname=s3 nodes=n5,login

SwitchName=m1 Switches=s[1-2]
SwitchName=top Switches=m1,s3
"""
TWO_SWITCHES = "SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n[3-4]\nSwitchName=t Switches=a,b"
HOPS = """
schema: 1
name: hops
question: what does a hop cost?
environments: [lam]
blocks: 2
cases:
  - check: echo
    matrix: {hops: [0, 1, 2, 3]}
    fixed: {sizes: [8]}
"""


def tree(text: str) -> SwitchTree:
    return SwitchTree(switches_of(text, "topology.conf"))


def torus(rings: list[int], nodes: str) -> TopologyDescription:
    return TopologyDescription(torus=rings, nodes=nodes)


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


def test_hops_in_a_hypercube_are_the_bits_that_differ_and_in_a_ring_the_shorter_way():
    cube = torus([2] * 6, "n[0-63]").topology()
    for a, b in combinations(range(64), 2):
        assert cube.hops(f"n{a}", f"n{b}") == (a ^ b).bit_count()
    assert cube.hop_counts == [1, 2, 3, 4, 5, 6]
    ring = torus([5], "n[0-4]").topology()
    assert [ring.hops("n0", f"n{i}") for i in range(1, 5)] == [1, 2, 2, 1]


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
        (torus([2, 2, 2], "n[0-7]").topology(), 3, {}, ["n1", "n5", "n6"], ("n1", "n6")),
        (torus([2, 2, 2], "n[0-7]").topology(), 1, {}, ["n0", "n3"], None),
        (torus([2, 2, 2], "n[0-7]").topology(), 1, {}, [], None),
    ],
)
def test_a_pair_is_of_granted_nodes_on_different_cores(topology, hops, cores, granted, pair):
    """Cores matter where nodes share a machine."""
    assert topology.pair_at(hops, cores, granted) == pair


def test_a_pair_is_found_beside_nodes_that_are_left_out():
    described = TopologyDescription(switches=switches_of(TWO_LEVELS, "t"), left_out=["n1", "n3"])
    assert described.topology().pair_at(3, {}) == ("n2", "n4")
    assert described.topology().hop_counts == [1, 3, 4]
    cube = TopologyDescription(torus=[2, 2], nodes="n[0-3]", left_out=["n0"]).topology()
    assert cube.pair_at(2, {}) == ("n1", "n2")
    assert cube.hop_counts == [1, 2]


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
        *({}, {"slurm": "t.conf", "torus": [2], "nodes": "n[0-1]"}, {"torus": [2]}),
        *({"torus": [1, 2], "nodes": "n[0-1]"}, {"switches": {"a": {"nodes": "n1", "speed": 3}}}),
    ],
)
def test_a_section_says_one_thing_and_a_torus_has_no_place_left(section):
    with pytest.raises(ValidationError):
        TopologyDescription.model_validate(section)
    with pytest.raises(AssayError, match="2 × 3 has 6 nodes; 5 are named"):
        torus([2, 3], "n[1-5]").topology()


def test_a_site_may_name_its_topology_conf(tmp_path, monkeypatch):
    monkeypatch.setattr(site_file, "SITES", tmp_path)
    (tmp_path / "here").mkdir()
    text = "schema: 2\nname: here\npartitions: {all: {nodes: 6, cores_per_node: 1,\n"
    text += "  memory_bytes_per_node: 1000000000, topology: {slurm: topology.conf}}}\n"
    text += "environments: {a: {description: A, compiler: cc, launcher: assay-srun, library: A}}\n"
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
    assert [one.topology().hop_counts for one in sections[1:]] == [[1, 3], [1, 2, 3]]


def test_pairs_that_the_site_does_not_have_are_skipped_with_the_counts_that_it_has():
    facts = dataclasses.replace(SITE, topology=tree(TWO_SWITCHES))
    skipped = [case.skipped for case in make_plan(campaign_from_text("h.yaml", HOPS), facts).cases]
    reason = "no two nodes of site virtual are 2 hops apart; by its topology there are pairs at "
    assert skipped == [None, None, f"{reason}1, 3", None]


def test_a_site_without_a_topology_skips_every_hop_count_and_keeps_the_plain_echo():
    plain, *others = make_plan(campaign_from_text("h.yaml", HOPS), SITE).cases
    assert (plain.skipped, "hops" in plain.params) == (None, False)
    assert all("declares no topology" in str(case.skipped) for case in others)


@pytest.mark.parametrize(
    ("fixed", "said"),
    [
        ("{hops: 1, placement: within-node}", "hops = 1 needs placement = between-nodes"),
        ("{hops: 1, distance: 2}", "distance = 2 and hops = 1; give one of them"),
        ("{hops: -1}", "allowed is an integer from 0 to 4096"),
    ],
)
def test_hops_that_contradict_the_placement_are_refused(fixed, said):
    text = HOPS.replace("matrix: {hops: [0, 1, 2, 3]}\n    fixed: {sizes: [8]}", f"fixed: {fixed}")
    with pytest.raises(AssayError, match=said):
        make_plan(campaign_from_text("h.yaml", text), SITE)
