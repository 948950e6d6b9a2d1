# SPDX-License-Identifier: Apache-2.0
"""The plan: every case once, laid on the site, with its cost; nothing dropped in silence."""

import dataclasses
import hashlib
import json
import math
import re
from collections import Counter
from itertools import groupby, permutations

import pytest

from assay.plan.cases import Narrowing
from assay.plan.planner import block_order, launch_limit_s, make_plan
from assay.plan.render import render_plan
from assay.schema.loading import load_campaign
from assay.tests.campaign_texts import GOOD, MPI, SITE, campaign_of, plan_of, refusal, spoiled
from records.errors import AssayError
from records.run.plan import Plan, PlannedCase, case_ids
from records.site.topology import TopologyDescription
from records.tests.made import case_id
from reports.statistics.max_t import QUANTILE, detectable

WYEAST = dataclasses.replace(
    SITE, name="wyeast", nodes=12, cores_per_node=2, memory_bytes_per_node=2**29
)


def with_n(n: int) -> str:
    return spoiled("n: [1000, 2000]", f"n: [2000, {n}]")


def test_every_combination_in_every_environment_is_a_case() -> None:
    plan = plan_of(GOOD)
    hpl = [(c.environment, c.params) for c in plan.cases if c.check == "hpl"]
    points = {(e, params["p"], params["q"], params["n"]) for e, params in hpl}
    assert points == {(e, 1, q, n) for e in ("mpich", "lam") for q in (1, 2) for n in (1000, 2000)}
    assert [c.environment for c in plan.cases if c.check == "pt2pt"] == ["lam"]


@pytest.mark.parametrize(
    ("changed", "where"),
    [
        ("launch: none", ["mpich"]),
        ("launch: none, once: false", ["mpich", "openmpi"]),
        ("launch: none, build: $CC loop.c -o loop", ["mpich", "openmpi"]),
        ("launch: mpi", ["mpich", "openmpi"]),
    ],
)
def test_a_command_that_is_the_same_in_every_environment_runs_in_one(changed, where) -> None:
    loop = "{name: loop, command: ./loop, metrics: {loop_time: {find: '^(.*) s$', unit: s}}, "
    cases = f"{loop}{changed}}}", "{check: startup, fixed: {ranks: 2}}"
    text = campaign_of(*cases, environments="mpich, openmpi")
    plan = plan_of(f"{text}weights: {{loop: 1, startup: 1}}\n")
    assert [case.environment for case in plan.cases if case.check == "loop"] == where
    told = "loop: `./loop`, started as one process; it runs in mpich alone and has no weight"
    assert (told in plan.brings()) == (len(where) == 1) == ("loop" not in plan.weighed)


def test_totals_count_launches_and_node_hours_over_all_blocks() -> None:
    plan = plan_of(GOOD)
    assert (plan.totals.cases, plan.totals.skipped, plan.totals.launches) == (9, 0, 27)
    times, launches_s = plan.times, 3 * sum(c.estimate_s for c in plan.cases)
    wall_s = launches_s + 27 * times.between_s + times.start_s + len(times.builds) * times.build_s
    assert plan.totals.wall_s == pytest.approx(wall_s, abs=0.1)
    node_s = 3 * sum(c.estimate_s * c.nodes for c in plan.cases)
    assert plan.totals.node_hours == pytest.approx(node_s / 3600, abs=0.001)


@pytest.mark.parametrize(
    "interims", [[6], [6, 8, 10, 13, 17, 20], [6, 8, 10, 13, 17, 22, 30], [7, 8]]
)
def test_a_sequential_design_is_judged_in_growing_steps(interims: list[int]) -> None:
    blocks = f"blocks: {{least: {interims[0]}, greatest: {interims[-1]}}}"
    plan = plan_of(spoiled("blocks: 3", blocks))
    assert plan.sequential is not None
    assert (plan.blocks, plan.sequential.interims) == (interims[-1], interims)
    assert plan.sequential.until == ["score", "checks"]
    assert Plan.from_json(plan.to_json()).sequential == plan.sequential


