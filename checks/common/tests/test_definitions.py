# SPDX-License-Identifier: Apache-2.0
"""Definitions: parameters with unit and range, layouts, needs and costs of every check."""

import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from checks.common.definition import SiteCapacity
from checks.common.messages import expand_sizes
from checks.common.registry import CHECKS
from checks.hpl import HPL_CODES, HplParameters

RATES: dict[str, Any] = {"core_flop_per_s": 1e10, "network_bytes_per_s": 1e7}
SITE = SiteCapacity("small", 4, 2, 5_600_000_000, **RATES, launch_overhead_s=0.5)
HPL = CHECKS["hpl"]


def params_of(check: str, **given: Any) -> Any:
    return CHECKS[check].parameters.model_validate(given)


def hpl(**given: Any) -> HplParameters:
    return HplParameters.model_validate({"p": 1, "q": 1, "n": 1000} | given)


def test_definitions_need_no_reframe() -> None:
    script = "import sys, checks.common.registry; assert 'reframe' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_parameters_have_meaning_and_unit_the_example_is_one_what_decides_is_reported(check):
    for name, field in check.parameters.model_fields.items():
        assert field.description, name
        assert isinstance(field.json_schema_extra, dict), name
        assert field.json_schema_extra["unit"], name
    assert check.parameters.model_validate(check.example)
    assert {check.deciding, check.shown} <= {"", *check.metrics_by_name}


def test_hpl_defaults_are_those_of_the_2003_study() -> None:
    params = hpl().model_dump()
    wanted = {"nb": 150, "threshold": 16.0, "alignment": 8, "nbmin": 4, "ndiv": 2, "depth": 1}
    wanted |= {"swap_threshold": 80, "equilibration": True}
    assert {name: params[name] for name in wanted} == wanted
    codes = {name: words.index(params[name]) for name, words in HPL_CODES.items()}
    assert codes == {"pmap": 0, "pfact": 2, "rfact": 2, "bcast": 1, "swap": 2, "l1": 0, "u": 0}


DISK = {"ranks": 1, "target": "disk"}
#: A right set of parameters of a check, and what is out of range.
OUT_OF_RANGE: list[tuple[str, dict[str, Any], list[dict[str, Any]]]] = [
    (
        "hpl",
        {"p": 1, "q": 1, "n": 1000},
        [
            *({"n": wrong} for wrong in (0, 2_000_001, 1000.0, "1000", True)),
            *({"threshold": wrong} for wrong in (-16.0, 0, 1e300, float("nan"), True)),
            *({"p": 0}, {"q": -1}, {"nb": 0}, {"ndiv": 1}, {"depth": -1}, {"pfact": "Left"}),
            *({"bcast": 1}, {"equilibration": 1}, {"device_out": 6}),
            *({"ranks_per_node": wrong} for wrong in (0, "full")),
        ],
    ),
    (
        "pt2pt",
        {"sizes": [300]},
        [
            *({"sizes": wrong} for wrong in ([], [0], [2**30 + 1], [1.5], list(range(1, 10_002)))),
            {"sizes": [{"from": 1, "to": 2}]},
            {"sizes": [{"from": 1, "to": 2, "step": 1, "per_octave": 1}]},
            {"iterations": 1_000_000, "sizes": [1, 2, 3]},
            *({"iterations": 0}, {"iterations": 1_000_001}, {"warmup": -1}, {"constructs": []}),
            *({"constructs": ["Bsend/Recv"]}, {"placement": "anywhere"}),
            {"reply_before_wait": "no"},
        ],
    ),
    (
        "collectives",
        {"ranks": 2},
        [
            *({"sizes": [6]}, {"sizes": [{"from": 4, "to": 64, "per_octave": 2}]}),
            *({"operations": wrong} for wrong in ([], ["gather", "gather"], ["gossip"])),
            *({"procedure": "both"}, {"ranks": 0}, {"repetitions": 0}, {"warmup": 0}),
        ],
    ),
    ("interference", {}, [{"ranks": 1}]),
    ("startup", {"ranks": 8}, [{"ranks": 0}]),
    ("alltoall_pairs", {"ranks": 4}, [{"ranks": 1}]),
    ("storage", DISK, [*({"sizes": wrong} for wrong in ([1000], [4096, 4096], []))]),
    ("bisection", {"ranks": 4}, [{"ranks": 1}]),
]


@pytest.mark.parametrize(
    ("check", "right", "wrong"),
    [(check, right, wrong) for check, right, cases in OUT_OF_RANGE for wrong in cases],
)
@pytest.mark.plugins("papers")
def test_parameters_out_of_range_are_refused(check, right, wrong) -> None:
    assert params_of(check, **right)
    with pytest.raises(ValidationError):
        params_of(check, **right | wrong)


EIGHT = {"p": 2, "q": 4, "n": 9}


