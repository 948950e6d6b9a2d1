# SPDX-License-Identifier: Apache-2.0
"""Sizes that follow the site become numbers that fit it, on small, wide and shared machines."""

from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from checks.common.definition import SiteCapacity
from checks.common.registry import CHECKS
from checks.common.sizing import NOMINAL, is_relative, probed, sized

SITE = NOMINAL
WIDE = replace(SITE, nodes=16, cores_per_node=128, memory_bytes_per_node=256 * 10**9)
#: Four nodes on two cores.
SHARED = replace(SITE, cores_per_node=1, shared_cores={f"n{n}": [n % 2] for n in range(4)})


def sizes(check: str, site: SiteCapacity = SITE, **given: Any) -> list[dict[str, Any]]:
    return list(sized(CHECKS[check], given, site))


def layout(check: str, params: dict[str, Any], site: SiteCapacity) -> Any:
    definition = CHECKS[check]
    complete = definition.parameters.model_validate(params)
    found = definition.layout(complete, site.cores_per_node)
    assert definition.infeasible(complete, found, site) is None
    return found


def time_s(check: str, params: dict[str, Any], site: SiteCapacity) -> float:
    complete = CHECKS[check].parameters.model_validate(params)
    return CHECKS[check].estimate_s(complete, layout(check, params, site), site)


@pytest.mark.plugins("papers")
def test_nodes_are_all_half_at_most_so_many_or_a_range_up_to_all() -> None:
    for asked, ranks in [
        *(("all", [16]), ("half", [8]), (3, [3]), ({"most": 16}, [16]), ({"most": 4}, [4])),
        ({"most": 17}, [16]),
        ({"from": 1, "to": "all", "per_octave": 1}, [1, 2, 4, 8, 16]),
        ({"from": 2, "to": "all", "step": 5}, [2, 7, 12]),
        ({"from": 1, "to": 5, "per_octave": 1}, [1, 2, 4]),
        ({"from": 20, "to": "all", "per_octave": 1}, []),
    ]:
        found = sizes("ring", WIDE, nodes=asked, ranks_per_node=1)
        assert [params["ranks"] for params in found] == ranks


@pytest.mark.plugins("papers")
def test_ranks_fill_all_cores_or_half_of_them() -> None:
    for words, ranks in [("fill", 2048), ("half", 1024), (3, 48), ({"most": 5}, 80)]:
        (params,) = sizes("ring", WIDE, nodes="all", ranks_per_node=words)
        assert params["ranks"] == ranks
        assert layout("ring", params, WIDE).nodes == 16
    one_core = replace(SITE, cores_per_node=1)
    for words in ("fill", "half", {"most": 2}):
        (params,) = sizes("ring", one_core, nodes="all", ranks_per_node=words)
        assert layout("ring", params, one_core).nodes == 4


def test_at_most_two_ranks_a_node_leave_ids_of_narrow_nodes_as_they_are() -> None:
    narrow = replace(SITE, cores_per_node=2)
    asked = {"p": 2, "q": 4, "n": 1000, "ranks_per_node": {"most": 2}}
    assert sizes("hpl", narrow, **asked)[0]["ranks_per_node"] == "fill"
    assert sizes("hpl", WIDE, **asked)[0]["ranks_per_node"] == 2
    assert sizes("hpl", WIDE, **asked | {"p": 1, "q": 2})[0]["ranks_per_node"] == "fill"


each_site = pytest.mark.parametrize("site", [SITE, WIDE, SHARED], ids=["small", "wide", "shared"])


@each_site
@pytest.mark.parametrize("share", [0.01, 0.5, 0.9])
def test_hpl_fills_its_share_of_memory(site: SiteCapacity, share: float) -> None:
    (params,) = sizes("hpl", site, nodes="all", ranks_per_node="fill", memory_share=share)
    found = layout("hpl", params, site)
    assert (found.nodes, params["p"] <= params["q"]) == (site.busy_nodes, True)
    filled = 8 * params["n"] ** 2 / found.nodes / site.memory_bytes_per_node
    assert 0.8 * share < filled <= share
    assert params["n"] % 150 == 0