def test_limits_must_suffice_for_the_least_number_of_blocks() -> None:
    node_s = sum(case.nodes * case.estimate_s for case in plan_of(GOOD).cases)
    text = spoiled("blocks: 3", "blocks: {least: 6, greatest: 600}")
    assert plan_of(text.replace("node_hours: 5", f"node_hours: {7 * node_s / 3600}"))
    told = refusal(text.replace("node_hours: 5", f"node_hours: {5 * node_s / 3600}"), SITE)
    assert "54 launches (9 cases × 6 blocks) are estimated at" in told


@pytest.mark.parametrize("interims", [[], [6, 8], [8, 6, 9], [0, 9], [6, 6, 9]])
def test_a_damaged_sequential_design_is_refused(interims: list[int]) -> None:
    text = plan_of(spoiled("blocks: 3", "blocks: {greatest: 9}")).to_json()
    with pytest.raises(AssayError, match="`interims` must ascend from 1 or more to the 9 blocks"):
        Plan.from_json(text.replace('"interims":[6,9]', f'"interims":{interims}'.replace(" ", "")))


def test_parameters_are_complete_and_sizes_explicit() -> None:
    plan = plan_of(spoiled("[300, 600]", "[{from: 300, to: 900, step: 300}, 5]"))
    hpl, pt2pt = plan.cases[0].params, plan.cases[-1].params
    assert (hpl["nb"], hpl["pfact"], hpl["threshold"]) == (64, "right", 16.0)
    assert pt2pt["sizes"] == [5, 300, 600, 900]
    assert len(pt2pt["constructs"]) == 8


def test_an_id_is_the_hash_of_check_environment_and_parameters_whatever_site_and_spelling() -> None:
    plan = plan_of(GOOD)
    case = plan.cases[0]
    content = {"check": case.check, "environment": case.environment, "params": case.params}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert case.id == "hpl-" + hashlib.sha256(text.encode()).hexdigest()[:8]
    assert case.id == case_id(case.check, case.environment, case.params)
    respelt = spoiled("[300, 600]", "[{from: 300, to: 600, step: 300}]")
    respelt = respelt.replace("{nb: 64}", "{depth: 1, nb: 64}")
    assert [c.id for c in plan.cases] == [c.id for c in plan_of(respelt, WYEAST).cases]
    # It does not change between versions.
    changed = plan_of(spoiled("{nb: 64}", "{nb: 128, ranks_per_node: 1}"))
    assert changed.cases[0].id == "hpl-5477f4ea"


def test_cases_whose_short_ids_collide_take_longer_ones() -> None:
    one, two, three = "a" * 8 + "1" * 56, "a" * 8 + "2" * 56, "b" * 64
    longer = ["hpl-aaaaaaaa11111111", "hpl-aaaaaaaa22222222", "hpl-bbbbbbbb"]
    assert case_ids(["hpl"] * 3, [one, two, three]) == longer
    assert case_ids(["hpl", "pt2pt"], [one, two]) == ["hpl-aaaaaaaa", "pt2pt-aaaaaaaa"]