@pytest.mark.parametrize(
    ("check", "given", "cores", "ranks", "per_node"),
    [
        ("hpl", EIGHT | {"q": 2}, 2, 4, 2),
        ("hpl", EIGHT | {"p": 1, "q": 2}, 16, 2, 2),
        ("hpl", EIGHT | {"q": 2, "ranks_per_node": 1}, 16, 4, 1),
        ("hpl", EIGHT | {"q": 3, "ranks_per_node": 2}, 4, 6, 2),
        ("pt2pt", {"sizes": [300]}, 2, 2, 1),
        ("pt2pt", {"sizes": [300], "placement": "within-node"}, 2, 2, 2),
        ("startup", {"ranks": 8}, 2, 8, 2),
        ("echo", {"placement": "self"}, 2, 1, 1),
        ("echo", {"placement": "within-node"}, 2, 2, 2),
        ("echo", {}, 2, 2, 1),
        ("echo", {"distance": 3}, 2, 4, 1),
        ("alltoall_pairs", {"ranks": 4}, 2, 4, 1),
        ("bisection", {"ranks": 4}, 2, 4, 1),
    ],
)
@pytest.mark.plugins("papers")
def test_a_layout_has_its_ranks_on_so_many_nodes(check, given, cores, ranks, per_node) -> None:
    layout = CHECKS[check].layout(params_of(check, **given), cores)
    assert (layout.ranks, layout.ranks_per_node) == (ranks, per_node)
    assert layout.nodes == ranks // per_node


def test_hpl_memory_is_the_matrix_over_the_nodes_and_an_allowance() -> None:
    layout = HPL.layout(hpl(p=2, q=2, n=10000), 2)
    assert layout.memory_bytes_per_node == 8 * 10000**2 // 2 + 2 * 16 * 2**20


FOUR, WITHIN = {"ranks": 4, "ranks_per_node": 1}, {"placement": "within-node"}
ONE_GB = {"memory_bytes_per_node": 10**9}
CORES, NEED = "cores; a node of site small has", "1 ranks a node need"
LARGE = f"{NEED} 14.4 GB, with 16 MiB a rank for program and buffers; a node of site small has 5.6"
LATTICE = {"nx": 4, "ny": 4, "nz": 4, "nt": 8, "ranks": 1, "trajectories": 101}
CUTS = "3 ranks cannot cut the lattice 4×4×4×8 evenly; 1, 2, 4, 8, 16, 32, 64, 128 ranks can"
#: Parameters, what is other on the site, and why it cannot run there; None: it can.
FITS: list[tuple[str, dict[str, Any], dict[str, Any], str | None]] = [
    ("hpl", {"q": 3}, {}, "3 ranks at 2 a node leave 1 over; ranks_per_node = 1 would divide them"),
    ("hpl", {"p": 2, "q": 2, "ranks_per_node": 4}, {}, f"4 ranks a node need 4 {CORES} 2"),
    ("hpl", {"p": 3, "q": 4}, {}, "12 ranks at 2 a node need 6 nodes; site small has 4"),
    ("hpl", {"p": 2, "q": 4}, {}, None),
    ("hpl", {"q": 2, "n": 60000, "ranks_per_node": 1}, {}, LARGE),
    ("hpl", {"q": 2, "n": 60000}, {"memory_bytes_per_node": 10**11}, None),
    ("pt2pt", {"sizes": [300]}, {}, None),
    ("pt2pt", WITHIN, {}, None),
    ("pt2pt", WITHIN, {"cores_per_node": 1}, f"2 ranks a node need 2 {CORES} 1"),
    ("pt2pt", {}, {"nodes": 1}, "2 ranks at 1 a node need 2 nodes; site small has 1"),
    ("pt2pt", {"sizes": [2**30]}, ONE_GB, f"{NEED} 2.16 GB"),
    ("ring", FOUR | {"ranks": 3, "order": "gray"}, {}, "3 ranks have no Gray-code"),
    ("ring", FOUR | {"order": "gray"}, {}, None),
    ("streams", {"sizes": [2**30], "window": 4096}, {}, f"{NEED} 8796 GB"),
    ("alltoall_pairs", {"ranks": 5}, {}, "5 ranks at 1 a node need 5 nodes"),
    ("bisection", {"ranks": 5}, {}, "5 ranks at 1 a node need 5 nodes"),
    ("su3_rmd", LATTICE | {"ranks": 3}, {}, CUTS),
    ("collectives", FOUR | {"sizes": [2**20]}, {}, None),
    ("collectives", FOUR | {"sizes": [2**28]}, ONE_GB, f"{NEED} 2.16 GB"),
]


@pytest.mark.parametrize(("check", "given", "site", "said"), FITS)
@pytest.mark.plugins("papers")
def test_layouts_that_do_not_fit_say_so_in_numbers(check, given, site, said) -> None:
    params = hpl(**given) if check == "hpl" else params_of(check, **given)
    there, definition = replace(SITE, **site), CHECKS[check]
    found = definition.infeasible(params, definition.layout(params, there.cores_per_node), there)
    assert found is None if said is None else str(found).startswith(said)