def test_a_time_cuts_the_share_off_where_the_estimate_reaches_it() -> None:
    for site in (SITE, WIDE, SHARED):
        (params,) = sizes("hpl", site, nodes="all", nb=1, memory_share=0.8, at_most_s=50)
        assert 40 < time_s("hpl", params, site) <= 50
    (whole,) = sizes("hpl", SITE, nodes=1, memory_share=0.01, at_most_s=1e6)
    assert whole == sizes("hpl", SITE, nodes=1, memory_share=0.01)[0]


def test_stream_fills_its_share_of_each_node_on_all_ranks() -> None:
    asked = {"nodes": "all", "ranks_per_node": "fill", "kernels": ["stream"], "memory_share": 0.5}
    (params,) = sizes("node", WIDE, **asked)
    assert (params["ranks"], params["ranks_per_node"]) == (2048, 128)
    assert 3 * 128 * params["stream_bytes"] == pytest.approx(128e9, rel=1e-3)
    layout("node", params, WIDE)


@pytest.mark.plugins("papers")
def test_nodes_that_share_cores_are_not_busy_together_unless_they_take_turns() -> None:
    assert sizes("ring", SHARED, nodes="all", ranks_per_node=1)[0]["ranks"] == 2
    for site, ranks in ((SHARED, 4), (WIDE, 16)):
        (pairs,) = sizes("alltoall_pairs", site, nodes="all", turns="auto")
        assert (pairs["ranks"], pairs["turns"]) == (ranks, site is SHARED)


def test_a_lattice_takes_as_many_nodes_as_cut_it_evenly() -> None:
    lattice = {"nx": 12, "ny": 12, "nz": 12, "nt": 24, "trajectories": 1}
    for nodes, ranks in [(2, 2), (3, 3), (5, 4), (7, 6), (13, 12)]:
        site = replace(SITE, nodes=nodes, cores_per_node=1)
        (params,) = sizes("su3_rmd", site, **lattice, nodes="all")
        assert layout("su3_rmd", params, site).ranks == params["ranks"] == ranks


@each_site
def test_a_lattice_grows_with_memory_until_the_time_is_up(site: SiteCapacity) -> None:
    asked = {"nodes": "all", "ranks_per_node": {"most": 4}, "trajectories": 4}
    found = [
        sizes("su3_rmd", site, **asked, memory_share=share, at_most_s=1e6)[0]["nt"]
        for share in (0.001, 0.01, 0.1, 0.5)
    ]
    assert found == sorted(found)
    assert found[0] < found[-1]
    (params,) = sizes("su3_rmd", site, **asked, memory_share=0.5, at_most_s=20)
    assert (params["nx"], params["nt"]) == (params["ny"], 2 * params["nz"])
    assert time_s("su3_rmd", params, site) <= 20


def test_what_states_numbers_only_does_not_follow_the_site() -> None:
    for check, definition in CHECKS.items():
        assert not is_relative(definition, definition.example), check
    assert not is_relative(CHECKS["hpl"], {"p": 1, "q": 2, "n": 9, "ranks_per_node": "half"})


@pytest.mark.parametrize(
    ("check", "given", "said"),
    [
        ("hpl", {"nodes": "all", "p": 2, "memory_share": 0.5}, "nodes sets p, which is given too"),
        ("hpl", {"nodes": "all", "n": 9, "memory_share": 0.5}, "memory_share sets n"),
        ("ring", {"nodes": "all", "ranks": 2}, "nodes sets ranks"),
        ("hpl", {"nodes": "all", "n": 100, "at_most_s": 5}, "at_most_s limits memory_share"),
        ("ring", {"nodes": 0}, "greater than or equal to 1"),
        ("ring", {"nodes": {"from": 1, "to": "all"}}, "exactly one of step and per_octave"),
        ("hpl", {"nodes": "all", "memory_share": 1.5}, "memory_share"),
        ("ring", {"ranks": 2, "ranks_per_node": {"most": 0}}, "ranks_per_node.most"),
    ],
)
@pytest.mark.plugins("papers")
def test_sizes_that_contradict_each_other_are_refused(check, given, said) -> None:
    with pytest.raises(ValueError, match=said) as caught:
        probed(CHECKS[check], given)
    assert isinstance(caught.value, ValidationError) or said in str(caught.value)