SIZES = "  fixed: {sizes: [300, 600]}\n"
MANY = "  matrix: {iterations: [1, 900000], sizes: [[1], [1, 2]]}\n"
TWICE = "- check: hpl\n  fixed: {p: 1, q: 2, n: 1000, nb: 64}\n- check: pt2pt\n"
BOTH = r"c.yaml:{}: cases\[{}\] gives a case that c.yaml:8: cases\[0\] gives too: hpl in mpich with"
ESTIMATED = r"estimated at .*limits\.{} allows {}: raise it"


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("- check: pt2pt\n", TWICE, f"^{BOTH.format(13, 1)} p=1 q=2 n=1000 nb=64"),
        ("    n: [", "    threshold: [16, 16.0]\n    n: [", f"^{BOTH.format(8, 0)}"),
        (SIZES, MANY, r"^c.yaml:13: cases\[1\].*8 constructs × 2 sizes × 900000 iterations ="),
        ("node_hours: 5", "node_hours: 0.001", ESTIMATED.format("node_hours", 0.001)),
        ("node_hours: 5", "wall_time_s: 10", ESTIMATED.format("wall_time_s", 10)),
        ("launch_s: 100", "launch_s: 1.01", r"estimated at .*limits\.launch_s .*1.01.*: raise it"),
    ],
)
def test_cases_given_twice_wrong_together_or_above_a_limit_are_refused(old, new, told) -> None:
    assert re.search(told, refusal(spoiled(old, new), SITE))


def test_a_matrix_too_large_for_the_nodes_is_skipped_with_the_arithmetic() -> None:
    plan = plan_of(with_n(20000))
    skipped = {c.params["q"]: c.skipped for c in plan.cases if c.skipped is not None}
    assert set(skipped) == {1, 2}
    assert skipped[2] == (
        "1 ranks a node need 1.62 GB, with 16 MiB a rank for program and buffers;"
        " a node of site virtual has 1.4 GB"
    )
    assert (plan.totals.skipped, plan.totals.launches) == (4, 3 * 5)
    assert [c.id for c in plan.cases] == [c.id for c in plan_of(with_n(20000), WYEAST).cases]
    assert all(c.ranks == c.params["p"] * c.params["q"] for c in plan.cases if c.check == "hpl")
    table = render_plan(plan)
    parts = ("skipped (4):", "1 ranks a node need", "hpl 1 × 2, N 2\u202f000 ", "15 launches")
    assert all(told in table for told in (*parts, "9 cases, 4 skipped; 3 blocks, order seed 7"))


def test_what_nodes_or_an_environment_lack_skips_their_cases_with_numbers() -> None:
    plan = plan_of(spoiled("{p: 1, q: 2}", "{p: 2, q: 4}"))
    reasons = {c.skipped for c in plan.cases if c.params.get("q") == 4}
    assert reasons == {"8 ranks at 1 a node need 8 nodes; site virtual has 4"}
    bare = dataclasses.replace(SITE, environments={"mpich": MPI, "lam": frozenset()})
    lacking = {c.environment: c.skipped for c in plan_of(GOOD, bare).cases if c.check == "hpl"}
    assert lacking == {"mpich": None, "lam": "environment lam lacks mpi, which check hpl needs"}
    with pytest.raises(AssayError, match="site x: nodes is 0"):
        dataclasses.replace(SITE, name="x", nodes=0)


def test_a_campaign_none_of_whose_environments_is_there_is_refused() -> None:
    said = refusal(GOOD.replace("mpich, lam", "mpihc").replace("[lam]", "[mpihc]"), SITE)
    assert "site virtual has no environment 'mpihc' (did you mean mpich?)" in said
    assert said.endswith("site virtual has lam, lam-lamd, mpich, openmpi")


def test_an_estimate_at_a_limit_is_allowed() -> None:
    once = spoiled("blocks: 3", "blocks: 1")
    exactly = plan_of(once).totals.node_hours
    assert plan_of(once.replace("node_hours: 5", f"node_hours: {exactly!r}"))
    refusal(once.replace("node_hours: 5", f"node_hours: {exactly * 0.999!r}"), SITE)


def test_a_launch_limit_is_the_stated_one_or_ten_times_the_estimate() -> None:
    plan = plan_of(GOOD)
    assert launch_limit_s(plan, plan.cases[0]) == 100.0
    free = plan_of(spoiled(", launch_s: 100", ""))
    assert launch_limit_s(free, free.cases[0]) == 60.0
    free = plan_of(spoiled(", launch_s: 100", ""), dataclasses.replace(SITE, core_flop_per_s=1e8))
    longest = max(free.cases, key=lambda c: c.estimate_s)
    assert launch_limit_s(free, longest) == 10 * longest.estimate_s > 60