def test_hpl_estimate_follows_operations_and_network() -> None:
    within = HPL.estimate_s(hpl(n=3000), HPL.layout(hpl(n=3000), 2), SITE)
    assert within == pytest.approx(0.5 + (2 * 3000**3 / 3 + 1.5 * 3000**2) / 1e10)
    params = hpl(n=3000, q=2, ranks_per_node=1)
    across = HPL.estimate_s(params, HPL.layout(params, 2), SITE)
    assert across == pytest.approx(0.5 + (within - 0.5) / 2 + 4 * 3000**2 / 1e7)


def test_hpl_on_nodes_that_share_cores_takes_turns() -> None:
    params = hpl(n=3000, p=2, q=2, ranks_per_node=1)
    layout = HPL.layout(params, 2)
    apart, shared = (
        HPL.estimate_s(params, layout, replace(SITE, shared_cores=cores))
        for cores in ({}, {"a": [0], "b": [1], "c": [0], "d": [1]})
    )
    # Run on two cores: 15.2 to 17.1 s.
    assert shared - apart == pytest.approx(3000 * 4e-3 + (2 * 3000**3 / 3 + 1.5 * 3000**2) / 4e10)


def test_constructs_come_in_their_own_order() -> None:
    both = params_of("pt2pt", constructs=["Isend/Irecv", "Send/Recv"])
    assert both.constructs == ["Send/Recv", "Isend/Irecv"]


MANY = [f"{'a' * 20}{number:04}:{'b' * 24}" for number in range(3000)]
CONTRADICTIONS: list[tuple[str, dict[str, Any], str]] = [
    ("pt2pt", {"constructs": ["Send/Recv", "Send/Recv"]}, "Send/Recv is listed twice"),
    ("echo", {"placement": "self", "distance": 2}, "needs placement = between-nodes, found self"),
    ("node", {"ranks": 4, "memory_bytes": 1000}, "memory_bytes = 1000; allowed are 0"),
    ("osu", {"test": "osu_latency", "full": True}, "osu_latency has no option -f"),
    ("alltoall_pairs", {"ranks": 9, "ranks_per_node": 2}, "as many ranks on each"),
    ("alltoall_pairs", {"ranks": 4, "ranks_per_node": 4}, "as many ranks on each"),
    ("alltoall_pairs", {"ranks": 4, "only": MANY}, "in 149999 bytes, allowed are 120000"),
    ("su3_rmd", LATTICE | {"trajectories_between_measurements": 102}, "without a measurement"),
    ("su3_rmd", LATTICE | {"keep_measurements": True}, "allowed are at most 100"),
    ("su3_rmd", LATTICE | {"implementation": "milc", "overlap": True}, "milc has no overlap"),
]


@pytest.mark.parametrize(("check", "given", "said"), CONTRADICTIONS)
def test_parameters_that_contradict_each_other_are_refused_by_name(check, given, said) -> None:
    with pytest.raises(ValidationError, match=said):
        params_of(check, **given)


def test_sizes_are_expanded_sorted_and_each_once() -> None:
    assert expand_sizes([600, {"from": 300, "to": 1000, "step": 300}, 7]) == [7, 300, 600, 900]
    octaves = expand_sizes([{"from": 1, "to": 1048576, "per_octave": 2}])
    assert octaves[:8] == [1, 2, 3, 4, 6, 8, 11, 16]
    assert octaves[-3:] == [524288, 741455, 1048576]
    assert expand_sizes(octaves) == octaves
    # A range that misses its end stops before it.
    assert expand_sizes([{"from": 10, "to": 25, "per_octave": 1}]) == [10, 20]


def test_too_many_sizes_are_refused_before_they_are_made() -> None:
    with pytest.raises(ValueError, match="gives 1073741824 sizes; allowed are at most 10000"):
        expand_sizes([{"from": 1, "to": 2**30, "step": 1}])


def test_checks_of_the_tree_and_of_its_plugins_are_no_foreign_ones():
    assert {name for name, check in CHECKS.items() if not check.is_shipped} == set()


def test_an_echo_always_measures_0_bytes():
    asked = params_of("echo", sizes=[8, {"from": 16, "to": 64, "per_octave": 1}])
    assert CHECKS["echo"].message_bytes(asked) == [0, 8, 16, 32, 64]


#: Parameters, others of the same check, and how many times longer these take beside the start.
LONGER: list[tuple[str, dict[str, Any], dict[str, Any], float]] = [
    ("collectives", {"ranks": 2}, {"ranks": 4}, 1.9556),
    ("collectives", {"ranks": 2, "repetitions": 5}, {"ranks": 2, "procedure": "loop"}, 12.4444),
    ("interference", {"samples": 5}, {"samples": 50}, 6),
    ("alltoall_pairs", {"ranks": 4}, {"ranks": 4, "turns": True}, 2),
]


@pytest.mark.parametrize(("check", "less", "more", "times"), LONGER)
@pytest.mark.plugins("papers")
def test_what_does_more_is_estimated_to_take_longer(check, less, more, times) -> None:
    definition = CHECKS[check]
    asked = [params_of(check, **given) for given in (less, more)]
    a, b = (definition.estimate_s(one, definition.layout(one, 1), SITE) for one in asked)
    assert b - SITE.launch_overhead_s == pytest.approx(times * (a - SITE.launch_overhead_s), 1e-4)