def test_a_plan_survives_its_file() -> None:
    plan = plan_of(with_n(20000))
    text = plan.to_json()
    assert Plan.from_json(text) == plan
    parsed = json.loads(text)
    assert list(parsed)[:3] == ["schema", "campaign", "question"]
    asked = {"rough_s", "measured", "stored_bytes", "cpus_per_task", "resources", "alone"}
    # Written where a case asks for them.
    assert ({*PlannedCase.__struct_fields__} - parsed["cases"][0].keys()) == asked | {"switches"}
    empty = dataclasses.replace(SITE, environments={"mpich": frozenset(), "lam": frozenset()})
    assert Plan.from_json(plan_of(GOOD, empty).to_json()).totals.launches == 0
    # The criteria of former campaigns are read over.
    text = text.replace('"totals":', '"criteria":[{"metric":"rate"}],"totals":', 1)
    assert Plan.from_json(text) == plan
    for other in (1, 9):
        with pytest.raises(AssayError, match=f"schema {other}"):
            Plan.from_json(text.replace('"schema":2', f'"schema":{other}', 1))


def test_the_plan_says_what_its_blocks_can_tell() -> None:
    assert "blocks: 3 cannot separate environments; at least 6 are needed" in render_plan(
        plan_of(GOOD)
    )
    twelve = render_plan(plan_of(spoiled("blocks: 3", "blocks: 12")))
    # Two libraries: all together and two checks, then four of nine cases that both of them have.
    level = QUANTILE / (1 + 2 + 4)
    twos, fives = (1.03 * math.exp(s * detectable(12, level)) - 1 for s in (0.02, 0.05))
    expected = f"about {twos:.1%} (s = 2%) or {fives:.1%} (s = 5%)".replace("%", " %")
    assert f"12 blocks find an advantage of {expected}" in twelve
    alone = GOOD.replace("[mpich, lam]", "[lam]").replace("blocks: 3", "blocks: 12")
    assert "advantage" not in render_plan(plan_of(alone))


def test_the_plan_of_a_sequential_design_says_when_it_is_judged_and_what_is_found() -> None:
    table = render_plan(plan_of(spoiled("blocks: 3", "blocks: {least: 6, greatest: 10}")))
    assert "6 to 10 blocks" in table
    assert "at most 90 launches" in table
    judged = "judged after blocks 6, 8, 10 until known: score, checks; 10 blocks find an advantage"
    (row,) = [line for line in table.splitlines() if line.startswith(judged)]
    found = [float(value) for value in re.findall(r"(\d+\.\d) %", row)]
    assert found == sorted(found) and len(found) == 2 and found[0] > 3


@pytest.mark.plugins("papers")
def test_shipped_campaigns_fit_the_sites_they_are_written_for() -> None:
    quick = make_plan(load_campaign("quick"), SITE)
    assert (quick.totals.cases, quick.totals.skipped, quick.totals.launches) == (16, 0, 112)
    study = make_plan(load_campaign("wyeast-2003"), WYEAST)
    assert study.totals.skipped == 0
    # Of LAM's daemons there are five sizes on 2 × 2.
    assert study.totals.cases == 2 * (51 + 17 + 6 + 7 + 1) + 5


@pytest.mark.parametrize(("most", "nodes"), [(2, 2), (3, 3), (4, 4), (9, 4)])
def test_a_night_measures_the_nodes_that_a_job_may_have(most, nodes) -> None:
    plan = make_plan(load_campaign("nightly"), dataclasses.replace(SITE, nodes=most))
    assert [case.skipped for case in plan.cases if case.skipped] == []
    assert [case.nodes for case in plan.cases if case.check == "node"] == [nodes]


@pytest.mark.parametrize(("nodes", "cores", "memory"), [(12, 2, 2**29), (64, 128, 2**38)])
@pytest.mark.plugins("papers")
def test_the_study_of_2003_lies_on_wider_nodes_as_on_its_own(nodes, cores, memory) -> None:
    wide = {"nodes": nodes, "cores_per_node": cores, "memory_bytes_per_node": memory}
    plan = make_plan(load_campaign("wyeast-2003"), dataclasses.replace(WYEAST, **wide))
    assert [case.skipped for case in plan.cases if case.skipped] == []
    for case in plan.cases:
        messages = case.check in ("pt2pt", "echo")
        on_node = 1 if messages else min(2, case.ranks)
        assert (case.ranks_per_node, case.nodes) == (on_node, -(-case.ranks // on_node)), case
    assert max(case.nodes for case in plan.cases) == 12
    assert len({(c.params["p"], c.params["q"]) for c in plan.cases if c.check == "hpl"}) == 9


@pytest.mark.parametrize(
    "name", ["collectives-1996", "hypercube-1988", "ornl-1996", "pvm-1995", "wyeast-2003"]
)
@pytest.mark.plugins("papers")
def test_the_small_form_of_a_study_is_a_short_part_of_it_and_fits_its_cluster(name) -> None:
    features = {"mpich": MPI, "lam": MPI, "pvm": frozenset({"pvm"})}
    facts = dataclasses.replace(SITE, environments=features, network_bytes_per_s=1.17e8)
    campaign = load_campaign(name)
    plans = {s: make_plan(campaign, facts, Narrowing(scale=s)) for s in ("paper", "small")}
    checks = {scale: {case.check for case in plan.cases} for scale, plan in plans.items()}
    assert checks["small"] == checks["paper"]
    assert plans["small"].totals.wall_s <= min(1200, plans["paper"].totals.wall_s)
    switches = {leaf: {"nodes": names} for leaf, names in {"a": "n[1-2]", "b": "n[3-4]"}.items()}
    switches["top"] = {"switches": "a,b"}
    mpi3 = dict.fromkeys(("mpich", "openmpi", "mpich-hydra"), frozenset({"mpi", "mpi-3"}))
    facts = dataclasses.replace(
        SITE,
        cores_per_node=2,
        environments={**features, **mpi3, "lam-lamd": MPI},
        topology=TopologyDescription.model_validate({"switches": switches}).topology(),
    )
    plan = make_plan(campaign, facts, Narrowing(scale="small"))
    assert [case.skipped for case in plan.cases if case.skipped] == []


IDS = {f"hpl-{i:08x}": f"{i}" for i in range(50)}


def test_the_order_follows_from_seed_block_and_cases_alone() -> None:
    assert block_order({one: one for one in "abcde"}, 1, 1) == ["e", "a", "c", "d", "b"]
    whole, last = block_order(IDS, 3, 2), [*IDS][-1]
    assert sorted(whole) == [*IDS]
    assert block_order(dict(reversed(IDS.items())), 3, 2) == whole
    fewer = {one: asked for one, asked in IDS.items() if one != last}
    assert block_order(fewer, 3, 2) == [i for i in whole if i != last]
    orders = {tuple(block_order(IDS, seed, block)) for seed in range(5) for block in range(1, 6)}
    assert len(orders) == 25


def test_environments_of_one_case_follow_each_other_in_any_order() -> None:
    cases = {f"{asked}-{environment}": asked for asked in "abcd" for environment in "xyz"}
    first = set()
    for block in range(20):
        order = block_order(cases, 3, block)
        assert len([*groupby(one[0] for one in order)]) == 4
        first.add(order[0])
    assert len(first) > 6


def test_all_orders_are_about_equally_frequent() -> None:
    cases = {one: one for one in "abc"}
    counts = Counter(tuple(block_order(cases, seed, 1)) for seed in range(6000))
    assert set(counts) == set(permutations("abc"))
    assert all(850 < count < 1150 for count in counts.values())
